package linearizability

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// The budget of one object (faults.md 2.3): beyond it the search may take for
// ever.
const (
	callsMax   = 400
	clientsMax = 8
	unknownMax = 20
	// Patience ends the search in one object.
	Patience = 30 * time.Second
)

// Options say what is judged.
type Options struct {
	// Judged says whether a queue is an object; nil: those whose names begin
	// with generation-.
	Judged func(queue string) bool
	// Effects are the operations of unknown outcome that took effect, with the log
	// time of their entries, as the log shows it; nil: the log is not asked.
	Effects map[int64]int64
	// Repeated are the answered operations that the servers did twice, with the log
	// times of the entry that took effect and of the one that gave the answer. Such
	// an operation is taken for one whose outcome nobody was told: what it answered
	// is of another moment than what it did.
	Repeated map[int64][2]int64
	// Pictures is the folder for a page about each object that is not
	// linearizable; empty: no pages.
	Pictures string
	// Patience of 0 is that of the budget.
	Patience time.Duration
}

// Violation is an object that no FIFO queue explains.
type Violation struct {
	Queue string
	At    int64 // microseconds since the start of the run: its last answer
	Text  string
}

// Report is the verdict over all objects.
type Report struct {
	Objects    int
	Calls      int
	Violations []Violation
	// Unknown are the objects for which the budget was too small.
	Unknown []string
}

// Conclusive says that there were objects, and not more than 2 % of them are unknown.
func (r Report) Conclusive() bool { return r.Objects > 0 && len(r.Unknown)*50 <= r.Objects }

// Check judges each object of a history by itself.
func Check(events []history.Event, o Options) (Report, error) {
	if o.Judged == nil {
		o.Judged = func(queue string) bool { return strings.HasPrefix(queue, "generation-") }
	}
	if o.Patience == 0 {
		o.Patience = Patience
	}
	var report Report
	objects, faults := collect(events, o)
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if err := report.judge(objects[name], faults, o); err != nil {
			return report, err
		}
	}
	return report, nil
}

// collect takes the objects, and the faults for the pictures, out of a history.
func collect(events []history.Event, o Options) (map[string]*object, []porcupine.Annotation) {
	var r history.Rules
	var faults []porcupine.Annotation
	objects := map[string]*object{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case history.KindRun:
			if e.Rules != nil {
				r = *e.Rules
			}
		case history.KindFault:
			faults = append(faults, porcupine.Annotation{Tag: "faults", Start: e.Call, End: e.Return, Description: e.Action, Details: e.Error})
		case history.KindOp:
			if !o.Judged(e.Queue) {
				continue
			}
			if objects[e.Queue] == nil {
				objects[e.Queue] = newObject(e.Queue, &r, o)
			}
			objects[e.Queue].calls = append(objects[e.Queue].calls, e)
		default: // not about clients
		}
	}
	return objects, faults
}

func (r *Report) judge(x *object, faults []porcupine.Annotation, o Options) error {
	list := x.operations()
	if len(list) == 0 {
		return nil
	}
	r.Objects++
	r.Calls += len(list)
	last := x.calls[len(x.calls)-1].Return
	if x.wrong != "" {
		r.Violations = append(r.Violations, Violation{x.queue, last, x.wrong})
		return nil
	}
	if len(list) > callsMax || len(x.clients) > clientsMax || x.unknown > unknownMax {
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %d calls, %d clients, %d of unknown outcome are beyond the budget",
			x.queue, len(list), len(x.clients), x.unknown))
		return nil
	}
	// The lines of the picture are numbered from 0 on.
	number := map[int]int{}
	for i := range list {
		if _, known := number[list[i].ClientId]; !known {
			number[list[i].ClientId] = len(number)
		}
		list[i].ClientId = number[list[i].ClientId]
	}
	m := x.model()
	result, info := porcupine.CheckOperationsVerbose(m, list, o.Patience)
	switch result {
	case porcupine.Unknown:
		r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %d calls, %d of unknown outcome: no answer within %v", x.queue, len(list), x.unknown, o.Patience))
		return nil
	case porcupine.Ok:
		return nil
	default:
	}
	text := fmt.Sprintf("no order of its %d calls explains the answers", len(list))
	if longest := longest(info); longest < len(list) {
		text += fmt.Sprintf("; at most %d of them can be put into an order", longest)
	}
	if o.Pictures != "" {
		info.AddAnnotations(during(faults, list))
		path := filepath.Join(o.Pictures, "linearizability-"+x.queue+".html")
		if err := porcupine.VisualizePath(m, info, path); err != nil {
			return fmt.Errorf("draw %s: %w", x.queue, err)
		}
		text += "; see " + filepath.Base(path)
	}
	r.Violations = append(r.Violations, Violation{x.queue, last, text})
	return nil
}

// longest is how many calls the best order found explains.
func longest(info porcupine.LinearizationInfo) (most int) {
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			most = max(most, len(order))
		}
	}
	return most
}

// during are the faults in the time of the calls.
func during(faults []porcupine.Annotation, list []porcupine.Operation) []porcupine.Annotation {
	first, last := list[0].Call, list[0].Return
	for _, x := range list {
		first, last = min(first, x.Call), max(last, x.Return)
	}
	var some []porcupine.Annotation
	for _, f := range faults {
		if f.End >= first && f.Start <= last {
			some = append(some, f)
		}
	}
	return some
}
