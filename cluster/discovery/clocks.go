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

// Clocks compares this node's wall clock with those of the other voters. They
// travel with the probes of gossip; half the round trip is taken for the way
// back. A node that differs from the median of a majority by more than the bound hands
// leadership over (decision 6, faults.md I16). If it has to lead nevertheless, it stamps
// the log by the median. Safe for concurrent use.
type Clocks struct {
	clock   environment.Clock
	max     time.Duration
	voters  func() []string // node ids, this one among them
	nodeID  string
	changed wakeup.Signal // the trust in this node's clock is another
	known   chan struct{} // closed once the clocks of a majority are known

	correction atomic.Int64 // added to the wall clock; zero while it is trusted
	judged     atomic.Int64 // lead of the clock when it was last judged

	mu      sync.Mutex
	samples map[string]sample // by node id
}

// sample is another clock. It is kept by this node's monotonic clock, so that a
// step of this node's wall clock shows at once, and not when it next hears of others:
// a node could become leader in between.
type sample struct {
	lead time.Duration // of the other wall clock over this monotonic clock
	at   time.Duration // on the monotonic clock
}

// leadOf is by how much a wall clock is ahead of a monotonic one.
func leadOf(wall time.Time, monotonic time.Duration) time.Duration {
	return time.Duration(wall.UnixNano()) - monotonic
}

const (
	// sampleAge is how long a sample counts: a voter is probed every few
	// seconds while it is there.
	sampleAge = time.Minute
	// roundMax is the slowest probe that says anything about a clock.
	roundMax = 2 * time.Second
	// stepMax is a change of the wall clock against the monotonic one that calls
	// for a judgement; what adjusts clocks gently changes less between two probes.
	stepMax = 100 * time.Millisecond
)

// NewClocks compares clock with those of the voters, this node among them, as
// soon as gossip brings them. Farther than bound from their median it is not trusted.
func NewClocks(clock environment.Clock, bound time.Duration, nodeID string, voters func() []string) *Clocks {
	return &Clocks{
		clock: clock, max: bound, nodeID: nodeID, voters: voters,
		changed: wakeup.NewSignal(), known: make(chan struct{}), samples: map[string]sample{},
	}
}

// observe takes what another node's clock said a moment ago.
func (g *Clocks) observe(nodeID string, theirs time.Time, round time.Duration) {
	if round < 0 || round > roundMax {
		return
	}
	now := g.clock.Monotonic()
	g.mu.Lock()
	g.samples[nodeID] = sample{leadOf(theirs.Add(round/2), now), now}
	g.mu.Unlock()
	g.judge()
}

// TrustChanged gets a value when this node's clock comes within the bound or leaves it.
func (g *Clocks) TrustChanged() <-chan struct{} { return g.changed }

// Known is closed once the clocks of a majority are known.
func (g *Clocks) Known() <-chan struct{} { return g.known }

// Ahead lists how far the clocks of other voters are ahead of this one, as far
// as that is known.
func (g *Clocks) Ahead() map[string]time.Duration {
	voters, now := g.voters(), g.clock.Monotonic()
	own := leadOf(g.clock.Wall(), now)
	ahead := map[string]time.Duration{}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range voters {
		if s, known := g.samples[id]; known && now-s.at <= sampleAge && id != g.nodeID {
			ahead[id] = s.lead - own
		}
	}
	return ahead
}

// median is how far the median clock of a majority is ahead of this one, and the
// differences it was taken from. Without a majority it is zero.
func (g *Clocks) median() (median time.Duration, ahead map[string]time.Duration) {
	ahead = g.Ahead()
	all := []time.Duration{0} // this one
	for _, d := range ahead {
		all = append(all, d)
	}
	if !g.isMajority(len(all)) {
		return 0, ahead
	}
	slices.Sort(all)
	low, high := all[(len(all)-1)/2], all[len(all)/2]
	if low.Abs() < high.Abs() { // of two in the middle the one that accuses less
		return low, ahead
	}
	return high, ahead
}

func (g *Clocks) isMajority(clocks int) bool { return 2*clocks > len(g.voters()) }

// judge decides whether this node's clock is trusted.
func (g *Clocks) judge() {
	g.judged.Store(int64(leadOf(g.clock.Wall(), g.clock.Monotonic())))
	median, ahead := g.median()
	if g.isMajority(1 + len(ahead)) {
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

// corrected is the correction of the wall clock, judged anew if that has stepped.
func (g *Clocks) corrected() (wall time.Time, correction time.Duration) {
	wall = g.clock.Wall()
	if (leadOf(wall, g.clock.Monotonic()) - time.Duration(g.judged.Load())).Abs() > stepMax {
		g.judge()
	}
	return wall, time.Duration(g.correction.Load())
}

// Off is how far this node's clock is from the median, zero while it is within
// the bound.
func (g *Clocks) Off() time.Duration {
	_, correction := g.corrected()
	return -correction
}

// MayLead reports whether another voter's clock is within the bound, as far as is
// known here.
func (g *Clocks) MayLead(nodeID string) bool {
	median, ahead := g.median()
	d, known := ahead[nodeID]
	return !known || (d-median).Abs() <= g.max
}

// Wall is the time to stamp log entries with: the wall clock, or the median of the
// voters if this one is too far from it.
func (g *Clocks) Wall() time.Time {
	wall, correction := g.corrected()
	return wall.Add(correction)
}

// Monotonic is the time since some moment in the past, which no step of the wall clock
// changes.
func (g *Clocks) Monotonic() time.Duration { return g.clock.Monotonic() }

// pings puts the clocks on the probes of gossip.
type pings Clocks

var _ memberlist.PingDelegate = (*pings)(nil)

// AckPayload is this node's clock.
func (p *pings) AckPayload() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(p.clock.Wall().UnixNano()))
}

// NotifyPingComplete hears of a probe that was answered.
func (p *pings) NotifyPingComplete(other *memberlist.Node, round time.Duration, payload []byte) {
	nodeID, _, named := strings.Cut(other.Name, "#")
	if len(payload) != 8 || !named {
		return // of a version without clocks
	}
	(*Clocks)(p).observe(nodeID, time.Unix(0, int64(binary.BigEndian.Uint64(payload))), round)
}
