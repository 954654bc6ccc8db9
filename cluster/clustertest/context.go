package clustertest

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"
)

// Timeout bounds a whole test. It is far longer than any test takes on a busy machine.
const Timeout = 60 * time.Second

// Context returns a context that ends with the test, or after Timeout.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// Logger returns a logger to standard error if CLUSTER_TEST_LOG is set, otherwise one that
// discards.
func Logger(t *testing.T, node int) *slog.Logger {
	level := slog.LevelWarn + 1
	if os.Getenv("CLUSTER_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("test", t.Name(), "n", node)
}

// T is a test, of package testing or rapid.
type T interface {
	Helper()
	Error(args ...any)
	Fatal(args ...any)
}

// Must ends the test with an error, of whatever type.
func Must[E interface {
	comparable
	error
}](tb T, err E) {
	tb.Helper()
	var none E
	if err != none {
		tb.Fatal(err)
	}
}

// Check reports an error. The test continues.
func Check[E interface {
	comparable
	error
}](tb T, err E) {
	tb.Helper()
	var none E
	if err != none {
		tb.Error(err)
	}
}

// Err is the error of a call with a result that does not matter.
func Err[R any, E error](_ R, err E) E { return err }
