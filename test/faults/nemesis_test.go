package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLag: entries of the consensus itself are committed and change no state. They
// must not keep a node from counting as caught up, and an entry that is missing
// must.
func TestLag(t *testing.T) {
	metrics := func(applied int) string {
		return fmt.Sprintf("# HELP seriatim_raft_applied_index Highest\nseriatim_raft_applied_index %d\nseriatim_raft_commit_index 12\n", applied)
	}
	for _, c := range []struct {
		name, metrics, want string
	}{
		{"all applied", metrics(12), ""},
		{"more than was asked for", metrics(13), ""},
		{"one entry is missing", metrics(11), "applied 11 of 12"},
		{"two entries are missing", metrics(10), "applied 10 of 12"},
		{"no metrics", "", "applied 0 of 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lag(c.metrics, 12); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestABreachIsToldFromAFaultThatCouldNotBeDone: it survives being joined with the
// errors of mending.
func TestABreachIsToldFromAFaultThatCouldNotBeDone(t *testing.T) {
	var seen breach
	if err := errors.Join(errBusy, broke("I17", "%s goes on", "n1")); !errors.As(err, &seen) || seen.invariant != "I17" {
		t.Errorf("the breach was lost: %v", err)
	}
	if errors.As(errBusy, &seen) && seen.invariant != "I17" {
		t.Error("a busy node is no breach")
	}
}

// TestANightEndsWithWhatItMust: a run of 90 s on a busy machine ended before chance had drawn
// the one fault that it must do, and before the replicas were compared often enough.
func TestANightEndsWithWhatItMust(t *testing.T) {
	plan := Run{Profile: Night, Seed: 1}.schedule(&stage{})
	if !slices.Equal(plan.demanded, []string{"kill leader"}) || plan.agreements < 2 {
		t.Fatalf("it must do %v, and agree %d times", plan.demanded, plan.agreements)
	}
	if owed := plan.owed(); len(owed) != 1 {
		t.Errorf("%d faults are owed", len(owed))
	}
	plan.ranOnce("kill leader")
	plan.agreed = plan.agreements
	plan.complete(t.Context()) // returns, as nothing is owed
	for _, profile := range []Profile{Quick, Smoke, Five, Soak, Fixed} {
		if (Run{Profile: profile}).longer() != 0 {
			t.Errorf("a run of profile %s takes longer than asked for", profile)
		}
	}
}

// TestScenariosNameFaults: one about a fault that nobody can do would do nothing.
func TestScenariosNameFaults(t *testing.T) {
	names := map[string]bool{leaderRemoved: true}
	for _, faults := range [][]fault{
		processFaults(), starvationFaults(), snapshotFaults(), demandedSnapshots(), memberFaults(), bodyFaults(), networkFaults(), clockFaults(), failpointFaults(), diskFaults(), diskCombinations(true, true),
	} {
		for _, f := range faults {
			if names[f.name] {
				t.Errorf("two faults have the name %q", f.name)
			}
			names[f.name] = true
		}
	}
	for _, x := range Scenarios() {
		if strings.Contains(x.Name, "'") {
			t.Errorf("make faults quotes the name %q for a shell", x.Name)
		}
		if len(x.must) == 0 {
			t.Errorf("%s: nothing says that it did what it is about", x.Name)
		}
		for _, must := range x.must {
			if name, isFault := strings.CutPrefix(must, "fault "); isFault && !names[name] {
				t.Errorf("%s: there is no fault %q", x.Name, name)
			}
		}
	}
	for _, name := range smokeOrder {
		if !names[name] {
			t.Errorf("the smoke run names a fault %q that there is not", name)
		}
	}
}
