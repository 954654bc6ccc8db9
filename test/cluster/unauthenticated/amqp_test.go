package unauthenticated

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/attacker"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// memoryGrowthMax bounds what an attack may add to the memory of a node.
const memoryGrowthMax = 512 << 20

// TestAMQPAttacks measures clients beside attacks by AMQP, from callers without a key and from those
// that have one: without auth, all have. It runs in `make unauthenticated`.
func TestAMQPAttacks(t *testing.T) {
	if *turns == 0 {
		t.Skip("it measures: run make unauthenticated")
	}
	for name, start := range map[string]func(*testing.T) *harness.Cluster{
		"without a key": startWithKeys,
		"with a key":    func(t *testing.T) *harness.Cluster { return harness.New(t, harness.Options{Binary: binary}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			leader, err := c.WaitLeader(t.Context(), idleTimeout)
			harness.Must(t, err)
			signed := startClients(t, c, len(c.Nodes))
			signed.awaitCalls(100)
			for _, attack := range []attacker.AMQP{
				attacker.SASL, attacker.Noise, attacker.Links, attacker.Windows, attacker.Parts, attacker.Unread,
			} {
				flood := attacker.Flood{AMQP: attack, Conns: 20}
				for _, n := range c.Nodes {
					flood.Addresses = append(flood.Addresses, n.Client)
				}
				t.Run(string(attack), func(t *testing.T) {
					memory := measured(t, leader, "process_resident_memory_bytes")
					measureFlood(t, leader, signed, flood, callsOf(turn))
					grown := measured(t, leader, "process_resident_memory_bytes") - memory
					t.Logf("%s: %.0f MiB more at the leader", fmt.Sprint(flood.AMQP), grown/(1<<20))
					if grown > memoryGrowthMax {
						t.Errorf("%.0f bytes more, at most %d are expected", grown, memoryGrowthMax)
					}
				})
			}
			signed.finish()
		})
	}
}
