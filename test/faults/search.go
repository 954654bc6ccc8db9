package faults

import (
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/linearizability"
)

// searchPatience is for one generation; hundreds of them are searched in some
// seconds, so that one which takes longer is beyond reach.
const searchPatience = 10 * time.Second

// search looks for an order in the generations of the workload single (level C):
// by what the clients saw alone, and, if effects is not nil, with what the log
// knows of unknown outcomes. Both must say the same; where the first takes too
// long, the second decides. Both are told what the servers did twice, which no
// answer shows.
func search(events []history.Event, effects map[int64]int64, repeated map[int64][2]int64, pictures string, r *check.Report) error {
	options := linearizability.Options{Pictures: pictures, Patience: searchPatience, Repeated: repeated}
	alone, err := linearizability.Check(events, options)
	if err != nil {
		return fmt.Errorf("search for an order: %w", err)
	}
	r.Counts["order: generations"] = alone.Objects
	r.Counts["order: calls"] = alone.Calls
	r.Counts["order: generations beyond the budget"] = len(alone.Unknown)
	undecided := alone
	for _, v := range alone.Violations {
		r.Violations = append(r.Violations, check.Violation{Invariant: "I11", Checker: "search", At: v.At, Text: v.Queue + ": " + v.Text})
	}
	if effects != nil {
		options.Effects, options.Pictures = effects, ""
		helped, err := linearizability.Check(events, options)
		if err != nil {
			return fmt.Errorf("search for an order: %w", err)
		}
		for _, v := range helped.Violations {
			r.Violations = append(r.Violations, check.Violation{Invariant: "I11", Checker: "search", At: v.At, Text: v.Queue + ", with the log's help: " + v.Text})
		}
		r.Counts["order: generations beyond the budget with the log's help"] = len(helped.Unknown)
		undecided = helped
	}
	if !undecided.Conclusive() {
		r.Leave("%d of %d generations are beyond the search for an order: %v", len(undecided.Unknown), undecided.Objects, undecided.Unknown)
	}
	return nil
}
