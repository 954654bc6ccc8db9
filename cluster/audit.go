package cluster

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/forward"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// auditor detects that this replica differs from the others (faults.md 9). At each Audit
// in the log every node notes the hashes of its state and log, and reports them to the
// leader. The leader's next Audit carries all reports, and every node compares them. So
// the comparison itself is replicated. Safe for concurrent use.
type auditor struct {
	nodeID      string
	dataDir     string
	hashVersion uint32
	log         *slog.Logger
	counts      auditCounters
	// split is set while two replicas differ and no majority says which is right.
	split atomic.Bool
	wake  wakeup.Signal // there are audits to judge

	mu        sync.Mutex
	notes     []auditNote                             // of this node, oldest first, at most auditNotesMax
	collected map[uint64]map[string]queue.AuditReport // by index and node, as others reported
	unjudged  []auditCase
}

// auditNote is the hashes of this replica at one Audit.
type auditNote struct {
	index uint64
	auditValue
}

// auditValue is the hashes of a replica's state and log at one index.
type auditValue struct{ state, chain [16]byte }

func (v auditValue) report(nodeID string) queue.AuditReport {
	return queue.AuditReport{NodeID: nodeID, State: v.state, Chain: v.chain}
}

// auditCase is the content of an Audit with what this node noted at the index that it
// compares.
type auditCase struct {
	audit queue.Audit
	own   *auditValue // nil if this node noted nothing there
}

// auditCounters count the outcomes of audits.
type auditCounters struct {
	equal, different, undecided, incomplete, otherVersion atomic.Uint64
}

// auditNotesMax is how many notes are kept. The newest is compared next, but an Audit of
// a new leader may compare an earlier one.
const auditNotesMax = 4

func newAuditor(dataDir string, log *slog.Logger) *auditor {
	return &auditor{
		dataDir:     dataDir,
		hashVersion: format.StateHashVersion,
		log:         log,
		wake:        wakeup.NewSignal(),
		collected:   map[uint64]map[string]queue.AuditReport{},
	}
}

// applied notes the state at an Audit. It runs on the state machine's goroutine.
func (a *auditor) applied(at snapshot.Position, audit *queue.Audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := auditCase{audit: *audit}
	for i := range a.notes {
		if a.notes[i].index == audit.Index {
			own := a.notes[i].auditValue
			c.own = &own
		}
	}
	a.unjudged = append(a.unjudged, c)
	a.notes = append(a.notes, auditNote{at.Index, auditValue{at.StateHash, at.ChainHash}})
	if len(a.notes) > auditNotesMax {
		a.notes = slices.Delete(a.notes, 0, 1)
	}
	for index := range a.collected { // order does not matter: each stands for itself
		if index < a.notes[0].index {
			delete(a.collected, index)
		}
	}
	a.wake.Notify()
}

// newest is the last Audit applied here, index 0 if none was.
func (a *auditor) newest() auditNote {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return auditNote{}
	}
	return a.notes[len(a.notes)-1]
}

// collectedMax bounds the audits for which reports are kept. A follower can be ahead of
// this node by one audit; more is a mistake of the sender.
const collectedMax = 2 * auditNotesMax

// collect keeps the report of another node.
func (a *auditor) collect(told *peerpb.Audit) {
	if told == nil {
		return // an empty report
	}
	report := queue.AuditReport{NodeID: told.NodeId}
	if len(told.State) != len(report.State) || len(told.Chain) != len(report.Chain) {
		return
	}
	if told.HashVersion != a.hashVersion {
		a.counts.otherVersion.Add(1)
		return
	}
	copy(report.State[:], told.State)
	copy(report.Chain[:], told.Chain)
	a.mu.Lock()
	defer a.mu.Unlock()
	reports := a.collected[told.Index]
	if reports == nil {
		if len(a.collected) >= collectedMax {
			return
		}
		reports = map[string]queue.AuditReport{}
		a.collected[told.Index] = reports
	}
	reports[report.NodeID] = report
}

