package metrics_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/pgairlock/pgairlock/audit"
	"github.com/pgairlock/pgairlock/internal/metrics"
	"github.com/pgairlock/pgairlock/proxy"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// example has a value for every metric.
func example(t *testing.T) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(metrics.Options{
		Version: "1.2.3", Revision: "abc", Now: func() time.Time { return noon },
		Proxy: func() proxy.Stats {
			h := proxy.Histogram{Bounds: []time.Duration{time.Millisecond, time.Second}, Counts: []int64{3, 2, 1}, Sum: 5 * time.Second}
			return proxy.Stats{Accepted: 7, Decisions: h, Known: 11, CancelsOwn: 2,
				Sessions:  []proxy.SessionCount{{Agent: "a", Database: "shop", Open: 4}},
				Databases: []proxy.DatabaseStats{{Database: "shop", Connects: h, Unreachable: 1}},
				Catalogs: []proxy.CatalogStats{{Database: "shop", Role: "reader", Taken: noon.Add(-9 * time.Second), Fetches: 3, Spent: 1500 * time.Millisecond},
					{Database: "shop", Role: "writer"}}}
		},
		Audit: func() audit.Stats { return audit.Stats{Held: 5, Capacity: 8192, Written: 100} },
		Health: func() metrics.Health {
			return metrics.Health{Ready: true, Policy: "sha256:1", Loaded: noon, Databases: map[[2]string]bool{{"shop", "reader"}: true, {"shop", "writer"}: false}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Login("28P01")
	m.Statement(&audit.Statement{Actor: audit.Actor{Agent: "a"}, Database: "shop", Kind: "select", Verdict: "allow", Rows: 10, Bytes: 100, Duration: time.Millisecond})
	m.Statement(&audit.Statement{Actor: audit.Actor{Agent: "a"}, Database: "shop", Kind: "select, delete", Verdict: "deny", SQLSTATE: "42501",
		Rules: []audit.Rule{{ID: "table", Verdict: "deny", Enforced: true}, {ID: "no-prices", Verdict: "deny"}, {ID: "few", Verdict: "rewrite", Enforced: true}}})
	m.Statement(&audit.Statement{Actor: audit.Actor{Agent: "a"}, Database: "shop", Verdict: "deny", SQLSTATE: "\xff!", Limited: true})
	return m
}

func TestValues(t *testing.T) {
	m := example(t)
	m.Reload(true)
	m.Reload(false)
	const want = `
# HELP pgairlock_statements_total Statements by what was decided about them.
# TYPE pgairlock_statements_total counter
pgairlock_statements_total{agent="a",database="shop",kind="none",verdict="deny"} 1
pgairlock_statements_total{agent="a",database="shop",kind="select",verdict="allow"} 1
pgairlock_statements_total{agent="a",database="shop",kind="several",verdict="deny"} 1
# HELP pgairlock_refusals_total Refused statements by the rule that refused them; by each, where several did.
# TYPE pgairlock_refusals_total counter
pgairlock_refusals_total{agent="a",rule="table"} 1
# HELP pgairlock_unenforced_matches_total Matches of rules that would have refused a statement, if they were enforced.
# TYPE pgairlock_unenforced_matches_total counter
pgairlock_unenforced_matches_total{agent="a",rule="no-prices"} 1
# HELP pgairlock_statement_errors_total Statements that ended with an error, refusals included, by the class of its SQLSTATE.
# TYPE pgairlock_statement_errors_total counter
pgairlock_statement_errors_total{agent="a",class="42"} 1
pgairlock_statement_errors_total{agent="a",class="other"} 1
# HELP pgairlock_decision_seconds How long it took to parse a text and decide about it.
# TYPE pgairlock_decision_seconds histogram
pgairlock_decision_seconds_bucket{le="0.001"} 3
pgairlock_decision_seconds_bucket{le="1"} 5
pgairlock_decision_seconds_bucket{le="+Inf"} 6
pgairlock_decision_seconds_sum 5
pgairlock_decision_seconds_count 6
# HELP pgairlock_catalog_age_seconds Age of the picture of the database's tables and rights that statements are judged by.
# TYPE pgairlock_catalog_age_seconds gauge
pgairlock_catalog_age_seconds{database="shop",role="reader"} 9
# HELP pgairlock_policy_reloads_total Reloads of policy and secrets.
# TYPE pgairlock_policy_reloads_total counter
pgairlock_policy_reloads_total{result="failed"} 1
pgairlock_policy_reloads_total{result="ok"} 1
# HELP pgairlock_policy_last_reload_successful Whether the newest reload came about; 1 if there was none.
# TYPE pgairlock_policy_last_reload_successful gauge
pgairlock_policy_last_reload_successful 0
`
	names := []string{"pgairlock_statements_total", "pgairlock_refusals_total", "pgairlock_unenforced_matches_total", "pgairlock_statement_errors_total",
		"pgairlock_decision_seconds", "pgairlock_catalog_age_seconds", "pgairlock_policy_reloads_total", "pgairlock_policy_last_reload_successful"}
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if got := m.Verdicts(); got["deny"] != 2 || got["allow"] != 1 || len(got) != 2 {
		t.Errorf("verdicts: %v", got)
	}
	m.Reload(true)
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader("# HELP pgairlock_policy_last_reload_successful "+
		"Whether the newest reload came about; 1 if there was none.\n# TYPE pgairlock_policy_last_reload_successful gauge\n"+
		"pgairlock_policy_last_reload_successful 1\n"), "pgairlock_policy_last_reload_successful"); err != nil {
		t.Errorf("a good reload after a bad one: %v", err)
	}
}

// However many names there are, series are not.
func TestSeriesAreBounded(t *testing.T) {
	m := example(t)
	for i := range 5000 {
		m.Statement(&audit.Statement{Actor: audit.Actor{Agent: fmt.Sprint("agent ", i)}, Database: "shop", Verdict: "allow", Kind: "select", Rows: 1})
	}
	for _, name := range []string{"pgairlock_statements_total", "pgairlock_rows_total"} {
		n, err := testutil.GatherAndCount(m.Gatherer(), name)
		if err != nil || n < 1000 || n > 2001 {
			t.Errorf("%s has %d series, %v", name, n, err)
		}
	}
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, f := range families {
		if f.GetName() == "pgairlock_rows_total" {
			for _, s := range f.Metric {
				total += s.GetCounter().GetValue()
			}
		}
	}
	if total != 5010 {
		t.Errorf("%v rows were counted, not 5010", total)
	}
}

// ours are the names of all metrics that are not Go's or the process's.
func ours(t *testing.T, g prometheus.Gatherer) []string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "pgairlock_") {
			names = append(names, f.GetName())
		}
	}
	return names
}

// The table in docs/OPERATIONS.md names every metric, and no other.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(pgairlock_[a-z_]+)`")
	var documented []string
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	if got := ours(t, example(t).Gatherer()); !slices.Equal(got, documented) {
		t.Errorf("there are\n%s\ndocs/OPERATIONS.md has\n%s", strings.Join(got, "\n"), strings.Join(documented, "\n"))
	}
}

// The dashboard asks for metrics that there are.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../packaging/grafana/pgairlock.json")
	if err != nil {
		t.Fatal(err)
	}
	exprs := dashboardQueries(t, text)
	if len(exprs) < 10 {
		t.Fatalf("the dashboard has %d queries", len(exprs))
	}
	known := map[string]bool{}
	families, err := example(t).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		known[f.GetName()] = true
	}
	name := regexp.MustCompile(`\b(pgairlock|go|process)_[a-z_]+`)
	for _, expr := range exprs {
		found := name.FindAllString(expr, -1)
		if len(found) == 0 {
			t.Errorf("a query names no metric: %s", expr)
		}
		for _, n := range found {
			base := n
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !known[n] && !known[base] {
				t.Errorf("there is no %s, which the dashboard asks for: %s", n, expr)
			}
		}
	}
}
