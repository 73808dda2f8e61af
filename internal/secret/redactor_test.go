package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pgairlock/pgairlock/internal/secret"
)

func TestRedactForms(t *testing.T) {
	const value = `pä$s"w\o'r d<&>+/~1`
	r := secret.NewRedactor(secret.New("pw", value))
	quotedJSON, _ := json.Marshal(value)
	for name, form := range map[string]string{
		"raw":                   value,
		"query":                 url.QueryEscape(value),
		"path":                  url.PathEscape(value),
		"lower case percent":    strings.ToLower(url.QueryEscape(value)),
		"url":                   (&url.URL{Scheme: "postgres", User: url.UserPassword("u", value), Host: "h"}).String(),
		"base64":                base64.StdEncoding.EncodeToString([]byte(value)),
		"base64 url":            base64.URLEncoding.EncodeToString([]byte(value)),
		"hex":                   hex.EncodeToString([]byte(value)),
		"bytea":                 fmt.Sprintf(`\x%x`, value),
		"HEX":                   fmt.Sprintf("%X", value),
		"sql literal":           strings.ReplaceAll(value, `'`, `''`),
		"sql escape literal":    strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value),
		"json":                  string(quotedJSON),
		"go":                    strconv.Quote(value),
		"connection string":     `password='` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + `'`,
		"basic header":          base64.StdEncoding.EncodeToString([]byte("user:" + value)),
		"basic header, longer":  base64.StdEncoding.EncodeToString([]byte("users:" + value + ";x")),
		"basic header, longest": base64.StdEncoding.EncodeToString([]byte("users1:" + value)),
	} {
		t.Run(name, func(t *testing.T) {
			got := r.Redact("dial " + form + " failed")
			if !strings.Contains(got, "[credential:pw]") || !strings.HasPrefix(got, "dial ") || !strings.HasSuffix(got, " failed") {
				t.Errorf("%s → %s", form, got)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		name    string
		secrets []*secret.Secret
		in      string
		want    string
	}{
		{"nothing known", nil, "hunter2", "hunter2"},
		{"nothing there", []*secret.Secret{secret.New("a", "hunter2")}, "hunter3 hunte r2 hun", "hunter3 hunte r2 hun"},
		{"whole text", []*secret.Secret{secret.New("a", "hunter2")}, "hunter2", "[credential:a]"},
		{"several", []*secret.Secret{secret.New("a", "hunter2"), secret.New("b", "swordfish")}, "hunter2,swordfish,hunter2", "[credential:a],[credential:b],[credential:a]"},
		{"adjacent", []*secret.Secret{secret.New("a", "hunter2")}, "hunter2hunter2", "[credential:a][credential:a]"},
		{"the longer wins", []*secret.Secret{secret.New("a", "hunter"), secret.New("b", "hunter2")}, "hunter2 hunter", "[credential:b] [credential:a]"},
		{"inside another", []*secret.Secret{secret.New("a", "unte"), secret.New("b", "hunter2")}, "hunter2 unter", "[credential:b] [credential:a]r"},
		{"overlapping", []*secret.Secret{secret.New("a", "abcdef"), secret.New("b", "defghi")}, "xabcdefghix", "x[credential:a][credential:b]x"},
		{"overlapping itself", []*secret.Secret{secret.New("a", "abab")}, "xababababx", "x[credential:a]x"},
		{"one value, two names", []*secret.Secret{secret.New("b", "hunter2"), secret.New("a", "hunter2")}, "hunter2", "[credential:a]"},
		{"four characters", []*secret.Secret{secret.New("a", "abcd")}, "abcd abc", "[credential:a] abc"},
		{"too short", []*secret.Secret{secret.New("a", "abc")}, "abc YWJj 616263", "abc YWJj 616263"},
		{"at the very end", []*secret.Secret{secret.New("a", "hunter2")}, "x hunter2", "x [credential:a]"},
		{"not UTF-8", []*secret.Secret{secret.New("a", "\xff\xfe\x00\x01")}, "\xff\xff\xfe\x00\x01", "\xff[credential:a]"},
		{"a key of several lines", []*secret.Secret{secret.New("k", "-----BEGIN KEY-----\nMIIBOwIBAAJBAKj3\nabcdefgh12\n-----END KEY-----")},
			"at MIIBOwIBAAJBAKj3\n at abcdefgh12 -----END KEY-----", "at [credential:k]\n at [credential:k] -----END KEY-----"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := secret.NewRedactor(tt.secrets...).Redact(tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Rotated values stay hidden, but not for ever.
func TestRedactorRetires(t *testing.T) {
	r := secret.NewRedactor()
	for i := range 20 {
		r.Add(secret.New("pw", fmt.Sprintf("password-%02d", i)))
	}
	for i, hidden := range map[int]bool{19: true, 12: true, 11: true, 10: false, 0: false} {
		text := fmt.Sprintf("password-%02d", i)
		if got := r.Redact(text) != text; got != hidden {
			t.Errorf("%s hidden: %t, want %t", text, got, hidden)
		}
	}
}

func TestRedactAllocatesNothingWithoutMatch(t *testing.T) {
	r := manySecrets(100)
	text := strings.Repeat("SELECT id, name FROM public.customers WHERE region = 'north'; ", 20)
	if n := testing.AllocsPerRun(100, func() { r.Redact(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRedactConcurrently(t *testing.T) {
	r := secret.NewRedactor(secret.New("pw", "password-first"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if got := r.Redact("x password-first y"); got != "x [credential:pw] y" {
					t.Error(got)
					return
				}
			}
		})
	}
	for i := range 5 {
		r.Add(secret.New("pw", fmt.Sprintf("password-%d", i)))
	}
	wg.Wait()
}

func TestWriter(t *testing.T) {
	r := secret.NewRedactor(secret.New("pw", "hunter2"))
	var out bytes.Buffer
	w := secret.NewWriter(&out, r)
	for _, part := range []string{"a hun", "ter2 b\nc hunter2\nhunt", "er", "2"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if got, want := out.String(), "a [credential:pw] b\nc [credential:pw]\n"; got != want {
		t.Errorf("before Flush: %q, want %q", got, want)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "a [credential:pw] b\nc [credential:pw]\n[credential:pw]"; got != want {
		t.Errorf("after Flush: %q, want %q", got, want)
	}
}

func TestWriterHoldsBackOnlySoMuch(t *testing.T) {
	var out bytes.Buffer
	w := secret.NewWriter(&out, secret.NewRedactor())
	for range 70 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < 60<<10 {
		t.Errorf("%d bytes came through of a line of 70 KiB", out.Len())
	}
}

func TestWriterTellsErrors(t *testing.T) {
	w := secret.NewWriter(failing{}, secret.NewRedactor())
	if _, err := w.Write([]byte("line\n")); err == nil {
		t.Error("the error of the writer behind was swallowed")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

// No known value survives Redact, raw or in any of the encodings that the
// oracle does by itself. Values that are part of the marker are left out: they
// are in every output by definition.
func FuzzRedact(f *testing.F) {
	f.Add("hunter2", "swordfish", "a hunter2 b swordfish")
	f.Add("abab", "baba", "ababababab")
	f.Add("p'a\"s\\s", "long password with spaces", "x")
	f.Add("aaaa", "aaaaa", "aaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, first, second, text string) {
		r := secret.NewRedactor(secret.New("Q1", first), secret.New("Q2", second))
		for _, value := range []string{first, second} {
			if len(value) < secret.MinLength || strings.ContainsAny(value, "[]") || strings.Contains("credential:Q1 credential:Q2", value) {
				continue
			}
			for _, form := range []string{
				value, url.QueryEscape(value), strings.ReplaceAll(value, "'", "''"),
				base64.StdEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)),
			} {
				for _, in := range []string{text + form + text, form + first + second + form, text} {
					if got := r.Redact(in); strings.Contains(got, value) {
						t.Fatalf("%q survives in %q (from %q)", value, got, in)
					}
				}
			}
		}
	})
}

func manySecrets(n int) *secret.Redactor {
	list := make([]*secret.Secret, n)
	for i := range list {
		list[i] = secret.New("s"+strconv.Itoa(i), "p4ss-"+strconv.Itoa(i*7919)+"-word")
	}
	return secret.NewRedactor(list...)
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("SELECT id, name FROM public.customers WHERE region = 'north'; ", 8)
	for _, n := range []int{0, 10, 1000} {
		r := manySecrets(n)
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r.Redact(text)
			}
		})
	}
}