// next is the Audit to write now: the reports of all members on the last one.
func (a *auditor) next(members []Member) *queue.Audit {
	cmd := &queue.Audit{HashVersion: a.hashVersion}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return cmd
	}
	own := a.notes[len(a.notes)-1]
	cmd.Index = own.index
	for _, m := range members {
		if m.NodeID == a.nodeID {
			cmd.Reports = append(cmd.Reports, own.report(a.nodeID))
		} else if report, told := a.collected[own.index][m.NodeID]; told {
			cmd.Reports = append(cmd.Reports, report)
		}
	}
	slices.SortFunc(cmd.Reports, func(x, y queue.AuditReport) int { return cmp.Compare(x.NodeID, y.NodeID) })
	return cmd
}

// heard reports whether the reports of all members on the last audit are here.
func (a *auditor) heard(members []Member) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 {
		return true
	}
	reports := a.collected[a.notes[len(a.notes)-1].index]
	return !slices.ContainsFunc(members, func(m Member) bool {
		_, told := reports[m.NodeID]
		return m.NodeID != a.nodeID && !told
	})
}

// takeCases are the audits not yet judged.
func (a *auditor) takeCases() []auditCase {
	a.mu.Lock()
	defer a.mu.Unlock()
	cases := a.unjudged
	a.unjudged = nil
	return cases
}

// auditFinding is what an Audit says.
type auditFinding int

const (
	// auditIncomplete: fewer than two nodes were compared.
	auditIncomplete auditFinding = iota
	auditEqual
	// auditThisOdd: at least two others agree, as a majority of those compared, and
	// this node differs from them.
	auditThisOdd
	// auditOthersOdd: this node agrees with that majority and others differ.
	auditOthersOdd
	// auditUndecided: they differ, and no majority says which is right.
	auditUndecided
)

// finding compares the reports of an Audit with each other and with what this
// node noted, which need not be among them. odd are the nodes outside of the
// majority.
func (c auditCase) finding(nodeID string) (finding auditFinding, odd []string) {
	reports := c.audit.Reports
	if c.own != nil && !slices.ContainsFunc(reports, func(r queue.AuditReport) bool { return r.NodeID == nodeID }) {
		reports = append(slices.Clone(reports), c.own.report(nodeID))
	}
	if len(reports) < 2 {
		return auditIncomplete, nil
	}
	votes := map[auditValue]int{}
	var right auditValue
	for _, r := range reports {
		v := auditValue{r.State, r.Chain}
		votes[v]++
		if votes[v] > votes[right] {
			right = v
		}
	}
	if votes[right] < 2 || 2*votes[right] <= len(reports) {
		return auditUndecided, nil
	}
	for _, r := range reports {
		if (auditValue{r.State, r.Chain}) != right {
			odd = append(odd, r.NodeID)
		}
	}
	switch {
	case c.own != nil && *c.own != right:
		return auditThisOdd, odd
	case len(odd) > 0:
		return auditOthersOdd, odd
	default:
		return auditEqual, nil
	}
}

// judge acts on the finding of an audit. Its error ends the process.
func (a *auditor) judge(c auditCase, at snapshot.Position) error {
	if c.audit.HashVersion != a.hashVersion {
		a.counts.otherVersion.Add(1)
		return nil
	}
	finding, odd := c.finding(a.nodeID)
	switch finding {
	case auditIncomplete:
		a.counts.incomplete.Add(1)
	case auditEqual:
		a.counts.equal.Add(1)
		a.endAlarm()
	case auditOthersOdd:
		a.counts.different.Add(1)
		a.log.Error("a replica differs from the others, its node has to stop", "index", c.audit.Index, "nodes", odd)
		a.endAlarm()
	case auditUndecided:
		a.counts.undecided.Add(1)
		a.split.Store(true)
		a.log.Error("replicas differ and no majority says which is right; sends are refused until they agree", "index", c.audit.Index, "reports", describeReports(c.audit.Reports))
	case auditThisOdd:
		a.counts.different.Add(1)
		dump, err := a.dump(c, at)
		if err != nil {
			a.log.Error("the dump of the difference could not be written", "error", err)
		}
		return fmt.Errorf("%w: at index %d this replica has state %x and log %x, the others agree on another (%s); see %s; %s",
			format.ErrStateMismatch, c.audit.Index, c.own.state, c.own.chain, describeReports(c.audit.Reports), dump, storage.ReplaceNode)
	}
	return nil
}

