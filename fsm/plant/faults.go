//go:build faults

package plant

import (
	"sync/atomic"

	"github.com/seriatimq/seriatim/fsm/failpoint"
	"github.com/seriatimq/seriatim/queue"
)

var (
	planted atomic.Int32 // number of the bug of this process
	leading atomic.Bool
)

// Is says whether bug number n was planted.
func Is(n int) bool { return planted.Load() == int32(n) }

// Set plants bug number n, 0 none. now is the time of this machine. It is called
// before a node starts.
func Set(n int, now func() queue.Timestamp) {
	planted.Store(int32(n))
	queue.Plant(queue.Plants{Is: Is, Leads: leading.Load, Now: now, Hit: hit})
}

// hit is a failpoint of the rules, which cannot fail otherwise than by a panic.
func hit(place string) {
	if err := failpoint.Hit(place); err != nil {
		panic(err)
	}
}

// Lead notes whether this process leads, as some bugs are those of followers.
func Lead(leads bool) { leading.Store(leads) }
