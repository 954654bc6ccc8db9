package storage

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"

	"github.com/hashicorp/go-hclog"
)

// libraryLogger writes the log lines of the consensus library and its stores to slog. Safe for
// concurrent use.
type libraryLogger struct {
	ctx     context.Context // the library passes none
	logger  *slog.Logger
	name    string
	implied []any
}

var _ hclog.Logger = (*libraryLogger)(nil)

// NewLibraryLogger returns a logger for the libraries that writes to logger at one level lower. All
// lines use ctx.
func NewLibraryLogger(ctx context.Context, logger *slog.Logger) hclog.Logger {
	return &libraryLogger{ctx: ctx, logger: logger.With("component", "raft")}
}

// slogLevel lowers every level by one. An error of the library, such as an unanswered
// heartbeat, repeats while a node is away; conditions that need an operator are logged by this
// package's callers.
func slogLevel(level hclog.Level) slog.Level {
	switch level {
	case hclog.Error:
		return slog.LevelWarn
	case hclog.Warn:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// loggedPerAttempt reports whether the library writes this line several times a second while a node
// is away. Gossip and the leader log that once. cluster/consensus/exploit_log_lines_test.go
// tests the texts.
func loggedPerAttempt(message string) bool {
	switch message {
	case "failed to heartbeat to", "failed to appendEntries to", "failed to make requestVote RPC", "failed to pipeline appendEntries":
		return true
	default:
		return false
	}
}

// Log writes one line.
func (l *libraryLogger) Log(level hclog.Level, message string, args ...any) {
	if loggedPerAttempt(message) {
		level = hclog.Debug
	}
	if !l.logger.Enabled(l.ctx, slogLevel(level)) {
		return
	}
	plain := make([]any, len(args))
	for i, arg := range args {
		if format, ok := arg.(hclog.Format); ok && len(format) > 0 {
			arg = fmt.Sprintf(fmt.Sprint(format[0]), format[1:]...)
		}
		plain[i] = arg
	}
	freeKeys(plain)
	l.logger.Log(l.ctx, slogLevel(level), message, plain...)
}

// freeKeys renames attributes that every line already has: in a JSON object with two values of one
// name, one is lost.
func freeKeys(args []any) {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey, "node":
			args[i] = "raft_" + args[i].(string)
		}
	}
}

// Trace logs at the debug level, as slog has none below.
func (l *libraryLogger) Trace(message string, args ...any) { l.Log(hclog.Trace, message, args...) }

// Debug logs at the debug level.
func (l *libraryLogger) Debug(message string, args ...any) { l.Log(hclog.Debug, message, args...) }

// Info logs at the debug level.
func (l *libraryLogger) Info(message string, args ...any) { l.Log(hclog.Info, message, args...) }

// Warn logs at the info level.
func (l *libraryLogger) Warn(message string, args ...any) { l.Log(hclog.Warn, message, args...) }

// Error logs at the warn level.
func (l *libraryLogger) Error(message string, args ...any) { l.Log(hclog.Error, message, args...) }

func (l *libraryLogger) enabled(level hclog.Level) bool {
	return l.logger.Enabled(l.ctx, slogLevel(level))
}

// IsTrace reports whether such lines are written.
func (l *libraryLogger) IsTrace() bool { return l.enabled(hclog.Trace) }

// IsDebug reports whether such lines are written.
func (l *libraryLogger) IsDebug() bool { return l.enabled(hclog.Debug) }

// IsInfo reports whether such lines are written.
func (l *libraryLogger) IsInfo() bool { return l.enabled(hclog.Info) }

// IsWarn reports whether such lines are written.
func (l *libraryLogger) IsWarn() bool { return l.enabled(hclog.Warn) }

// IsError reports whether such lines are written.
func (l *libraryLogger) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs returns the arguments of With.
func (l *libraryLogger) ImpliedArgs() []any { return l.implied }

// With returns a logger that adds args to each line.
func (l *libraryLogger) With(args ...any) hclog.Logger {
	args = slices.Clone(args)
	freeKeys(args)
	return &libraryLogger{ctx: l.ctx, logger: l.logger.With(args...), name: l.name, implied: append(slices.Clip(l.implied), args...)}
}

// Name returns the name set with Named.
func (l *libraryLogger) Name() string { return l.name }

// Named returns a logger for a part of the library.
func (l *libraryLogger) Named(name string) hclog.Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	return l.ResetNamed(name)
}

// ResetNamed returns a logger with only this name.
func (l *libraryLogger) ResetNamed(name string) hclog.Logger {
	return &libraryLogger{ctx: l.ctx, logger: l.logger.With("part", name), name: name, implied: l.implied}
}

// SetLevel does nothing: the slog handler has the level.
func (l *libraryLogger) SetLevel(hclog.Level) {}

// GetLevel returns no level: the slog handler has it.
func (l *libraryLogger) GetLevel() hclog.Level { return hclog.NoLevel }

// StandardLogger writes lines of the standard logger at the debug level.
func (l *libraryLogger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.logger.Handler(), slog.LevelDebug)
}

// StandardWriter writes whole lines at the debug level.
func (l *libraryLogger) StandardWriter(options *hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(options).Writer()
}
