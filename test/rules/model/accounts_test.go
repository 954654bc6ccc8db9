package model

import (
	"strconv"
	"testing"

	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// generateAccounts runs one history of several accounts, and compares their usage after every step.
func generateAccounts(w *world, seed uint64, commands int) ([]step, *difference) {
	g := newAccountGenerator(seed, w)
	var steps []step
	for range commands {
		s := g.step()
		steps = append(steps, s)
		if d := w.do(s); d != nil {
			return steps, d
		}
		if text := w.compareAccounts(); text != "" {
			return steps, &difference{s, text}
		}
		g.saw(s)
	}
	return steps, w.finish(steps)
}

// compareAccounts compares the usage of accounts.
func (w *world) compareAccounts() string {
	view := w.plain().View()
	for _, owner := range append(w.model.Accounts(), "") {
		if d := w.oracle.CompareUsage(owner, view.Usage(owner)); d != nil {
			return d.Text
		}
	}
	return ""
}

// TestAccounts compares histories of several accounts: names, quotas of queues, topics, messages
// and bytes, and that no account has access to another one.
func TestAccounts(t *testing.T) {
	first, last := uint64(1), uint64(*seedsFlag)
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	all := tally{hits: map[string]int{}}
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed <= last; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				w := newWorld(seed, twinsOf(seed))
				steps, d := generateAccounts(w, seed, *commandsFlag)
				if d != nil {
					t.Fatal(report("TestAccounts", seed, shrink(seed, steps, d)))
				}
				all.add(len(steps), w.hits)
			})
		}
	})
	if t.Failed() || *seedFlag != 0 || all.commands < 50_000 {
		return
	}
	for _, what := range []string{
		"message", "duplicate", "delivery", "dead letter of 111111111111/dead.fifo", "moved", "published", "arrived from a topic",
		"send entry refused OverLimit", "model.publish refused", "model.createQueue refused", "model.createTopic refused",
		"model.startMove refused", "model.createAccount refused", "model.deleteAccount refused", "model.setAttributes refused",
		"model.subscribe refused",
	} {
		if all.hits[what] < 20 {
			t.Errorf("the histories met %q only %d times", what, all.hits[what])
		}
	}
	if gone := all.hits["model.deleteAccount"] - all.hits["model.deleteAccount refused"]; gone < 20 {
		t.Errorf("only %d accounts were deleted", gone)
	}
}

// TestPlantedAccountBug is TestPlantedBugs for the rules of accounts.
func TestPlantedAccountBug(t *testing.T) {
	const seeds, commands = 20, 2000
	for seed := uint64(1); seed <= seeds; seed++ {
		if steps, d := generateAccounts(newWorld(seed, onlyPlain(), reference.QuotaOneMore), seed, commands); d != nil {
			t.Logf("found by seed %d after %d commands: %.200s", seed, len(steps), d.text)
			return
		}
	}
	t.Fatalf("%d histories of %d commands did not find it", seeds, commands)
}
