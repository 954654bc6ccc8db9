// Package audit detects a replica whose state differs from the others (faults.md 9).
//
// At each Audit in the log every node notes the hashes of its state and log, and reports
// them to the leader. The leader's next Audit carries all reports, and every node compares
// them. So the comparison itself is replicated.
package audit

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// Policy says how often the replicas are compared: the next comparison is due when both the
// interval and the entries have passed.
type Policy struct {
	Interval time.Duration // default 30s
	Entries  uint64        // of the log; default 10,000
}

// Options configure an Auditor.
type Options struct {
	NodeID  string
	DataDir string // for the record of a difference
	Policy  Policy
	Clock   environment.Clock
	Log     *slog.Logger
}

// Auditor compares this replica with the others. Safe for concurrent use.
type Auditor struct {
	Options
	hashVersion uint32
	outcomes    [outcomeKinds]atomic.Uint64
	split       atomic.Bool
	applied     wakeup.Signal // there are audits to evaluate

	mu          sync.Mutex
	notes       []note                                  // of this node, oldest first, at most notesMax
	reports     map[uint64]map[string]queue.AuditReport // by index and node, as others sent them
	comparisons []comparison                            // not yet evaluated
}

// note is the hashes of this replica at one Audit.
type note struct {
	index  uint64
	hashes hashes
}

// hashes are those of a replica's state and log at one index.
type hashes struct{ state, chain [16]byte }

func (h hashes) report(nodeID string) queue.AuditReport {
	return queue.AuditReport{NodeID: nodeID, State: h.state, Chain: h.chain}
}

// comparison is an applied Audit with the hashes that this node noted at the index it compares.
type comparison struct {
	audit queue.Audit
	own   *hashes // nil if this node has no note for that index
}

// notesMax bounds the notes. The next Audit compares the newest one, but the Audit of a
// new leader may compare an earlier one.
const notesMax = 4

// New returns an Auditor without notes.
func New(o Options) *Auditor {
	return &Auditor{
		Options: o, hashVersion: format.StateHashVersion, applied: wakeup.NewSignal(),
		reports: map[uint64]map[string]queue.AuditReport{},
	}
}

// Applied notes the state at an Audit. It runs on the state machine's goroutine.
func (a *Auditor) Applied(at snapshot.Position, audit *queue.Audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := comparison{audit: *audit}
	for i := range a.notes {
		if a.notes[i].index == audit.Index {
			own := a.notes[i].hashes
			c.own = &own
		}
	}
	a.comparisons = append(a.comparisons, c)
	a.notes = append(a.notes, note{at.Index, hashes{at.StateHash, at.ChainHash}})
	if len(a.notes) > notesMax {
		a.notes = slices.Delete(a.notes, 0, 1)
	}
	for index := range a.reports { // in any order: each is checked by itself
		if index < a.notes[0].index {
			delete(a.reports, index)
		}
	}
	a.applied.Notify()
}

// newest returns the note of the last Audit applied here, with index 0 if there is none.
func (a *Auditor) newest() note {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return note{}
	}
	return a.notes[len(a.notes)-1]
}

// LastIndex returns the log index of the last Audit applied here, 0 if there is none.
func (a *Auditor) LastIndex() uint64 { return a.newest().index }

// Split reports whether two replicas differ and no majority says which is right.
func (a *Auditor) Split() bool { return a.split.Load() }

// reportedMax bounds the audits for which reports are kept. A follower can be ahead of this node by
// one audit; a node that reports more is faulty.
const reportedMax = 2 * notesMax

// Collect keeps the report of another node.
func (a *Auditor) Collect(sent *peerpb.Audit) {
	if sent == nil {
		return // an empty report
	}
	report := queue.AuditReport{NodeID: sent.NodeId}
	if len(sent.State) != len(report.State) || len(sent.Chain) != len(report.Chain) {
		return
	}
	if sent.HashVersion != a.hashVersion {
		a.outcomes[otherVersion].Add(1)
		return
	}
	copy(report.State[:], sent.State)
	copy(report.Chain[:], sent.Chain)
	a.mu.Lock()
	defer a.mu.Unlock()
	reports := a.reports[sent.Index]
	if reports == nil {
		if len(a.reports) >= reportedMax {
			return
		}
		reports = map[string]queue.AuditReport{}
		a.reports[sent.Index] = reports
	}
	reports[report.NodeID] = report
}

// next returns the Audit to write now: the reports of all members on the last one.
func (a *Auditor) next(members []consensus.Member) *queue.Audit {
	cmd := &queue.Audit{HashVersion: a.hashVersion}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return cmd
	}
	own := a.notes[len(a.notes)-1]
	cmd.Index = own.index
	for _, m := range members {
		if m.NodeID == a.NodeID {
			cmd.Reports = append(cmd.Reports, own.hashes.report(a.NodeID))
		} else if report, sent := a.reports[own.index][m.NodeID]; sent {
			cmd.Reports = append(cmd.Reports, report)
		}
	}
	slices.SortFunc(cmd.Reports, func(x, y queue.AuditReport) int { return cmp.Compare(x.NodeID, y.NodeID) })
	return cmd
}

// complete reports whether all other members have reported on the last audit.
func (a *Auditor) complete(members []consensus.Member) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return true
	}
	reports := a.reports[a.notes[len(a.notes)-1].index]
	return !slices.ContainsFunc(members, func(m consensus.Member) bool {
		_, sent := reports[m.NodeID]
		return m.NodeID != a.NodeID && !sent
	})
}

// takeComparisons returns the comparisons that are not yet evaluated.
func (a *Auditor) takeComparisons() []comparison {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.comparisons
	a.comparisons = nil
	return taken
}
