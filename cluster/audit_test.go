package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// busyAudits lets a node audit after every write.
func busyAudits(cfg *Config) {
	cfg.Log.Audit = AuditPolicy{Interval: busyInterval, Entries: 1}
}

// A replica that differs from two others is found within two audits and stops;
// the others go on (faults.md 9).
func TestAuditFindsAPlantedDivergence(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"follower", "leader"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			var fatal []*clustertest.FatalRecord
			c := startNodes(t, 3, func(cfg *Config) {
				busyAudits(cfg)
				record := clustertest.NewFatalRecord()
				fatal = append(fatal, record)
				cfg.Fatal = record.Fatal
			})
			c.create(0, standard)
			c.send(0, standard, "a")
			c.send(0, standard, "b")
			c.waitFor("an audit that compares three", func() bool {
				c.send(0, standard, "more")
				return equalAudits(c.nodes[c.leader()]) > 0
			})
			odd := c.leader()
			if victim == "follower" {
				odd = c.followers()[0]
			}
			others := []int{(odd + 1) % 3, (odd + 2) % 3}
			plantDifference(c.nodes[odd])
			before := c.nodes[odd].auditor.LastIndex()
			c.waitFor("the odd node to stop", func() bool {
				c.send(others[0], standard, "more")
				codes, _ := fatal[odd].All()
				return len(codes) > 0
			})
			codes, errs := fatal[odd].All()
			if codes[0] != fault.ExitStateMismatch || !errors.Is(errs[0], format.ErrStateMismatch) {
				t.Fatalf("ended with %d, %v", codes[0], errs[0])
			}
			dumps, err := filepath.Glob(filepath.Join(c.configs[odd].DataDir, "divergence-*.json"))
			if err != nil || len(dumps) == 0 || !strings.Contains(errs[0].Error(), dumps[0]) {
				t.Fatalf("dumps %v, %v, the error is %v", dumps, err, errs[0])
			}
			var dump struct {
				NodeID     string            `json:"nodeId"`
				AuditIndex uint64            `json:"auditIndex"`
				Reports    []json.RawMessage `json:"reports"`
			}
			if content, err := os.ReadFile(dumps[0]); err != nil || json.Unmarshal(content, &dump) != nil {
				t.Fatalf("the dump: %v, %s", err, content)
			}
			if dump.AuditIndex <= before || len(dump.Reports) < 2 || dump.NodeID != c.nodes[odd].process.nodeID {
				t.Errorf("dump %+v, the last audit before was at %d", dump, before)
			}
			for _, i := range others {
				if codes, errs := fatal[i].All(); len(codes) > 0 {
					t.Errorf("node %d stopped, too: %v %v", i, codes, errs)
				}
			}
			c.crash(odd)
			c.send(others[0], standard, "after")
		})
	}
}

// equalAudits counts the audits that found all replicas equal.
func equalAudits(n *Node) (equal uint64) {
	n.auditor.Outcomes(func(outcome string, count uint64) {
		if outcome == "equal" {
			equal = count
		}
	})
	return equal
}

// plantDifference changes the state of one replica only, as if it had applied an entry differently.
func plantDifference(n *Node) {
	n.stateLock.Lock()
	defer n.stateLock.Unlock()
	b := n.replica.Broker()
	if _, err := b.Apply(b.Now(), &queue.PurgeQueue{Queue: standard}); err != nil {
		panic(err)
	}
}

// An idle cluster writes no audits.
func TestNoAuditsWhenIdle(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, busyAudits)
	c.create(0, standard)
	n := c.nodes[0]
	c.waitFor("the audit of the last write", func() bool {
		return n.auditor.LastIndex() == n.replica.AppliedIndex()
	})
	last := n.group.Stats().LastIndex
	for range 10 { // ten ticks in which an audit could be written
		pause := time.NewTimer(busyInterval)
		<-pause.C
	}
	if now := n.group.Stats().LastIndex; now != last {
		t.Errorf("%d entries in an idle cluster", now-last)
	}
}

const busyInterval = 40 * time.Millisecond

// Two replicas differ and there is no third to decide between them: sends are refused and all other
// commands succeed, until the third is back and the replica that differs from both stops.
func TestTwoThatDifferTakeNoSends(t *testing.T) {
	t.Parallel()
	var fatal []*clustertest.FatalRecord
	c := startNodes(t, 3, func(cfg *Config) {
		busyAudits(cfg)
		record := clustertest.NewFatalRecord()
		fatal = append(fatal, record)
		cfg.Fatal = record.Fatal
	})
	c.create(0, standard)
	c.create(0, fifo)
	for i := range 8 {
		c.send(0, standard, "m")
		c.send(0, fifo, string(rune('a'+i)))
	}
	c.agree()
	followers := c.followers()
	third, odd := followers[0], followers[1]
	leader := c.leader()
	c.crash(third)
	plantDifference(c.nodes[odd])
	c.waitFor("sends to be refused", func() bool { return c.refusing(leader, standard, "more") })
	for _, i := range []int{leader, odd} {
		if p := c.refusedSend(i, standard, "more"); !strings.Contains(p.Reason, "differ") {
			t.Errorf("node %d refused as %q", i, p.Reason)
		}
		c.worksButForSends(i, fifo)
		if codes, errs := fatal[i].All(); len(codes) > 0 {
			t.Errorf("node %d stopped: %v", i, errs)
		}
	}
	c.open(third)
	c.waitReady(third)
	c.waitFor("the odd one to stop", func() bool {
		codes, _ := fatal[odd].All()
		return len(codes) > 0 && codes[0] == fault.ExitStateMismatch
	})
	c.waitFor("sends to be taken", func() bool { return !c.refusing(leader, standard, "more") })
}
