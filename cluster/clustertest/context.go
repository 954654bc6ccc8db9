package clustertest

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
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

// VerifyNoLeaks fails the test if a goroutine of ours is left. Memberlist does not
// wait for a probe under way when it stops; it ends within a second.
func VerifyNoLeaks(t *testing.T) {
	t.Helper()
	goleak.VerifyNone(t,
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probe"),
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).sendPingAndWaitForAck"),
	)
}

// Logger writes to standard error if CLUSTER_TEST_LOG is set.
func Logger(t *testing.T, node int) *slog.Logger {
	level := slog.LevelWarn + 1
	if os.Getenv("CLUSTER_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("test", t.Name(), "n", node)
}
