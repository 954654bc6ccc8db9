package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// LogEnd says where the log of a stopped node ends. Its text, NODE=CLUSTER:TERM/INDEX, is
// what a recovery of several nodes is told on each of them.
type LogEnd struct {
	NodeID    string
	ClusterID string
	Term      uint64
	Index     uint64
}

// String is the text that ParseLogEnd reads.
func (e LogEnd) String() string {
	return fmt.Sprintf("%s=%s:%d/%d", e.NodeID, e.ClusterID, e.Term, e.Index)
}

// ParseLogEnd reads the text of a LogEnd.
func ParseLogEnd(text string) (LogEnd, error) {
	wrong := fmt.Errorf("%w: %q is not NODE=CLUSTER:TERM/INDEX, as seriatim cluster force-recover prints it on each node that is left", ErrBadRecovery, text)
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

// compare orders logs as an election does: the later term wins, then the longer log. The
// greatest has all that any of them has of what was acknowledged.
func (e LogEnd) compare(other LogEnd) int {
	return cmp.Or(cmp.Compare(e.Term, other.Term), cmp.Compare(e.Index, other.Index))
}

// LogEnd returns the position at which the log of this node ends.
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

// logEnd is the end of this node's log in the cluster of which a recovery that was
// interrupted may have made another already.
func (s *Stopped) logEnd(begun storage.Recovery, term, index uint64) LogEnd {
	end := LogEnd{NodeID: s.NodeID, ClusterID: s.ClusterID, Term: term, Index: index}
	if begun.Interrupted() {
		end.ClusterID = begun.Previous
	}
	return end
}

// checkLogs refuses what cannot be the ends of the logs of all nodes that are left, of
// which own is one. It returns them in order, and those of the longest log.
func checkLogs(logs []LogEnd, own LogEnd) (sorted, longest []LogEnd, err error) {
	sorted = slices.Clone(logs)
	slices.SortFunc(sorted, func(a, b LogEnd) int { return cmp.Compare(a.NodeID, b.NodeID) })
	found := false
	for i, end := range sorted {
		switch {
		case i > 0 && sorted[i-1].NodeID == end.NodeID:
			return nil, nil, fmt.Errorf("%w: node %s is given twice", ErrBadRecovery, end.NodeID)
		case end.ClusterID != own.ClusterID:
			return nil, nil, fmt.Errorf("%w: node %s is of cluster %s, and this node of cluster %s: one of them was recovered before, or has never been of this cluster", ErrBadRecovery, end.NodeID, end.ClusterID, own.ClusterID)
		case end.NodeID == own.NodeID && end != own:
			return nil, nil, fmt.Errorf("%w: the log of this node ends at %s, not at %s: ask all nodes that are left again, with none of them running", ErrBadRecovery, own, end)
		}
		found = found || end == own
	}
	if !found {
		return nil, nil, fmt.Errorf("%w: the log of this node, %s, is not among those given: give those of all nodes that are left", ErrBadRecovery, own)
	}
	most := slices.MaxFunc(sorted, LogEnd.compare)
	for _, end := range sorted {
		if end.compare(most) == 0 {
			longest = append(longest, end)
		}
	}
	return sorted, longest, nil
}
