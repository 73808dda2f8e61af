package pgcatalog

import (
	"slices"
	"testing"
)

func TestSearchPath(t *testing.T) {
	usable := []string{`A "b"`, "joe", "pg_catalog", "public", "shop", "Äpfel"} // in byte order
	for _, c := range []struct {
		setting string
		want    []string
	}{
		{`"$user", public`, []string{"joe", "public"}},
		{``, nil},
		{`""`, nil},
		{`missing, SHOP ,shop`, []string{"shop"}},
		{`"SHOP", "A ""b""", $user`, []string{`A "b"`, "joe"}},
		{`Äpfel,pg_catalog`, []string{"Äpfel", "pg_catalog"}},
		{`"public`, []string{"public"}}, // the server never stores this; it must not hang
	} {
		if got := searchPath(c.setting, "joe", usable); !slices.Equal(got, c.want) {
			t.Errorf("%s is %q, want %q", c.setting, got, c.want)
		}
	}
}
