package partition

import (
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// TestGarbledLines alters bytes between the nodes so that the checksums of the network are correct.
func TestGarbledLines(t *testing.T) {
	onlyWithAll(t)
	w := newWorld(t)
	for _, class := range []network.Class{network.Gossip, network.Forward, network.Raft} {
		w.fresh()
		w.policy(network.Garbling("", 0.05).Only(class))
		for end := time.Now().Add(2 * askFor); time.Now().Before(end); {
			_ = w.send(w.Next()) // the ledger checks the result
		}
		t.Logf("%v: %v, running %d", class, w.lab.Traffic().Of("", "", class), len(w.Running()))
		w.policy(network.Heal())
		for _, n := range w.Nodes {
			if !n.Running() {
				t.Logf("%s ended: %s", n.Name, n.LogTail())
				harness.Must(t, n.Start())
			}
		}
		w.heal()
		w.balance()
	}
}
