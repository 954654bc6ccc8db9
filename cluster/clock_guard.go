package cluster

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// clockGuard compares this node's wall clock with those of the other voters. They
// travel with the probes of gossip; half the round trip is taken for the way
// back. A node that differs from the median of a majority by more than the bound
// leaves leading to others (decision 6, faults.md I16), and if it has to lead all
// the same it stamps the log by the median. Safe for concurrent use.
type clockGuard struct {
	clock  Clock
	max    time.Duration
	voters func() []string // node ids, this one among them
	nodeID string
	// changed says that the trust in this node's clock is another. Capacity 1:
	// a token that waits stands for all that follow.
	changed chan struct{}

	correction atomic.Int64 // added to the wall clock; zero while it is trusted

	mu      sync.Mutex
	samples map[string]clockSample // by node id
}

// clockSample is how far another clock was ahead of this one.
type clockSample struct {
	ahead time.Duration
	at    time.Duration // on the monotonic clock
}

const (
	// clockSampleAge is how long a sample counts: a voter is probed every few
	// seconds while it is there.
	clockSampleAge = time.Minute
	// clockRoundMax is the slowest probe that says anything about a clock.
	clockRoundMax = 2 * time.Second
)

func newClockGuard(cfg Config, nodeID string, voters func() []string) *clockGuard {
	return &clockGuard{
		clock: cfg.Clock, max: cfg.Timing.ClockSkewMax, nodeID: nodeID, voters: voters,
		changed: make(chan struct{}, 1), samples: map[string]clockSample{},
	}
}

// observe takes what another node's clock said a moment ago.
func (g *clockGuard) observe(nodeID string, theirs time.Time, round time.Duration) {
	if round < 0 || round > clockRoundMax {
		return
	}
	ahead := theirs.Add(round / 2).Sub(g.clock.Wall())
	g.mu.Lock()
	g.samples[nodeID] = clockSample{ahead, g.clock.Monotonic()}
	g.mu.Unlock()
	g.judge()
}

// ahead lists how far the clocks of other voters are ahead of this one, as far
// as that is known.
func (g *clockGuard) ahead() map[string]time.Duration {
	voters, now := g.voters(), g.clock.Monotonic()
	ahead := map[string]time.Duration{}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range voters {
		if s, known := g.samples[id]; known && now-s.at <= clockSampleAge && id != g.nodeID {
			ahead[id] = s.ahead
		}
	}
	return ahead
}

// median is how far the median clock of a majority is ahead of this one, and the
// differences it was taken from. Without a majority it is zero.
func (g *clockGuard) median() (median time.Duration, ahead map[string]time.Duration) {
	ahead = g.ahead()
	all := []time.Duration{0} // this one
	for _, d := range ahead {
		all = append(all, d)
	}
	if 2*len(all) <= len(g.voters()) {
		return 0, ahead
	}
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	if low.Abs() < high.Abs() { // of two in the middle the one that accuses less
		return low, ahead
	}
	return high, ahead
}

// judge decides whether this node's clock is trusted.
func (g *clockGuard) judge() {
	median, _ := g.median()
	if median.Abs() <= g.max {
		median = 0
	}
	before := g.correction.Swap(int64(median))
	if (before == 0) != (median == 0) {
		select {
		case g.changed <- struct{}{}:
		default:
		}
	}
}

// off is how far this node's clock is from the median, zero while it is within
// the bound.
func (g *clockGuard) off() time.Duration { return -time.Duration(g.correction.Load()) }

// mayLead reports whether another voter's clock is within the bound, as far as is
// known here.
func (g *clockGuard) mayLead(nodeID string) bool {
	median, ahead := g.median()
	d, known := ahead[nodeID]
	return !known || (d-median).Abs() <= g.max
}

// Wall is the clock to stamp the log with.
func (g *clockGuard) Wall() time.Time {
	return g.clock.Wall().Add(time.Duration(g.correction.Load()))
}

// Monotonic is that of the machine.
func (g *clockGuard) Monotonic() time.Duration { return g.clock.Monotonic() }

// gossipPings puts the clocks on the probes of gossip.
type gossipPings clockGuard

var _ memberlist.PingDelegate = (*gossipPings)(nil)

// AckPayload is this node's clock.
func (p *gossipPings) AckPayload() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(p.clock.Wall().UnixNano()))
}

// NotifyPingComplete hears of a probe that was answered.
func (p *gossipPings) NotifyPingComplete(other *memberlist.Node, round time.Duration, payload []byte) {
	nodeID, _, named := strings.Cut(other.Name, "#")
	if len(payload) != 8 || !named {
		return // of a version without clocks
	}
	(*clockGuard)(p).observe(nodeID, time.Unix(0, int64(binary.BigEndian.Uint64(payload))), round)
}
