package pgserver

import (
	"errors"
	"strings"
	"testing"
)

// Which majors a machine has differs, so the message is tested by itself.
func TestNotFoundNamesWhatToInstall(t *testing.T) {
	cause := errors.New("npm: not there")
	err := notFound(14, []string{"/opt/pg/bin has 13"}, cause)
	for _, part := range []string{"postgresql 14", "PGBIN", "postgresql-14", "npm", "/opt/pg/bin has 13"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	if !errors.Is(err, cause) {
		t.Errorf("the cause is lost: %v", err)
	}
}
