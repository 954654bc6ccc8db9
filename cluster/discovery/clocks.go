package discovery

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Clocks compares this node's wall clock with those of the other voters, which travel with the
// probes of gossip; half the round trip counts as the way back. If this node's clock differs from
// the median of a majority by more than the bound, the node hands leadership over (faults.md I16).
// If it has to lead nevertheless, it stamps the log with the median. Safe for concurrent use.
type Clocks struct {
	clock   environment.Clock
	max     time.Duration
	voters  func() []string // node ids, this one among them
	nodeID  string
	changed wakeup.Signal // notified when the trust in this node's clock changes
	known   chan struct{} // closed once the clocks of a majority are known

	correction atomic.Int64 // added to the wall clock; zero while it is trusted
	checked    atomic.Int64 // lead of the wall clock at the last check

	mu      sync.Mutex
	samples map[string]sample // by node id
}

// sample is another node's clock, relative to this node's monotonic clock. So a step of this node's
// wall clock shows at once, not at the next sample: the node could become leader in between.
type sample struct {
	lead time.Duration // of the other wall clock over this monotonic clock
	at   time.Duration // on the monotonic clock
}

// leadOf returns the lead of a wall clock over a monotonic one.
func leadOf(wall time.Time, monotonic time.Duration) time.Duration {
	return time.Duration(wall.UnixNano()) - monotonic
}

const (
	// sampleAge bounds the age of a sample. A live voter is probed every few seconds.
	sampleAge = time.Minute
	// roundMax bounds the round trip of a probe whose sample counts.
	roundMax = 2 * time.Second
	// stepMax is the change of the wall clock against the monotonic one that triggers a check.
	// Gradual adjustment changes less between two probes.
	stepMax = 100 * time.Millisecond
)

// NewClocks returns a comparison of clock with those of voters, which include this node. Beyond
// bound from the median, clock is not trusted.
func NewClocks(clock environment.Clock, bound time.Duration, nodeID string, voters func() []string) *Clocks {
	return &Clocks{
		clock: clock, max: bound, nodeID: nodeID, voters: voters,
		changed: wakeup.NewSignal(), known: make(chan struct{}), samples: map[string]sample{},
	}
}

// observe records the time on another node's clock at the end of a probe.
func (g *Clocks) observe(nodeID string, theirs time.Time, round time.Duration) {
	if round < 0 || round > roundMax {
		return
	}
	now := g.clock.Monotonic()
	g.mu.Lock()
	g.samples[nodeID] = sample{leadOf(theirs.Add(round/2), now), now}
	g.mu.Unlock()
	g.check()
}

// TrustChanged receives a value when this node's clock enters or leaves the bound.
func (g *Clocks) TrustChanged() <-chan struct{} { return g.changed }

// Known returns a channel that is closed once the clocks of a majority are known.
func (g *Clocks) Known() <-chan struct{} { return g.known }

// Skews returns the known differences between the clocks of other voters and this one; positive
// ones are later.
func (g *Clocks) Skews() map[string]time.Duration {
	voters, now := g.voters(), g.clock.Monotonic()
	own := leadOf(g.clock.Wall(), now)
	skews := map[string]time.Duration{}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range voters {
		if s, known := g.samples[id]; known && now-s.at <= sampleAge && id != g.nodeID {
			skews[id] = s.lead - own
		}
	}
	return skews
}

// median returns the median skew of a majority, 0 without a majority, and all skews.
func (g *Clocks) median() (median time.Duration, skews map[string]time.Duration) {
	skews = g.Skews()
	all := []time.Duration{0} // this clock
	for _, d := range skews {
		all = append(all, d)
	}
	if !g.isMajority(len(all)) {
		return 0, skews
	}
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	if low.Abs() < high.Abs() { // of two in the middle, the smaller skew
		return low, skews
	}
	return high, skews
}

func (g *Clocks) isMajority(clocks int) bool { return 2*clocks > len(g.voters()) }

// check updates the trust in this node's clock.
func (g *Clocks) check() {
	g.checked.Store(int64(leadOf(g.clock.Wall(), g.clock.Monotonic())))
	median, skews := g.median()
	if g.isMajority(1 + len(skews)) {
		g.mu.Lock()
		select {
		case <-g.known:
		default:
			close(g.known)
		}
		g.mu.Unlock()
	}
	if median.Abs() <= g.max {
		median = 0
	}
	before := g.correction.Swap(int64(median))
	if (before == 0) != (median == 0) {
		g.changed.Notify()
	}
}

// corrected returns the wall clock and its correction, which it checks again after a step.
func (g *Clocks) corrected() (wall time.Time, correction time.Duration) {
	wall = g.clock.Wall()
	if (leadOf(wall, g.clock.Monotonic()) - time.Duration(g.checked.Load())).Abs() > stepMax {
		g.check()
	}
	return wall, time.Duration(g.correction.Load())
}

// Off returns the lead of this node's clock over the median, 0 within the bound.
func (g *Clocks) Off() time.Duration {
	_, correction := g.corrected()
	return -correction
}

// MayLead reports whether another voter's clock is within the bound or unknown.
func (g *Clocks) MayLead(nodeID string) bool {
	median, skews := g.median()
	d, known := skews[nodeID]
	return !known || (d-median).Abs() <= g.max
}

// Wall returns the time for log entries: the wall clock, or the median of the voters if it is too
// far from that.
func (g *Clocks) Wall() time.Time {
	wall, correction := g.corrected()
	return wall.Add(correction)
}

// Monotonic returns the time since a fixed point, unaffected by steps of the wall clock.
func (g *Clocks) Monotonic() time.Duration { return g.clock.Monotonic() }

// pings adds the clocks to the probes of gossip.
type pings Clocks

var _ memberlist.PingDelegate = (*pings)(nil)

// AckPayload returns this node's wall clock.
func (p *pings) AckPayload() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(p.clock.Wall().UnixNano()))
}

// NotifyPingComplete records the clock in the answer to a probe.
func (p *pings) NotifyPingComplete(other *memberlist.Node, round time.Duration, payload []byte) {
	nodeID, _, named := strings.Cut(other.Name, "#")
	if len(payload) != 8 || !named {
		return // it has no clock
	}
	(*Clocks)(p).observe(nodeID, time.Unix(0, int64(binary.BigEndian.Uint64(payload))), round)
}
