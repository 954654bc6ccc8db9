package clustertest

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"
)

// Patience is far more than anything here takes on a machine that is busy
// with other tests.
const Patience = 60 * time.Second

// Context ends with the test, or when everything has had far more time than it
// needs.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Logger writes to standard error if CLUSTER_TEST_LOG is set.
func Logger(t *testing.T, node int) *slog.Logger {
	level := slog.LevelWarn + 1
	if os.Getenv("CLUSTER_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("test", t.Name(), "n", node)
}