// endAlarm ends the alarm, if there is one.
func (a *auditor) endAlarm() {
	if a.split.Swap(false) {
		a.log.Info("the replicas agree again, sends are taken")
	}
}

func describeReports(reports []queue.AuditReport) string {
	texts := make([]string, len(reports))
	for i, r := range reports {
		texts[i] = fmt.Sprintf("%s: state %x log %x", r.NodeID, r.State, r.Chain)
	}
	return strings.Join(texts, ", ")
}

// auditDump is the content of the file that a node writes when its replica differs.
type auditDump struct {
	NodeID      string            `json:"nodeId"`
	HashVersion uint32            `json:"hashVersion"`
	AuditIndex  uint64            `json:"auditIndex"`
	Own         auditDumpReport   `json:"own"`
	Reports     []auditDumpReport `json:"reports"`
	// The position of the node when it compared.
	AppliedIndex uint64 `json:"appliedIndex"`
	AppliedState string `json:"appliedState"`
	LogTimeMs    int64  `json:"logTimeMs"`
}

type auditDumpReport struct {
	NodeID string `json:"nodeId"`
	State  string `json:"state"`
	Log    string `json:"log"`
}

func dumpReport(r queue.AuditReport) auditDumpReport {
	return auditDumpReport{NodeID: r.NodeID, State: hex.EncodeToString(r.State[:]), Log: hex.EncodeToString(r.Chain[:])}
}

// dump writes both sides of the difference into the data directory.
func (a *auditor) dump(c auditCase, at snapshot.Position) (path string, err error) {
	d := auditDump{
		NodeID: a.nodeID, HashVersion: a.hashVersion, AuditIndex: c.audit.Index, Own: dumpReport(c.own.report(a.nodeID)),
		AppliedIndex: at.Index, AppliedState: hex.EncodeToString(at.StateHash[:]), LogTimeMs: int64(at.At),
	}
	for _, r := range c.audit.Reports {
		d.Reports = append(d.Reports, dumpReport(r))
	}
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return "", err
	}
	path = filepath.Join(a.dataDir, fmt.Sprintf("divergence-%d.json", c.audit.Index))
	return path, os.WriteFile(path, append(content, '\n'), 0o600)
}

// auditTellPause is how long a node waits before it sends a report again.
const auditTellPause = time.Second

// runAudits judges audits and reports the notes of this node to the leader, until the
// node closes.
func (n *Node) runAudits() {
	told, toldTerm := uint64(0), uint64(0)
	for {
		changed := n.group.LeadershipChanged()
		for _, c := range n.auditor.takeCases() {
			if err := n.auditor.judge(c, n.replica.Position()); err != nil {
				n.fatal(err)
			}
		}
		var again <-chan time.Time
		leader, note := n.group.Leadership(), n.auditor.newest()
		if note.index > 0 && leader.LeaderID != "" && !leader.Self && (told != note.index || toldTerm != leader.Term) {
			if n.tellAudit(leader, note) {
				told, toldTerm = note.index, leader.Term
			} else {
				again = time.After(auditTellPause)
			}
		}
		select {
		case <-n.closing.Done():
			return
		case <-n.auditor.wake:
		case <-changed:
		case <-again:
		}
	}
}

// tellAudit reports a note to the leader. It returns whether the leader has it.
func (n *Node) tellAudit(known consensus.Leadership, note auditNote) bool {
	ctx, cancel := context.WithTimeout(n.closing, n.cfg.Timing.RPC)
	defer cancel()
	request := forward.Request{Kind: forward.Audit, Term: known.Term, Report: &peerpb.Audit{
		NodeId: n.auditor.nodeID, HashVersion: n.auditor.hashVersion, Index: note.index,
		State: note.state[:], Chain: note.chain[:],
	}}
	return n.link(known.LeaderID).Call(ctx, request).Verdict == leader.Answered
}
