package election

import (
	"errors"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// No entry is written during a handover. So a voter that failed to take over is not tried again as
// often as it asks, but another one is.
func TestSuccessorThatDoesNotTakeOver(t *testing.T) {
	const behind, other = "b-2", "c-3"
	clock := clustertest.NewHandClock(0)
	leader := &testNode{id: "a-1", leads: true, leader: "a-1", heard: []string{behind, other}, clock: clock}
	openAll(t, []string{"a-1", behind, other}, leader)
	ctx := clustertest.Context(t)
	ask := func(successor string) { leader.handOver(ctx, question{Leader: "a-1", Term: 5, Successor: successor}) }
	leader.refuses = func(id string) error {
		leader.refuses = nil // once
		ask(other)           // meanwhile
		return errors.New(id + " is behind")
	}
	expect := func(want ...string) {
		t.Helper()
		for _, successor := range want {
			if len(leader.transfers) == 0 {
				t.Fatalf("it was not handed over to %s", successor)
			}
			if got := <-leader.transfers; got != successor {
				t.Errorf("it was handed over to %s, not to %s", got, successor)
			}
		}
		if got := len(leader.transfers); got != 0 {
			t.Errorf("it was handed over %d times too often", got)
		}
	}
	ask(behind)
	expect(behind)
	ask(behind)
	clock.Pass(successorPause - 1)
	ask(behind)
	expect()
	ask(other)
	expect(other)
	clock.Pass(1)
	ask(behind)
	expect(behind)
}
