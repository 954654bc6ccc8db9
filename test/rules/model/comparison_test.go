package model

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

var (
	seedsFlag    = flag.Int("seeds", fromEnvironment("SERIATIM_MODEL_SEEDS", 3), "number of random histories")
	commandsFlag = flag.Int("commands", fromEnvironment("SERIATIM_MODEL_COMMANDS", 2000), "commands per history")
	seedFlag     = flag.Uint64("seed", 0, "run this seed only")
)

func fromEnvironment(name string, other int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return other
	}
	return n
}

// generate runs one random history in a new world. It returns the history and the difference that
// ended it.
func generate(w *world, seed uint64, commands int) ([]step, *difference) {
	g := newGenerator(seed, w)
	var steps []step
	for range commands {
		s := g.step()
		steps = append(steps, s)
		if d := w.do(s); d != nil {
			return steps, d
		}
		g.saw(s)
	}
	return steps, w.finish(steps)
}

// TestComparison is the comparison of faults.md 7.1.
func TestComparison(t *testing.T) {
	first, last := uint64(1), uint64(*seedsFlag)
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	all := tally{hits: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed <= last; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				fresh := func() *world { return newWorld(seed, twinsOf(seed)) }
				w := fresh()
				steps, d := generate(w, seed, *commandsFlag)
				if d != nil {
					t.Fatal(report("TestComparison", seed, shrink(fresh, steps, d)))
				}
				all.add(len(steps), w.hits)
			})
		}
	})
	if !t.Failed() {
		t.Logf("%d commands over %d seeds without a difference", all.commands, last-first+1)
	}
	if testing.Verbose() {
		for _, what := range slices.Sorted(maps.Keys(all.hits)) {
			t.Logf("%8d %s", all.hits[what], what)
		}
	}
	if !t.Failed() && *seedFlag == 0 && all.commands >= 50_000 {
		requireReached(t, all.hits)
	}
}

// tally adds up the counts of the histories. Safe for concurrent use.
type tally struct {
	mutex    sync.Mutex
	commands int
	hits     map[string]int
}

func (a *tally) add(commands int, hits map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.commands += commands
	for what, n := range hits {
		a.hits[what] += n
	}
}

// requireReached fails if a long run never met an event, because it then proved nothing about it
// (faults.md 2.4).
func requireReached(t *testing.T, hits map[string]int) {
	t.Helper()
	for _, what := range []string{
		"message", "duplicate", "delivery", "redelivery", "replay", "empty receive", "moved",
		"dead letter of dead", "dead letter of dead.fifo", "send entry refused OverLimit",
		"entry refused ReceiptHandleIsInvalid", "entry refused InvalidParameterValue",
		"published", "published again", "published again, still scheduled", "published on schedule", "cancelled in a topic",
		"model.publish refused Throttled", "arrived from a topic", "filtered", "deduplicated by a queue",
		"changed by a rule", "failed rule",
		"dead letter of a subscription", "lost by a subscription", "delivery of a publish", "delivery of a dead-lettered publish",
		"session accepted", "no free session", "session taken away", "received in a session", "received and deleted",
		"complete in a session", "abandon in a session", "defer in a session", "dead-letter in a session", "defer", "dead-letter",
		"committed complete", "committed abandon", "committed give back", "committed defer", "committed dead-letter", "committed send",
		"committed publish", "committed settlement and send", "model.commit refused MessageLockLost",
		"model.commit refused SessionLockLost",
		"fetched", "fetched publish", "cancelled", "cancelled and forgotten", "released from flight",
		"model.forgetID", "entry refused MessageNotFound", "entry refused MessageLockLost", "entry refused SessionLockLost",
		"looked at for a replay", "arrived from an archive", "replay with more to come", "delivery of a replay",
		"deleted by an operator", "moved by an operator", "entry refused MessageInFlight",
		"send entry refused QuotaExceeded", "model.send refused EntityDisabled", "model.receive refused EntityDisabled",
		"dead letter of forward-transferdlq.fifo", "dead letter of middle-dlq.fifo", "forwarded dead letter",
		"model.publish refused EntityDisabled", "model.publish refused QuotaExceeded",
		"idle queue", "idle topic",
		"model.accept refused SessionCannotBeLocked", "model.setTopic", "model.setSubscription",
	} {
		if hits[what] < 20 {
			t.Errorf("the histories met %q only %d times", what, hits[what])
		}
	}
}

// TestHistoriesRepeat checks that equal seeds give equal histories.
func TestHistoriesRepeat(t *testing.T) {
	first, _ := generate(newWorld(7, onlyPlain()), 7, 300)
	second, _ := generate(newWorld(7, onlyPlain()), 7, 300)
	if a, b := fmt.Sprint(first), fmt.Sprint(second); a != b {
		t.Fatalf("two runs of one seed differ:\n%.2000s\n\n%.2000s", a, b)
	}
}
