package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func TestGossipMetadataFits(t *testing.T) {
	long := Member{
		NodeID:    strings.Repeat("n", 63) + "-00000000",
		Name:      strings.Repeat("n", 63),
		ClusterID: "0123456789abcdef",
		Peer:      "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%eth0]:65535",
		Boot:      1<<64 - 1,
		Expect:    1 << 30,
		HasState:  true,
		Version:   "10.20.30-rc.40+0123456789abcdef0123456789abcdef01234567.dirty",
	}
	meta, err := json.Marshal(long)
	if err != nil || len(meta) > 512 {
		t.Fatalf("%d bytes, %v", len(meta), err)
	}
}

func TestGossipLogsGoThroughSlog(t *testing.T) {
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&text, nil))
	gossip := newLogger(context.Background(), logger, clustertest.NewHandClock(0).Monotonic, &refusals{})
	for range 3 {
		gossip.Print("[WARN] memberlist: slow")
	}
	gossip.Print("[ERR] memberlist: Failed fallback TCP ping: EOF")
	if got := strings.Count(text.String(), "level=INFO msg=slow component=gossip"); got != 1 {
		t.Errorf("%d lines in\n%s", got, text.String())
	}
	if strings.Contains(text.String(), "fallback") {
		t.Errorf("each probe of a node that is away is logged:\n%s", text.String())
	}
}
