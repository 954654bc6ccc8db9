package cluster

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

func TestAuditFinding(t *testing.T) {
	value := func(b byte) auditValue { return auditValue{[16]byte{b}, [16]byte{9}} }
	reports := func(values string) (reports []queue.AuditReport) {
		for i, b := range []byte(values) {
			reports = append(reports, value(b).report(string(rune('a'+i))))
		}
		return reports
	}
	own := func(b byte) *auditValue { v := value(b); return &v }
	cases := []struct {
		name    string
		reports string // the first is of node a, this one
		own     *auditValue
		want    auditFinding
		odd     []string
	}{
		{"nobody reported", "", own(1), auditIncomplete, nil},
		{"alone", "1", own('1'), auditIncomplete, nil},
		{"all equal", "111", own('1'), auditEqual, nil},
		{"two equal, one silent", "11", own('1'), auditEqual, nil},
		{"this one is odd", "211", own('2'), auditThisOdd, []string{"a"}},
		{"another is odd", "112", own('1'), auditOthersOdd, []string{"c"}},
		{"another is odd and this one was not there", "112", nil, auditOthersOdd, []string{"c"}},
		{"two differ", "12", own('1'), auditUndecided, nil},
		{"three differ", "123", own('1'), auditUndecided, nil},
		{"two against two", "1122", own('1'), auditUndecided, nil},
		{"two against three", "11222", own('1'), auditThisOdd, []string{"a", "b"}},
		{"three against two", "11122", own('1'), auditOthersOdd, []string{"d", "e"}},
		{"two equal, of five", "11234", own('1'), auditUndecided, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, odd := auditCase{audit: queue.Audit{Reports: reports(c.reports)}, own: c.own}.finding("a")
			if diff := cmp.Diff(c.odd, odd); got != c.want || diff != "" {
				t.Errorf("got %d, want %d, odd (-want +got):\n%s", got, c.want, diff)
			}
		})
	}
	t.Run("what this one noted counts, although it was not reported", func(t *testing.T) {
		c := auditCase{audit: queue.Audit{Reports: reports("12")}, own: own('2')}
		if got, odd := c.finding("z"); got != auditOthersOdd || !cmp.Equal(odd, []string{"a"}) {
			t.Errorf("got %d, odd %v", got, odd)
		}
	})
}

// Hashes of another definition say nothing.
func TestAuditsOfOtherVersions(t *testing.T) {
	a := newAuditor(t.TempDir(), slog.New(slog.DiscardHandler))
	a.nodeID = "a"
	a.applied(snapshot.Position{Index: 7, StateHash: [16]byte{1}}, &queue.Audit{HashVersion: a.hashVersion})
	told := func(node string, version uint32, state byte) {
		hash := [16]byte{state}
		a.collect(&peerpb.Audit{NodeId: node, HashVersion: version, Index: 7, State: hash[:], Chain: make([]byte, 16)})
	}
	told("b", a.hashVersion+1, 2)
	told("c", a.hashVersion, 3)
	a.collect(&peerpb.Audit{NodeId: "d", HashVersion: a.hashVersion, Index: 7, State: []byte{4}})
	members := []Member{{NodeID: "d"}, {NodeID: "c"}, {NodeID: "b"}, {NodeID: "a"}}
	want := &queue.Audit{HashVersion: a.hashVersion, Index: 7, Reports: []queue.AuditReport{
		{NodeID: "a", State: [16]byte{1}}, {NodeID: "c", State: [16]byte{3}},
	}}
	if diff := cmp.Diff(want, a.next(members)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(1, len(a.next(members[3:]).Reports)); diff != "" {
		t.Errorf("a node that is no member was counted")
	}
	want.HashVersion++
	if err := a.judge(auditCase{audit: *want, own: &auditValue{}}, snapshot.Position{}); err != nil || a.counts.otherVersion.Load() != 2 {
		t.Errorf("an audit of another version was judged: %v", err)
	}
}

// busyAudits makes audits come after every write.
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
				return c.nodes[c.leader()].auditor.counts.equal.Load() > 0
			})
			odd := c.leader()
			if victim == "follower" {
				odd = c.followers()[0]
			}
			others := []int{(odd + 1) % 3, (odd + 2) % 3}
			plantDifference(c.nodes[odd])
			before := c.nodes[odd].auditor.newest().index
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
			var dump auditDump
			if content, err := os.ReadFile(dumps[0]); err != nil || json.Unmarshal(content, &dump) != nil {
				t.Fatalf("the dump: %v, %s", err, content)
			}
			if dump.AuditIndex <= before || len(dump.Reports) < 2 || dump.NodeID != c.nodes[odd].auditor.nodeID {
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

// plantDifference deletes a message on one replica only, as a rule that decides otherwise
// there would.
func plantDifference(n *Node) {
	n.stateLock.Lock()
	defer n.stateLock.Unlock()
	b := n.replica.Broker()
	if _, err := b.Apply(b.Now(), &queue.PurgeQueue{Queue: standard}); err != nil {
		panic(err)
	}
}

// Reports that are late are waited for, else a slow node is never compared, and
// those of a node that is down are not waited for long.
func TestAuditWaitsForReports(t *testing.T) {
	a := newAuditor("", slog.New(slog.DiscardHandler))
	a.nodeID = "a"
	members := []Member{{NodeID: "a"}, {NodeID: "b"}, {NodeID: "c"}}
	if !a.heard(members) {
		t.Error("before the first audit there is nothing to wait for")
	}
	a.applied(snapshot.Position{Index: 7}, &queue.Audit{})
	for _, node := range []string{"b", "c"} {
		if a.heard(members) {
			t.Errorf("heard all before %s reported", node)
		}
		a.collect(&peerpb.Audit{NodeId: node, HashVersion: a.hashVersion, Index: 7, State: make([]byte, 16), Chain: make([]byte, 16)})
	}
	if !a.heard(members) {
		t.Error("all reported, and still waiting")
	}

	hand := clustertest.NewHandClock(1_000_000)
	k := auditClock{auditor: a, clock: hand, policy: AuditPolicy{Interval: time.Second}}
	a.split.Store(true)
	a.applied(snapshot.Position{Index: 8}, &queue.Audit{})
	k.last = hand.Monotonic()
	if k.due(members) {
		t.Error("due without the reports")
	}
	hand.Pass(reportIntervalsMax * time.Second)
	if !k.due(members) {
		t.Error("not due, although it waited long enough")
	}
}

// An idle cluster writes no audits.
func TestNoAuditsWhenIdle(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 1, busyAudits)
	c.create(0, standard)
	n := c.nodes[0]
	c.waitFor("the audit of the last write", func() bool {
		return n.auditor.newest().index == n.replica.AppliedIndex()
	})
	last := n.group.Stats().LastIndex
	for range 10 { // as many chances to write one as the ticker gives
		pause := time.NewTimer(busyInterval)
		<-pause.C
	}
	if now := n.group.Stats().LastIndex; now != last {
		t.Errorf("%d entries in an idle cluster", now-last)
	}
}

const busyInterval = 40 * time.Millisecond

// Two replicas that differ, and no third to say which is right: sends are refused
// and all else goes on, until the third is back and the odd one stops.
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
