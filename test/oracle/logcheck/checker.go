package logcheck

import "github.com/seriatimq/seriatim/test/oracle/history"

// Checker judges a run, at its end or while it continues. Used by one goroutine.
type Checker struct {
	log        log
	restored   []restored // not compared yet
	replay     replay
	operations map[int64]*operation
	reads      map[uint64][]*operation // by the index of the state that was read
	unmatched  map[int64][]unmatchedEntry
	drained    map[string]bool
	leaders    map[uint64]string // by term
	terms      map[string]uint64 // by node
	report     Report
}

// New returns a Checker for a run whose taps are, or will be, in the folder taps of dir.
func New(dir string) *Checker {
	return &Checker{
		log: newLog(dir), replay: newReplay(), operations: map[int64]*operation{}, unmatched: map[int64][]unmatchedEntry{},
		reads: map[uint64][]*operation{}, drained: map[string]bool{}, leaders: map[uint64]string{}, terms: map[string]uint64{},
		report: Report{Counts: map[string]int{}},
	}
}

// Add adds the next lines of the history. Operations are kept until their entries were read.
func (w *Checker) Add(events []history.Event) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case history.KindRun:
			w.replay.unmodelled = e.Rules.Unmodelled
		case history.KindOp:
			w.addOperation(e)
		case history.KindDrained:
			w.drained[e.Queue] = true
		case history.KindStatus:
			w.addStatus(e)
		default: // faults and their effects
		}
	}
}

// advance judges what the nodes have written so far.
func (w *Checker) advance() error {
	// Entries that a node skipped because it got a snapshot were written by another node before the
	// snapshot was made. So the second read finds them.
	if err := w.read(); err != nil {
		return err
	}
	end := w.log.end
	if err := w.read(); err != nil {
		return err
	}
	if err := w.replayTo(end); err != nil {
		return err
	}
	w.checkRestored(end)
	return nil
}

// Judge judges everything added so far. The nodes must be idle, and every operation must have
// returned. More lines may be added later.
func (w *Checker) Judge() (Report, error) {
	if err := w.advance(); err != nil {
		return w.report, err
	}
	if len(w.log.taps) == 0 {
		w.gap("the run has no taps: it was made with a binary without the tag faults")
		return w.report, nil
	}
	w.checkGaps()
	w.checkOutcomes()
	w.checkRealTime()
	w.checkDrained()
	return w.report, nil
}

// Effects returns the operations of unknown outcome that took effect, with the log time of their
// entries.
func (w *Checker) Effects() map[int64]int64 {
	effects := map[int64]int64{}
	for id, op := range w.operations {
		for _, t := range op.traces {
			if t.effect && op.result == history.Unknown {
				effects[id] = t.logTime
			}
		}
	}
	return effects
}

// Close closes the taps.
func (w *Checker) Close() { w.log.close() }
