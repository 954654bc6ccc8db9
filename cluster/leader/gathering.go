package leader

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// gathering is the time after an entry has landed and before the next one leaves, when
// none is in flight: callers that were answered call again at once, and who is the first
// of them would leave alone and let the others wait for a whole entry. With 64 clients
// entries of 2 and of 62 took turns, two syncs for what one can hold. So the next entry
// leaves when as many commands wait as were answered.
//
// Nothing gathers if half as many wait already when the entry lands: then commands come
// without waiting for answers, or callers are spread over two entries, and who waits has
// waited long enough. A lone caller never waits: it is as many as were answered.
//
// The zero value gathers nothing. The caller holds the mutex of the group committer.
type gathering struct {
	commands int           // that are to wait; 0: nothing gathers
	until    time.Duration // monotonic: the next entry leaves whatever waits
	timer    *time.Timer   // gives work then; nil: there was no need for one yet
}

const (
	// gatherFlights bounds gathering to so many times what the entry took that has
	// landed. Where processors are busy callers are back after about as long; with twice
	// the time less is left to clocks, and commands that come by themselves are not later.
	gatherFlights = 2
	// gatherMax bounds it after a disk was slow.
	gatherMax = 10 * time.Millisecond
)

// landed begins to gather when an entry has landed which was in flight for some time.
func (g *gathering) landed(commands, waiting int, flight, now time.Duration) {
	g.commands, g.until = commands, now+min(gatherFlights*flight, gatherMax)
	if 2*waiting >= commands {
		g.commands = 0
	}
}

// over reports whether an entry of so many commands is to leave, and gives work when it
// is if no command comes before.
func (g *gathering) over(commands int, now time.Duration, work wakeup.Signal) bool {
	if commands >= g.commands || now >= g.until {
		return true
	}
	if g.timer == nil {
		g.timer = time.AfterFunc(g.until-now, work.Notify)
	} else {
		g.timer.Reset(g.until - now)
	}
	return false
}

// stop ends the timer.
func (g *gathering) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}
