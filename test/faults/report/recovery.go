package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Recovery has the effects of a kind of fault, in microseconds. For each injection: the longest
// time without an acknowledged send, and the time from healing until every node served again.
// If faults overlap, an effect counts for all of them.
type Recovery struct {
	Fault  string
	Silent []int64
	Healed []int64
}

// acknowledged reports whether a message was accepted, which needs a majority. A node can give some
// other answers alone.
func acknowledged(e *history.Event) bool {
	return e.Kind == history.KindOp && e.Result == history.OK && e.Error == "" &&
		(e.Action == history.Send || e.Action == history.SendBatch)
}

// silenceAfter is the time after its end in which a fault still counts as a cause.
const silenceAfter = 2_000_000

// Recoveries returns the effects of all successful injections in a history.
func Recoveries(events []history.Event) []Recovery {
	var answered []int64
	var lives []history.Event
	for _, e := range events {
		switch {
		case acknowledged(&e):
			answered = append(answered, e.Return)
		case e.Kind == history.KindLive && e.Result == history.OK:
			lives = append(lives, e)
		}
	}
	slices.Sort(answered)
	byName := map[string]*Recovery{}
	for _, e := range events {
		if e.Kind != history.KindFault || e.Error != "" {
			continue
		}
		r := byName[e.Action]
		if r == nil {
			r = &Recovery{Fault: e.Action}
			byName[e.Action] = r
		}
		r.Silent = append(r.Silent, silence(answered, e.Call, e.Return+silenceAfter))
		if healed, found := healing(lives, e.Return); found {
			r.Healed = append(r.Healed, healed)
		}
	}
	var all []Recovery
	for _, r := range byName {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Recovery) int { return cmp.Compare(a.Fault, b.Fault) })
	return all
}

// Merge combines the recoveries of the parts of a run.
func Merge(parts ...[]Recovery) []Recovery {
	byName := map[string]*Recovery{}
	for _, r := range slices.Concat(parts...) {
		if all := byName[r.Fault]; all != nil {
			all.Silent, all.Healed = append(all.Silent, r.Silent...), append(all.Healed, r.Healed...)
			continue
		}
		byName[r.Fault] = &r
	}
	var all []Recovery
	for _, r := range byName {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Recovery) int { return cmp.Compare(a.Fault, b.Fault) })
	return all
}

// silence returns the longest time between two acknowledged sends that overlaps the time between
// from and to.
func silence(answered []int64, from, to int64) int64 {
	longest := int64(0)
	first, _ := slices.BinarySearch(answered, from)
	for i := max(first, 1); i < len(answered) && answered[i-1] <= to; i++ {
		longest = max(longest, answered[i]-max(answered[i-1], from))
	}
	return longest
}

// healing returns the duration of the first round of demands after a time.
func healing(lives []history.Event, after int64) (int64, bool) {
	begin := int64(-1)
	longest := int64(0)
	for _, e := range lives {
		switch {
		case e.Call < after:
		case begin < 0 || e.Call == begin:
			begin = e.Call
			longest = max(longest, e.Return-e.Call)
		}
	}
	return longest, begin >= 0
}

// Median returns the median of a list of times, 0 if it is empty.
func Median(times []int64) int64 {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// Worst returns the longest of a list of times, 0 if it is empty.
func Worst(times []int64) int64 {
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times)
}

// gap is a time without any acknowledged send.
type gap struct {
	From, Length int64
	Faults       string
}

// gapLeast is the shortest gap that is listed.
const gapLeast = 1_000_000

// gaps returns the longer times without an acknowledged send, with the faults at the time.
func gaps(events []history.Event) []gap {
	var answered []int64
	for _, e := range events {
		if acknowledged(&e) {
			answered = append(answered, e.Return)
		}
	}
	slices.Sort(answered)
	var found []gap
	for i := 1; i < len(answered); i++ {
		if answered[i]-answered[i-1] < gapLeast {
			continue
		}
		g := gap{From: answered[i-1], Length: answered[i] - answered[i-1]}
		var names []string
		for _, e := range events {
			if e.Kind == history.KindFault && e.Call <= answered[i] && g.From <= e.Return+silenceAfter {
				names = append(names, e.Action)
			}
		}
		g.Faults = strings.Join(names, ", ")
		found = append(found, g)
	}
	return found
}
