package history

// kind says how the samples of one column become a longer step, or the column of a cluster.
type kind uint8

const (
	gauge   kind = iota // of the replicated state: the highest, from one node
	counter             // events: the sum, also over nodes
	highest             // of one node
	lowest              // of one node
)

// column describes one series.
type column struct {
	name  string
	kind  kind
	scale float64 // multiplies a stored number
}

// Gauges are the columns of a queue that its state has.
type Gauges struct {
	Visible, InFlight, Delayed, OldestSeconds, Groups, BlockedGroups, DeduplicationIDs int64
}

func (g *Gauges) list() [gaugeColumns]int64 {
	return [gaugeColumns]int64{g.Visible, g.InFlight, g.Delayed, g.OldestSeconds, g.Groups, g.BlockedGroups, g.DeduplicationIDs}
}

// add adds counts, and keeps the highest age.
func (g *Gauges) add(other *Gauges) {
	g.Visible += other.Visible
	g.InFlight += other.InFlight
	g.Delayed += other.Delayed
	g.OldestSeconds = max(g.OldestSeconds, other.OldestSeconds)
	g.Groups += other.Groups
	g.BlockedGroups += other.BlockedGroups
	g.DeduplicationIDs += other.DeduplicationIDs
}

// Counters indexes the counts of a queue since the start of its node.
type Counters [CounterColumns]uint64

// The counters, in the order of their columns.
const (
	Sent = iota
	Received
	Deleted
	Duplicates
	EmptyReceives
	DeadLettered
	CounterColumns
)

// minus returns the growth since an earlier moment. A smaller count means that counting began
// again.
func (c *Counters) minus(earlier *Counters) (grown Counters) {
	for i := range c {
		if c[i] >= earlier[i] {
			grown[i] = c[i] - earlier[i]
		}
	}
	return grown
}

const gaugeColumns = 7

// depthColumns are the first columns, whose sum is the number of messages.
const depthColumns = 3

// queueColumns are the columns of a queue, and of the sum of all queues.
var queueColumns = [gaugeColumns + CounterColumns]column{
	{"visible", gauge, 1}, {"inFlight", gauge, 1}, {"delayed", gauge, 1}, {"oldestSeconds", gauge, 1}, {"groups", gauge, 1},
	{"blockedGroups", gauge, 1}, {"deduplicationIds", gauge, 1},
	{"sent", counter, 1}, {"received", counter, 1}, {"deleted", counter, 1}, {"duplicates", counter, 1}, {"emptyReceives", counter, 1},
	{"deadLettered", counter, 1},
}

// Measured are the columns of a node at one moment. A number below zero is unknown.
type Measured struct {
	CommitP50, CommitP99, SyncP99, RequestP99, SojournP50, SojournP99 int64 // microseconds
	ApplyLag, DiskFreeKB, Requests                                    int64 // Requests since the last sample
}

func (m *Measured) list() [nodeColumnCount]int64 {
	return [nodeColumnCount]int64{
		m.CommitP50, m.CommitP99, m.SyncP99, m.ApplyLag, m.DiskFreeKB, m.Requests, m.RequestP99, m.SojournP50, m.SojournP99,
	}
}

const (
	nodeColumnCount = 9
	millis          = 1e-3 // of a microsecond
)

var nodeColumns = [nodeColumnCount]column{
	{"commitP50Ms", highest, millis}, {"commitP99Ms", highest, millis}, {"syncP99Ms", highest, millis}, {"applyLag", highest, 1},
	{"diskFreeBytes", lowest, 1 << 10}, {"requests", counter, 1}, {"requestP99Ms", highest, millis}, {"sojournP50Ms", highest, millis},
	{"sojournP99Ms", highest, millis},
}
