package archtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pgairlock/pgairlock/internal/config"
	"github.com/pgairlock/pgairlock/policy"
)

// The two files inside docker-compose.yml are valid and fit each other. (Whether
// the containers run takes a Docker engine.)
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Configs map[string]struct{ Content string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load("/etc/pgairlock/pgairlock.yaml", []byte(compose.Configs["pgairlock.yaml"].Content))
	if err != nil {
		t.Fatal(err)
	}
	set, err := policy.Load(c.Policy, []byte(compose.Configs["policy.yaml"].Content))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fit(set); err != nil {
		t.Error(err)
	}
}
