package server

import (
	"io"
	"log/slog"
	"os"
)

// newLogger makes the program's log as configured: JSON unless a person is
// likely to read it, which is when it goes to a terminal.
func newLogger(out io.Writer, cfg LoggingConfig) *slog.Logger {
	level, err := logLevel(cfg.Level)
	if err != nil {
		level = slog.LevelInfo // validate refuses it before
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == "text" || cfg.Format == "auto" && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull) // a device as well
	return err != nil || !os.SameFile(info, nowhere)
}
