package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pgairlock/pgairlock/internal/strictyaml"
)

type colour string

func (colour) Values() []strictyaml.EnumValue {
	return []strictyaml.EnumValue{{Name: "red"}, {Name: "green"}, {Name: "violet", Later: true}}
}

type shelf struct {
	At     strictyaml.Pos
	Title  strictyaml.Located[string]              `yaml:"title" required:"true" doc:"What it is called."`
	Shade  *colour                                 `yaml:"shade"`
	Colour colour                                  `yaml:"colour"`
	Width  int                                     `yaml:"width"`
	Open   bool                                    `yaml:"open"`
	Wait   strictyaml.Duration                     `yaml:"wait"`
	Weight strictyaml.Size                         `yaml:"weight"`
	Rows   *strictyaml.Limit[strictyaml.Count]     `yaml:"rows"`
	Key    *strictyaml.SecretRef                   `yaml:"key"`
	Tags   []string                                `yaml:"tags"`
	Books  strictyaml.Map[strictyaml.Located[int]] `yaml:"books"`
	Lamp   string                                  `yaml:"lamp" later:"true"`
}

func TestDecode(t *testing.T) {
	var s shelf
	src := "title: 'A'\ncolour: green\nshade: red\nwidth: 1_000\nopen: true\nwait: 1h30m\nweight: 16MiB\nrows: unlimited\nkey: secret:shelf.key\ntags: [a, b]\nbooks:\n  x: 1\n  y: 2\n"
	if err := strictyaml.Decode("s.yaml", []byte(src), &s); err != nil {
		t.Fatal(err)
	}
	switch {
	case s.At.String() != "s.yaml:1:1",
		s.Title.Value != "A", s.Title.Pos.String() != "s.yaml:1:8",
		s.Colour != "green", *s.Shade != "red", s.Width != 1000, !s.Open,
		time.Duration(s.Wait) != 90*time.Minute, s.Weight != 16<<20,
		!s.Rows.Unlimited, s.Key.Name != "shelf.key",
		strings.Join(s.Tags, "") != "ab",
		len(s.Books) != 2, s.Books[1].Key != "y", s.Books[1].Value.Value != 2, s.Books[1].Pos.Line != 13:
		t.Fatalf("decoded %+v", s)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"empty file", "", "f:1:1: the file is empty"},
		{"only a comment", "# nothing\n", "f:1:1: the file is empty"},
		{"no mapping", "- a\n", "f:1:1: want a mapping, not a list"},
		{"unknown key", "title: A\ncoluor: red\n", `f:2:1: unknown key "coluor": did you mean colour?`},
		{"far from any key", "title: A\nzzz: red\n", `f:2:1: unknown key "zzz": known here are title, shade, colour`},
		{"key twice", "title: A\ntitle: B\n", `f:2:1: key "title" is there twice: first in line 1`},
		{"key of a map twice", "title: A\nbooks: {x: 1, x: 2}\n", `f:2:15: key "x" is there twice`},
		{"missing key", "width: 1\n", `f:1:1: key "title" is missing: What it is called.`},
		{"second document", "title: A\n---\ntitle: B\n", "f:2:1: a second document"},
		{"no value", "title: A\nwidth:\n", "f:2:7: no value"},
		{"number for a text", "title: 7\n", "f:1:8: want a text (in quotes if it looks like something else), not a number"},
		{"text for a number", "title: A\nwidth: wide\n", "f:2:8: want a whole number, not a text"},
		{"fraction", "title: A\nwidth: 1.5\n", "f:2:8: want a whole number, not a number"},
		{"too large", "title: A\nwidth: 99999999999999999999\n", "f:2:8: want a whole number"},
		{"text for a bool", "title: A\nopen: yes\n", "f:2:7: want true or false"},
		{"mapping for a list", "title: A\ntags: {a: b}\n", "f:2:7: want a list, not a mapping"},
		{"not one of", "title: A\ncolour: gren\n", "f:2:9: want one of red, green, violet (did you mean green?)"},
		{"value to come", "title: A\ncolour: violet\n", "f:2:9: violet is not supported in this version"},
		{"key to come", "title: A\nlamp: on\n", `f:2:1: key "lamp" is not supported in this version`},
		{"duration without unit", "title: A\nwait: 30\n", "f:2:7: want a duration"},
		{"units in disorder", "title: A\nwait: 5s1m\n", "f:2:7: want a duration"},
		{"zero duration", "title: A\nwait: 0s\n", "f:2:7: want a duration"},
		{"endless duration", "title: A\nwait: 999999999999d\n", "f:2:7: want a duration"},
		{"decimal size", "title: A\nweight: 16MB\n", "f:2:9: want a size such as"},
		{"endless size", "title: A\nweight: 9999999999TiB\n", "f:2:9: want a size such as"},
		{"zero limit", "title: A\nrows: 0\n", "f:2:7: want a whole number above zero, or unlimited"},
		{"number as key", "title: A\nbooks: {1: 2}\n", "f:2:9: a key must be a text, not a number"},
		{"anchor", "title: &t A\n", "f:1:8: anchors (&name) are not supported"},
		{"alias", "title: &t A\ncolour: *t\n", "f:2:9: aliases (*name) are not supported"},
		{"merge key", "title: A\n<<: {width: 1}\n", "f:2:1: a key must be a text, not the merge key"},
		{"tag", "title: !!binary QQ==\n", "f:1:8: tags (!name) are not supported"},
		{"broken YAML", "title: A\n  width: 1\n", "f:2: not YAML: mapping values are not allowed in this context"},
		{"broken second document", "title: A\n---\n{", "not YAML"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s shelf
			err := strictyaml.Decode("f", []byte(c.src), &s)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllFaultsInOrder(t *testing.T) {
	var s shelf
	err := strictyaml.Decode("f", []byte("open: 1\ncolour: blue\nwidht: 3\nwait: soon\n"), &s)
	var lines []int
	for _, e := range strictyaml.AsErrors(err) {
		lines = append(lines, e.Pos.Line)
	}
	if len(lines) != 5 || lines[0] != 1 || lines[1] != 1 || lines[2] != 2 || lines[3] != 3 || lines[4] != 4 {
		t.Fatalf("faults in lines %v:\n%v", lines, err)
	}
}

func TestSecretsAreNeverRepeated(t *testing.T) {
	for _, src := range []string{
		"key: hunter2\n", "key: {hunter2: x}\n", "key: [hunter2]\n", "key: secret:hunter2!\n", "key: *hunter2\n",
		"key: !hunter2 x\n", "key: &hunter2 x\n", "key: \"hunter2\n", "key: hunter2: x\n", "key: secret:\n  hunter2\n",
		"width: hunter2\n", "wait: hunter2\n", "weight: hunter2\n", "colour: hunter2\n", "open: hunter2\n", "tags: hunter2\n",
	} {
		var s shelf
		err := strictyaml.Decode("f", []byte("title: A\n"+src), &s)
		if err == nil {
			t.Errorf("%q was accepted", src)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error repeats the value: %v", src, err)
		}
	}
}

// Written out, this would be ten thousand million words: it must not be.
func TestAliasesOfAliases(t *testing.T) {
	src := "title: A\ntags: &a [x, x, x, x, x, x, x, x, x]\n"
	for _, c := range "bcdefghij" {
		prev := string(c - 1)
		src += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+prev+", ", 9) + "x]\n"
	}
	var s shelf
	if err := strictyaml.Decode("f", []byte(src), &s); err == nil {
		t.Fatal("accepted")
	}
}

func TestNearest(t *testing.T) {
	candidates := []string{"customers", "orders", "order_items", "products"}
	for _, c := range []struct{ name, want string }{
		{"customer", "customers"}, {"ordres", "orders"}, {"product", "products"}, {"zebra", ""}, {"order_item", "order_items"}, {"", ""},
	} {
		if got, _ := strictyaml.Nearest(c.name, candidates); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("title: A\ncolour: red\nbooks: {x: 1}\n")
	f.Add("a: &a [*a]\n")
	f.Add("? [1]\n: {}\n---\n")
	f.Fuzz(func(t *testing.T, src string) {
		var a, b shelf
		first, second := strictyaml.Decode("f", []byte(src), &a), strictyaml.Decode("f", []byte(src), &b)
		if (first == nil) != (second == nil) || first != nil && first.Error() != second.Error() {
			t.Fatalf("two answers: %v and %v", first, second)
		}
		if first == nil && a.Title.Pos.Line == 0 {
			t.Fatal("accepted without its required key")
		}
	})
}
