package storage

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func TestLibraryLogsGoThroughSlog(t *testing.T) {
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo}))
	l := NewLibraryLogger(context.Background(), logger).Named("store").With("a", 1)
	l.Error("it broke", "servers", hclog.Fmt("%d of %s", 3, "x"))
	l.Warn("careful")
	l.Info("chatter")
	l.Error("failed to heartbeat to", "peer", "b")
	l.With("node", "b").Warn("was slow", "time", 3)
	for _, want := range []string{`level=WARN msg="it broke"`, `servers="3 of x"`, "part=store", "a=1", "level=INFO msg=careful",
		"raft_node=b raft_time=3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	for _, unwanted := range []string{"chatter", "heartbeat", " node=b", " time=3"} {
		if strings.Contains(text.String(), unwanted) {
			t.Errorf("%q is logged", unwanted)
		}
	}
}

// TestLibraryLinesAreDebug covers the two ways to write lines without a level.
func TestLibraryLinesAreDebug(t *testing.T) {
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := NewLibraryLogger(context.Background(), logger).Named("store")
	l.StandardLogger(nil).Print("one line")
	clustertest.Must(t, clustertest.Err(l.StandardWriter(nil).Write([]byte("another\n"))))
	for _, want := range []string{`level=DEBUG msg="one line" component=raft part=store`,
		"level=DEBUG msg=another component=raft part=store\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}
