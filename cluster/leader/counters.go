package leader

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/histogram"
)

// Counters count what a node does while it leads. They outlive its terms, so that
// the node has one for all of them. Made by NewCounters; safe for concurrent use.
type Counters struct {
	Entries       atomic.Uint64        // log entries proposed
	BatchCommands *histogram.Histogram // commands per entry
	BatchBytes    *histogram.Histogram // bytes of commands per entry
	ClockCommands atomic.Uint64        // AdvanceClock, as a deadline was due and nothing else happened
	ReadIndexes   atomic.Uint64        // times that leadership was confirmed for reads
	// Queues are the counts of messages by queue; the node has its own there, too.
	Queues *QueueCounters
	// Sojourn is the age of messages when they are deleted, in seconds.
	Sojourn *histogram.Histogram
	// Deliveries of topics to queues that did not become messages there.
	Deduplicated, Undeliverable, Lost DeliveryCounters
	// Attempts to deliver over HTTP, and those of them that failed.
	Posts, PostsFailed atomic.Uint64
}

// NewCounters returns Counters that have counted nothing, with room for so many queues.
func NewCounters(queues int) *Counters {
	return &Counters{
		Queues: NewQueueCounters(queues),
		// From a message that a waiting receive gets at once to the longest retention.
		Sojourn:       histogram.New(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6*3600, 24*3600, 7*24*3600),
		BatchCommands: histogram.New(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
		BatchBytes:    histogram.New(1<<8, 1<<10, 1<<12, 1<<14, 1<<16, 1<<18, 1<<20),
	}
}
