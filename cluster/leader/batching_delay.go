package leader

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// batchingDelay delays the next entry while none is in flight, because answered callers call again
// at once. Without the delay, the first of them gets an entry of its own and the others wait for
// the next: 64 clients then alternate between entries of 2 and 62 commands, two syncs instead of
// one. The next entry leaves when as many commands wait as the last one answered.
//
// There is no delay if half as many commands wait already when the entry is applied: they have
// waited long enough. A lone caller never waits either.
//
// The zero value delays nothing. The caller holds the mutex of the group committer.
type batchingDelay struct {
	commands int           // to wait for; 0: no delay
	until    time.Duration // end of the delay, on the monotonic clock
	timer    *time.Timer   // notifies the group committer at until; nil before its first use
}

const (
	// delayFlights bounds the delay to a multiple of the time that the last entry was in flight. On
	// busy processors callers return within about that time.
	delayFlights = 2
	// delayMax bounds the delay after a slow disk.
	delayMax = 10 * time.Millisecond
)

// begin starts the delay after an entry of so many commands, which was in flight for some time.
func (d *batchingDelay) begin(commands, waiting int, flight, now time.Duration) {
	d.commands, d.until = commands, now+min(delayFlights*flight, delayMax)
	if 2*waiting >= commands {
		d.commands = 0
	}
}

// over reports whether an entry of so many commands may leave. If not, it notifies work at the end
// of the delay.
func (d *batchingDelay) over(commands int, now time.Duration, work wakeup.Signal) bool {
	if commands >= d.commands || now >= d.until {
		return true
	}
	if d.timer == nil {
		d.timer = time.AfterFunc(d.until-now, work.Notify)
	} else {
		d.timer.Reset(d.until - now)
	}
	return false
}

func (d *batchingDelay) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
