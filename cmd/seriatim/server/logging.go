package server

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/seriatimq/seriatim/transport/ops/records"
)

// logRecordsBytes and auditRecordsBytes bound the records in memory that the admin port shows.
const logRecordsBytes, auditRecordsBytes = 1 << 20, 1 << 20

// newLogger makes the log of the program. The format auto is text on a terminal, else JSON.
func newLogger(out io.Writer, cfg LoggingConfig) (*slog.Logger, *recentLog) {
	level, err := logLevel(cfg.Level)
	if err != nil {
		level = slog.LevelInfo // validate has checked it
	}
	recent := &recentLog{to: out, records: records.NewRing(logRecordsBytes, time.Now())}
	recent.level.Set(level)
	options := &slog.HandlerOptions{Level: &recent.level, ReplaceAttr: shortTime}
	if cfg.Format == "text" || cfg.Format == "auto" && isTerminal(out) {
		return slog.New(recent.records.Handler(slog.NewTextHandler(recent, options))), recent
	}
	return slog.New(recent.records.Handler(slog.NewJSONHandler(recent, options))), recent
}

// shortTime renames the time of a line to its documented name.
func shortTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Key = "ts"
	}
	return a
}

// openAudit opens the audit log: its file if one is set, else the log of the program, where the
// field stream marks the lines.
//
// kept keeps its newest records.
func openAudit(cfg LoggingConfig, log *slog.Logger, kept *records.Ring) (audit *slog.Logger, closed func(), err error) {
	if cfg.AuditFile == "" {
		return slog.New(kept.Handler(log.Handler())).With("stream", "audit"), func() {}, nil
	}
	file, err := os.OpenFile(cfg.AuditFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("audit-log-file: %w", err)
	}
	audit = slog.New(kept.Handler(slog.NewJSONHandler(file, &slog.HandlerOptions{ReplaceAttr: shortTime}))).With("stream", "audit")
	return audit, func() {
		if err := file.Close(); err != nil {
			log.Warn("the audit log could not be closed", "error", err)
		}
	}, nil
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
	nowhere, err := os.Stat(os.DevNull) // it is a character device, too
	return err != nil || !os.SameFile(info, nowhere)
}
