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
	clock := clustertest.NewHandClock(0).Monotonic
	refused := newRefusals(logger, clock)
	gossip := newLogger(context.Background(), logger, clock, refused)
	for range 3 {
		gossip.Print("[WARN] memberlist: slow")
	}
	gossip.Print("[ERR] memberlist: Failed fallback TCP ping: EOF")
	for range 2 {
		gossip.Print("[ERR] memberlist: Decrypt packet failed: no installed keys could decrypt the message")
	}
	refused.Each(func(why string, count uint64) {
		if want := map[string]uint64{refusedPacket: 2}[why]; count != want {
			t.Errorf("%d refusals by %s, want %d", count, why, want)
		}
	})
	if got := strings.Count(text.String(), "Decrypt packet failed"); got != 1 {
		t.Errorf("%d lines for two refusals in\n%s", got, text.String())
	}
	if got := strings.Count(text.String(), "level=INFO msg=slow component=gossip"); got != 1 {
		t.Errorf("%d lines in\n%s", got, text.String())
	}
	if strings.Contains(text.String(), "fallback") {
		t.Errorf("each probe of a node that is away is logged:\n%s", text.String())
	}
}
