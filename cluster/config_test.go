package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/election"
)

// A leader must have stepped down by the time at which followers replace one that
// is silent.
func TestLeaseEndsBeforeFollowersAct(t *testing.T) {
	cfg := Config{NodeName: "n", DataDir: "d", PeerAddr: "127.0.0.1:1", GossipAddr: "127.0.0.1:2",
		Fatal: func(ExitCode, error) {}}.WithDefaults()
	clustertest.Must(t, cfg.Validate())
	cfg.Timing.Lease = election.Silence(cfg.Timing.Heartbeat) + time.Millisecond
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "lease") {
		t.Errorf("a lease of %v with a heartbeat timeout of %v: %v", cfg.Timing.Lease, cfg.Timing.Heartbeat, err)
	}
}
