package metrics_test

import (
	"encoding/json"
	"testing"
)

// dashboardQueries are the PromQL texts of a Grafana dashboard, those of its
// variables included.
func dashboardQueries(t *testing.T, text []byte) []string {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Type, Definition string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			list = append(list, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			list = append(list, v.Definition)
		}
	}
	return list
}
