package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profile takes a CPU profile of pgairlock while a scenario runs, if profiles
// are wanted: in an extra round's worth of noise, so never together with numbers
// that count. The returned function waits for it.
func profile(ctx context.Context, s settings, w *way, sc *scenario, round int) func() error {
	if s.profile == "" || !w.agents || round > 0 || sc.cpu == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	name := strings.NewReplacer(" ", "-", ",", "").Replace(sc.name+" "+w.name) + ".pprof"
	go func() { // ends with the profile
		done <- fetchProfile(ctx, filepath.Join(filepath.Dir(w.process.Log), w.process.Name, "audit.jsonl.sock"), seconds(s.duration), filepath.Join(s.profile, name))
	}()
	return func() error { return <-done }
}

func fetchProfile(ctx context.Context, socket, seconds, file string) error {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pgairlock/debug/pprof/profile?seconds="+seconds, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile: %s", response.Status)
	}
	return os.WriteFile(file, text, 0o644)
}
