package witness

import (
	"strconv"

	"github.com/seriatimq/seriatim/test/faults/history"
	"github.com/seriatimq/seriatim/test/model/reference"
)

// checkCounters is the part of I15 about counters: what a client was told is what
// the model counts there.
func (w *Witness) checkCounters(e *history.Event, c reference.Counters) {
	w.count("counters of queues compared", 1)
	for name, want := range map[string]int64{
		history.Visible: c.Visible, history.NotVisible: c.NotVisible, history.Delayed: c.Delayed,
	} {
		if told := e.Attributes[name]; told != strconv.FormatInt(want, 10) {
			w.violate("W2", "I15", e.Index, e, "%s of %s is %q, the log gives %d", name, e.Queue, told, want)
		}
	}
}
