package audit

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// outcome is the index of a counter.
type outcome int

const (
	equal outcome = iota
	different
	undecided
	incomplete
	otherVersion     // reports or audits of another version of the hash
	outcomeKinds int = iota
)

var outcomeNames = [outcomeKinds]string{"equal", "different", "undecided", "incomplete", "other_version"}

// Outcomes calls each with the name and the count of every outcome.
func (a *Auditor) Outcomes(each func(name string, count uint64)) {
	for i, name := range outcomeNames {
		each(name, a.outcomes[i].Load())
	}
}

// finding is the result of one comparison.
type finding int

const (
	// tooFew: fewer than two nodes reported.
	tooFew finding = iota
	allEqual
	// thisOdd: at least two others agree, as a majority of those compared, and this
	// node differs from them.
	thisOdd
	// othersOdd: this node agrees with that majority and others differ.
	othersOdd
	// noMajority: they differ, and no majority says which is right.
	noMajority
)

// finding compares the reports of an Audit with each other and with the note of this node,
// which need not be among them. odd are the nodes outside of the majority.
func (c comparison) finding(nodeID string) (result finding, odd []string) {
	reports := c.audit.Reports
	if c.own != nil && !slices.ContainsFunc(reports, func(r queue.AuditReport) bool { return r.NodeID == nodeID }) {
		reports = append(slices.Clone(reports), c.own.report(nodeID))
	}
	if len(reports) < 2 {
		return tooFew, nil
	}
	votes := map[hashes]int{}
	var right hashes
	for _, r := range reports {
		h := hashes{r.State, r.Chain}
		votes[h]++
		if votes[h] > votes[right] {
			right = h
		}
	}
	if votes[right] < 2 || 2*votes[right] <= len(reports) {
		return noMajority, nil
	}
	for _, r := range reports {
		if (hashes{r.State, r.Chain}) != right {
			odd = append(odd, r.NodeID)
		}
	}
	switch {
	case c.own != nil && *c.own != right:
		return thisOdd, odd
	case len(odd) > 0:
		return othersOdd, odd
	default:
		return allEqual, nil
	}
}

// evaluate acts on the finding of a comparison. Its error ends the process.
func (a *Auditor) evaluate(c comparison, at snapshot.Position) error {
	if c.audit.HashVersion != a.hashVersion {
		a.outcomes[otherVersion].Add(1)
		return nil
	}
	result, odd := c.finding(a.NodeID)
	switch result {
	case tooFew:
		a.outcomes[incomplete].Add(1)
	case allEqual:
		a.outcomes[equal].Add(1)
		a.endAlarm()
	case othersOdd:
		a.outcomes[different].Add(1)
		a.Log.Error("a replica differs from the others, so its node has to stop", "index", c.audit.Index, "nodes", odd)
		a.endAlarm()
	case noMajority:
		a.outcomes[undecided].Add(1)
		a.split.Store(true)
		a.Log.Error("replicas differ and no majority says which is right; sends are refused until they agree",
			"index", c.audit.Index, "reports", describe(c.audit.Reports))
	case thisOdd:
		a.outcomes[different].Add(1)
		dump, err := a.dump(c, at)
		if err != nil {
			a.Log.Error("the difference could not be written to a file", "error", err)
		}
		return fmt.Errorf("%w: at index %d this replica has state %x and log %x, the others agree on another (%s); see %s; %s",
			format.ErrStateMismatch, c.audit.Index, c.own.state, c.own.chain, describe(c.audit.Reports), dump, storage.ReplaceNode)
	}
	return nil
}

// endAlarm ends the alarm, if there is one.
func (a *Auditor) endAlarm() {
	if a.split.Swap(false) {
		a.Log.Info("the replicas agree again, sends are accepted")
	}
}

func describe(reports []queue.AuditReport) string {
	texts := make([]string, len(reports))
	for i, r := range reports {
		texts[i] = fmt.Sprintf("%s: state %x log %x", r.NodeID, r.State, r.Chain)
	}
	return strings.Join(texts, ", ")
}

// difference is the content of the file that a node writes when its replica differs.
type difference struct {
	NodeID      string           `json:"nodeId"`
	HashVersion uint32           `json:"hashVersion"`
	AuditIndex  uint64           `json:"auditIndex"`
	Own         reportedHashes   `json:"own"`
	Reports     []reportedHashes `json:"reports"`
	// The position of the node when it compared.
	AppliedIndex uint64 `json:"appliedIndex"`
	AppliedState string `json:"appliedState"`
	LogTimeMs    int64  `json:"logTimeMs"`
}

type reportedHashes struct {
	NodeID string `json:"nodeId"`
	State  string `json:"state"`
	Log    string `json:"log"`
}

func inHex(r queue.AuditReport) reportedHashes {
	return reportedHashes{NodeID: r.NodeID, State: hex.EncodeToString(r.State[:]), Log: hex.EncodeToString(r.Chain[:])}
}

// dump writes both sides of the difference into the data directory.
func (a *Auditor) dump(c comparison, at snapshot.Position) (path string, err error) {
	d := difference{
		NodeID: a.NodeID, HashVersion: a.hashVersion, AuditIndex: c.audit.Index, Own: inHex(c.own.report(a.NodeID)),
		AppliedIndex: at.Index, AppliedState: hex.EncodeToString(at.StateHash[:]), LogTimeMs: int64(at.At),
	}
	for _, r := range c.audit.Reports {
		d.Reports = append(d.Reports, inHex(r))
	}
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return "", err
	}
	path = filepath.Join(a.DataDir, fmt.Sprintf("divergence-%d.json", c.audit.Index))
	return path, os.WriteFile(path, append(content, '\n'), 0o600)
}
