package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// LogEnd is the end of a stopped node's log. A recovery takes the LogEnds of all remaining nodes as
// texts, NODE=CLUSTER:TERM/INDEX.
type LogEnd struct {
	NodeID    string
	ClusterID string
	Term      uint64
	Index     uint64
}

// String returns the text that ParseLogEnd reads.
func (e LogEnd) String() string {
	return fmt.Sprintf("%s=%s:%d/%d", e.NodeID, e.ClusterID, e.Term, e.Index)
}

// ParseLogEnd reads the text of a LogEnd.
func ParseLogEnd(text string) (LogEnd, error) {
	wrong := fmt.Errorf("%w: %q is not NODE=CLUSTER:TERM/INDEX, as seriatim cluster force-recover prints it on each remaining node",
		ErrBadRecovery, text)
	node, rest, _ := strings.Cut(strings.TrimSpace(text), "=")
	clusterID, rest, _ := strings.Cut(rest, ":")
	term, index, found := strings.Cut(rest, "/")
	if !found || node == "" || clusterID == "" {
		return LogEnd{}, wrong
	}
	end := LogEnd{NodeID: node, ClusterID: clusterID}
	for text, number := range map[string]*uint64{term: &end.Term, index: &end.Index} {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return LogEnd{}, wrong
		}
		*number = n
	}
	return end, nil
}

// compare orders logs as an election does: the later term wins, then the longer log. The greatest
// has every acknowledged entry that any of them has.
func (e LogEnd) compare(other LogEnd) int {
	return cmp.Or(cmp.Compare(e.Term, other.Term), cmp.Compare(e.Index, other.Index))
}

// LogEnd returns the end of this node's log.
func (s *Stopped) LogEnd() (LogEnd, error) {
	begun, err := storage.ReadRecovery(s.dir)
	if err != nil {
		return LogEnd{}, err
	}
	survey, err := s.group.Survey()
	if err != nil {
		return LogEnd{}, err
	}
	return s.logEnd(begun, survey.LastTerm, survey.LastIndex), nil
}

// logEnd returns the end of this node's log, with the old cluster id if an interrupted recovery has
// replaced it.
func (s *Stopped) logEnd(begun storage.Recovery, term, index uint64) LogEnd {
	end := LogEnd{NodeID: s.NodeID, ClusterID: s.ClusterID, Term: term, Index: index}
	if begun.Interrupted() {
		end.ClusterID = begun.Previous
	}
	return end
}

// checkLogs validates the ends of the logs of all remaining nodes, including this node's. It
// returns them sorted by node, and those of the longest log.
func checkLogs(logs []LogEnd, own LogEnd) (sorted, longest []LogEnd, err error) {
	sorted = slices.Clone(logs)
	slices.SortFunc(sorted, func(a, b LogEnd) int { return cmp.Compare(a.NodeID, b.NodeID) })
	found := false
	for i, end := range sorted {
		switch {
		case i > 0 && sorted[i-1].NodeID == end.NodeID:
			return nil, nil, fmt.Errorf("%w: node %s is given twice", ErrBadRecovery, end.NodeID)
		case end.ClusterID != own.ClusterID:
			return nil, nil, fmt.Errorf("%w: node %s is of cluster %s, but this node of cluster %s. One of them was "+
				"recovered before, or never belonged to this cluster",
				ErrBadRecovery, end.NodeID, end.ClusterID, own.ClusterID)
		case end.NodeID == own.NodeID && end != own:
			return nil, nil, fmt.Errorf("%w: the log of this node ends at %s, not at %s: read the logs of all "+
				"remaining nodes again, while all are stopped", ErrBadRecovery, own, end)
		}
		found = found || end == own
	}
	if !found {
		return nil, nil, fmt.Errorf("%w: the log of this node, %s, is missing: pass those of all remaining nodes", ErrBadRecovery, own)
	}
	most := slices.MaxFunc(sorted, LogEnd.compare)
	for _, end := range sorted {
		if end.compare(most) == 0 {
			longest = append(longest, end)
		}
	}
	return sorted, longest, nil
}
