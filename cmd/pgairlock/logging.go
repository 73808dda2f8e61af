package main

import (
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/pgairlock/pgairlock/internal/config"
)

// newLog writes JSON lines, or lines for people where they go to a terminal.
func newLog(w io.Writer, terminal bool, level config.LogLevel) zerolog.Logger {
	if terminal {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly}
	}
	least, err := zerolog.ParseLevel(string(level))
	if err != nil { // the configuration has checked it
		least = zerolog.InfoLevel
	}
	return zerolog.New(w).Level(least).With().Timestamp().Logger()
}
