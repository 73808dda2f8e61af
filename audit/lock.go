package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock makes this process the only writer of the log at path. The lock is on a
// file of its own, because the log's files change. It ends with the process or
// when the returned file is closed; the lock file stays.
func lock(path string) (*os.File, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("audit file %s is being written by another process (it holds %s): give each process its own file", path, name)
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}
