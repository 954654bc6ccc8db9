package leader

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/cluster/histogram"
)

// Counters count the work of a leading node. They outlive its terms. Made by NewCounters; safe for
// concurrent use.
type Counters struct {
	Entries       atomic.Uint64        // log entries proposed
	BatchCommands *histogram.Histogram // commands per entry
	BatchBytes    *histogram.Histogram // bytes of commands per entry
	Commits       *histogram.Histogram // seconds from the proposal of an entry to its application
	ClockCommands atomic.Uint64        // AdvanceClock commands
	ReadIndexes   atomic.Uint64        // confirmations of leadership for reads
	// Queues counts messages by queue. The node adds its own counts.
	Queues *QueueCounters
	// Sojourn observes the age of deleted messages, in seconds.
	Sojourn *histogram.Histogram
	// Deliveries from topics to queues that added no message.
	Deduplicated, Undeliverable, Lost DeliveryCounters
	// Attempts to deliver over HTTP, and the failed ones among them.
	Posts, PostsFailed atomic.Uint64
}

// NewCounters returns counters at zero for up to so many queues.
func NewCounters(queues int) *Counters {
	return &Counters{
		Queues: NewQueueCounters(queues),
		// The buckets reach from a delivery to a waiting receive up to days in a queue.
		Sojourn:       histogram.New(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6*3600, 24*3600, 7*24*3600),
		Commits:       histogram.New(.0005, .001, .002, .004, .008, .016, .032, .064, .125, .25, .5, 1, 2.5, 5, 10),
		BatchCommands: histogram.New(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
		BatchBytes:    histogram.New(1<<8, 1<<10, 1<<12, 1<<14, 1<<16, 1<<18, 1<<20),
	}
}
