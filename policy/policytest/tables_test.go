package policytest_test

import (
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/catalog"
	"github.com/pgairlock/pgairlock/policy/policytest"
)

func TestCatalog(t *testing.T) {
	c, err := policytest.Catalog(`
# the shop
public.orders: id bigint, total numeric, tags text[], placed timestamp with time zone
materialized view reports.monthly: month date, orders public.orders[]
sequence public.ids: last_value int8
function public.order_total(int8, boolean) returns numeric stable security definer
function reports.months() returns setof date
`)
	if err != nil {
		t.Fatal(err)
	}
	orders := c.Relation("public", "orders")
	if orders == nil || orders.Kind != catalog.Table || len(orders.Columns) != 4 {
		t.Fatalf("orders: %+v", orders)
	}
	for name, want := range map[string]string{
		"id": "bigint", "total": "numeric", "tags": "text[]", "placed": "timestamp with time zone",
	} {
		if col, ok := orders.Column(name); !ok || c.TypeName(col.Type) != want {
			t.Errorf("%s is %s, want %s", name, c.TypeName(col.Type), want)
		}
	}
	if row := c.TypeByOID(orders.RowType); row == nil || row.Relation != orders.OID || row.Kind != 'c' {
		t.Errorf("row type: %+v", row)
	}
	monthly := c.Relation("reports", "monthly")
	if monthly == nil || monthly.Kind != catalog.MaterializedView || c.TypeName(monthly.Columns[1].Type) != "public.orders[]" {
		t.Errorf("monthly: %+v", monthly)
	}
	if seq := c.Relation("public", "ids"); seq == nil || seq.Kind != catalog.Sequence {
		t.Errorf("ids: %+v", seq)
	}
	total := c.Functions("order_total")
	if len(total) != 1 || total[0].Signature() != "public.order_total(bigint,boolean)" || !total[0].Definer || total[0].Volatility != 's' || total[0].Set {
		t.Errorf("order_total: %+v", total)
	}
	if months := c.Functions("months"); len(months) != 1 || !months[0].Set || len(months[0].Args) != 0 || months[0].Volatility != 'v' {
		t.Errorf("months: %+v", months)
	}
	if c.ServerVersion()/10000 != 15 || c.Relation("pg_catalog", "pg_class") == nil || len(c.Functions("now")) != 1 || !c.HasSchema("reports") {
		t.Error("the server's own part is not complete")
	}
}

func TestCatalogLinesThatAreWrong(t *testing.T) {
	for line, want := range map[string]string{
		"orders: id int8":                                "want schema.name: column type",
		"public.orders":                                  "want schema.name: column type",
		"public.orders: id":                              `column "id"`,
		"public.orders: id int9":                         `type "int9" is not known`,
		"function public.f returns int4":                 "want function",
		"function public.f(int4)":                        "want function",
		"function f(int4) returns int4":                  "want function",
		"function public.f(intx) returns int4":           `type "intx" is not known`,
		"function public.f(int4) returns thing":          `type "thing" is not known`,
		"public.orders: id int8\npublic.orders: id int8": "there twice",
	} {
		_, err := policytest.Catalog("# first\n" + line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
}
