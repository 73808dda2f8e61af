package secret_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pgairlock/pgairlock/internal/secret"
)

const value = `hunter2-O'Brien`

// holder has the secret where fmt can't call methods: in unexported fields.
type holder struct {
	plain   secret.Secret
	pointer *secret.Secret
	nested  struct{ list []secret.Secret }
}

func TestSecretNeverPrints(t *testing.T) {
	s := secret.New("shop_reader", value)
	h := holder{plain: *s, pointer: s}
	h.nested.list = []secret.Secret{*s}

	var printed strings.Builder
	for _, arg := range []any{s, *s, h, &h, []any{s}, map[string]any{"x": *s}, fmt.Errorf("dial: %w", errors.New(s.String()))} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%t", "%p", "% x", "%08.3f", "%T"} {
			fmt.Fprintf(&printed, verb+"\n", arg)
		}
	}
	for name, marshal := range map[string]func(any) ([]byte, error){
		"json": json.Marshal, "yaml": yaml.Marshal,
	} {
		out, err := marshal(struct{ Password *secret.Secret }{s})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(string(out), "[credential:shop_reader]") {
			t.Errorf("%s: %s lacks the marker", name, out)
		}
		printed.Write(out)
	}
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "secret", s, "holder", h)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "secret", *s, "holder", h)

	for _, form := range []string{value, "hunter2", "68756e74", "68 75 6e", "68756E74", "104 117"} {
		if strings.Contains(printed.String(), form) {
			t.Errorf("the value got out as %q:\n%s", form, printed.String())
		}
	}
	if s.Reveal() != value {
		t.Errorf("Reveal() = %q, want the value", s.Reveal())
	}
	if got := fmt.Sprintf("%s|%v|%#v|%x", s, *s, s, *s); got != strings.TrimSuffix(strings.Repeat("[credential:shop_reader]|", 4), "|") {
		t.Errorf("printed as %s", got)
	}
}

func TestParseRef(t *testing.T) {
	if name, err := secret.ParseRef("secret:audit_key"); err != nil || name != "audit_key" {
		t.Errorf("secret:audit_key: %q, %v", name, err)
	}
	for _, bad := range []string{"s3cr3t-in-clear", "secret:", "secret:s3cr3t in clear", "SECRET:s3cr3t", "secret:" + strings.Repeat("s3cr3t", 20)} {
		name, err := secret.ParseRef(bad)
		if err == nil {
			t.Errorf("%q: accepted as %q", bad, name)
		} else if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("the error quotes the text: %v", err)
		}
	}
}
