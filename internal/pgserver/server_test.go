package pgserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgairlock/pgairlock/internal/pgserver"
)

// childVariable makes this test binary start a server, print its folder and
// address, and wait to be killed.
const childVariable = "PGSERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	os.Exit(m.Run())
}

func child() {
	s, err := pgserver.Start(context.Background(), pgserver.Options{Major: 15})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("%s %s\n", s.Dir, s.DSN("postgres"))
	select {}
}

func start(t *testing.T, o pgserver.Options) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", s.Dir, err)
		}
	})
	return s
}

func ask(t *testing.T, dsn, sql string) (string, error) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(t.Context())
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

func TestStart(t *testing.T) {
	s := start(t, pgserver.Options{Major: 15, Settings: map[string]string{"max_connections": "7", "application_name": "it's"}})
	if s.Major != 15 {
		t.Errorf("major %d was started", s.Major)
	}
	for setting, want := range map[string]string{
		"max_connections": "7", "application_name": "it's", "fsync": "off", "TimeZone": "UTC", "listen_addresses": "127.0.0.1",
	} {
		got, err := ask(t, s.DSN("postgres"), "SELECT current_setting('"+setting+"')")
		if err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", setting, got, err, want)
		}
	}
	socket := fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres", s.Dir, s.Port)
	if _, err := ask(t, socket, "SELECT 1"); err != nil {
		t.Errorf("over the socket: %v", err)
	}
}

func TestSCRAM(t *testing.T) {
	s := start(t, pgserver.Options{Major: 15, Auth: pgserver.SCRAM})
	if _, err := ask(t, s.DSN("postgres"), "SELECT 1"); err != nil {
		t.Errorf("with the password: %v", err)
	}
	wrong := strings.Replace(s.DSN("postgres"), s.Password, "wrong", 1)
	var refused *pgconn.PgError
	if _, err := ask(t, wrong, "SELECT 1"); !errors.As(err, &refused) || refused.Code != "28P01" {
		t.Errorf("with another password: %v", err)
	}
}

func TestBadSettingNamesTheCause(t *testing.T) {
	s, err := pgserver.Start(t.Context(), pgserver.Options{Major: 15, Settings: map[string]string{"work_mem": "lots"}})
	if err == nil {
		s.Stop()
		t.Fatal("the server started")
	}
	if !strings.Contains(err.Error(), "work_mem") {
		t.Errorf("the error does not name the setting: %v", err)
	}
}

func TestUnknownMajor(t *testing.T) {
	if _, err := pgserver.Find(t.Context(), 9); err == nil || !strings.Contains(err.Error(), "9") {
		t.Errorf("got %v", err)
	}
}

func TestServerEndsWithItsParent(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir, dsn, ok := strings.Cut(strings.TrimSpace(line), " ")
	if !ok {
		t.Fatal(line)
	}
	if _, err := ask(t, dsn, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s outlives its process", dir)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := ask(t, dsn, "SELECT 1"); err == nil {
		t.Error("the server outlives its process")
	}
}
