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
