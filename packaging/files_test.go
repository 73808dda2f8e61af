// Package packaging_test holds the files of the packages against the program
// that they are for.
package packaging_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/policy"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The two files in /etc/pgairlock are valid and fit each other, the unit and the
// socket unit.
func TestPackagedConfiguration(t *testing.T) {
	c, err := config.Load("/etc/pgairlock/pgairlock.yaml", []byte(read(t, "deb/pgairlock.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(c.Policy, []byte(read(t, "deb/policy.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fit(set); err != nil {
		t.Error(err)
	}
	unit, socket := read(t, "systemd/pgairlock.service"), read(t, "systemd/pgairlock.socket")
	if !strings.Contains(unit, "serve -c "+c.File+"\n") {
		t.Errorf("the unit does not use %s", c.File)
	}
	for _, at := range []string{c.Listen.TCP, c.Listen.Unix + "/.s.PGSQL.6432"} {
		if !strings.Contains(socket, "ListenStream="+at+"\n") {
			t.Errorf("the socket unit does not listen on %s", at)
		}
	}
	for _, path := range []string{c.Audit.File, c.Admin.Socket, c.Listen.Unix + "/"} {
		if !strings.HasPrefix(path, "/var/lib/pgairlock/") && !strings.HasPrefix(path, "/run/pgairlock/") {
			t.Errorf("the unit may not write %s", path)
		}
	}
	postinst := read(t, "deb/postinst")
	for name, s := range c.Secrets {
		if !strings.HasPrefix(s.File, "/etc/pgairlock/secrets/") || !strings.Contains(postinst, name) {
			t.Errorf("installing makes no file for the secret %s (%s)", name, s.File)
		}
	}
}

// Everything that the Debian package takes from the repository is there.
func TestPackagedFiles(t *testing.T) {
	var p struct {
		Contents []struct{ Src, Dst string }
		Scripts  map[string]string
	}
	if err := yaml.Unmarshal([]byte(read(t, "nfpm.yaml")), &p); err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, c := range p.Contents {
		sources = append(sources, c.Src)
	}
	for _, path := range p.Scripts {
		sources = append(sources, path)
	}
	if len(sources) < 10 {
		t.Fatalf("only %d files", len(sources))
	}
	for _, path := range sources {
		if strings.HasPrefix(path, "bin/") { // made by the build
			continue
		}
		if _, err := os.Stat("../" + path); err != nil {
			t.Error(err)
		}
	}
}

// The example in the manual of operations is a configuration.
func TestManualsConfiguration(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "../docs/OPERATIONS.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/OPERATIONS.md shows no configuration")
	}
	const rest = "listen: {tcp: 127.0.0.1:1}\ndatabases: {shop: {server: host=db, roles: {reader: {user: r}}}}\npolicy: p\naudit: {file: a}\n"
	for _, b := range blocks {
		text := rest
		for line := range strings.Lines(rest) { // what the example has itself
			key, _, _ := strings.Cut(line, ":")
			if strings.Contains("\n"+b[1], "\n"+key+":") {
				text = strings.Replace(text, line, "", 1)
			}
		}
		if _, err := config.Load("pgairlock.yaml", []byte(text+b[1])); err != nil {
			t.Errorf("%v, in\n%s", err, b[1])
		}
	}
}
