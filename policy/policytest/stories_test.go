package policytest_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/pgairlock/pgairlock/policy/policytest"
)

var update = flag.Bool("update", false, "write the .want of stories that come out differently")

// The stories that document what policies do.
func TestStories(t *testing.T) {
	var out strings.Builder
	passed, failed, err := policytest.Run("../../testdata/policy", *update, &out)
	if err != nil {
		t.Error(err)
	}
	if failed > 0 {
		t.Errorf("%d passed, %d failed\n%s", passed, failed, out.String())
	}
	if passed+failed < 100 {
		t.Errorf("only %d statements were judged", passed+failed)
	}
}
