package logcheck

import (
	"strconv"

	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// checkCounters checks the part of I15 about counters. Their sum must equal the model's count. A
// single counter may be some milliseconds late, because the end of a visibility timeout or delay
// counts only after the next entry (queue.QueueStats).
func (w *Checker) checkCounters(e *history.Event, c reference.Counters) {
	w.count("counters of queues compared", 1)
	var reported [3]int64
	for i, name := range []string{history.Visible, history.NotVisible, history.Delayed} {
		n, err := strconv.ParseInt(e.Attributes[name], 10, 64)
		if err != nil {
			w.violate("W2", "I15", e.Index, e, "%s of %s is %q", name, e.Queue, e.Attributes[name])
			return
		}
		reported[i] = n
	}
	if reported[0]+reported[1]+reported[2] != c.Visible+c.NotVisible+c.Delayed || reported[1] < c.NotVisible || reported[2] < c.Delayed {
		w.violate("W2", "I15", e.Index, e, "%s counts %d visible, %d hidden and %d delayed messages, the log gives %+v", e.Queue,
			reported[0], reported[1], reported[2], c)
	}
}
