package bubble

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// TestRefereeNotices gives the referee conversations, good and bad.
func TestRefereeNotices(t *testing.T) {
	entries := func(indexes ...uint64) (list []*raft.Log) {
		for _, i := range indexes {
			list = append(list, &raft.Log{Index: i, Term: 3})
		}
		return list
	}
	vote := func(candidate string) *raft.RequestVoteRequest {
		return &raft.RequestVoteRequest{RPCHeader: raft.RPCHeader{ID: []byte(candidate)}, Term: 3}
	}
	confirmed := func(r *referee) {
		r.answered(0, 1, &raft.AppendEntriesRequest{Term: 3, Entries: entries(4, 5)},
			&raft.AppendEntriesResponse{Term: 3, LastLog: 5, Success: true}, 0)
	}
	cases := []struct {
		name string
		say  func(*referee)
		want string // empty: nothing is wrong
	}{
		{"one leader", func(r *referee) {
			r.asked(0, &raft.AppendEntriesRequest{Term: 3})
			r.asked(0, &raft.InstallSnapshotRequest{Term: 3})
			r.asked(1, &raft.AppendEntriesRequest{Term: 4})
		}, ""},
		{"two leaders", func(r *referee) {
			r.asked(0, &raft.AppendEntriesRequest{Term: 3})
			r.asked(1, &raft.AppendEntriesRequest{Term: 3})
		}, "whose leader is machine 0"},
		{"a snapshot of another", func(r *referee) {
			r.asked(0, &raft.AppendEntriesRequest{Term: 3})
			r.asked(1, &raft.InstallSnapshotRequest{Term: 3})
		}, "installs a snapshot"},
		{"a vote twice for one", func(r *referee) {
			r.answered(0, 2, vote("n1"), &raft.RequestVoteResponse{Term: 3, Granted: true}, 0)
			r.answered(0, 2, vote("n1"), &raft.RequestVoteResponse{Term: 3, Granted: true}, 0)
		}, ""},
		{"two votes", func(r *referee) {
			r.answered(0, 2, vote("n1"), &raft.RequestVoteResponse{Term: 3, Granted: true}, 0)
			r.crashed(2)
			r.answered(1, 2, vote("n2"), &raft.RequestVoteResponse{Term: 3, Granted: true}, 0)
		}, "voted in term 3 for n1 and for n2"},
		{"the term falls", func(r *referee) {
			r.answered(0, 1, vote("n1"), &raft.RequestVoteResponse{Term: 3}, 4)
		}, "fell from 4 to 3"},
		{"the term falls at a crash", func(r *referee) {
			confirmed(r)
			r.crashed(1)
			r.answered(0, 1, vote("n1"), &raft.RequestVoteResponse{Term: 2}, 0)
		}, "after it answered in 3"},
		{"the log is whole after a crash", func(r *referee) {
			confirmed(r)
			r.crashed(1)
			r.answered(0, 1, &raft.AppendEntriesRequest{Term: 3}, &raft.AppendEntriesResponse{Term: 3, LastLog: 5}, 0)
		}, ""},
		{"the log is shorter after a crash", func(r *referee) {
			confirmed(r)
			r.crashed(1)
			r.answered(0, 1, &raft.AppendEntriesRequest{Term: 3}, &raft.AppendEntriesResponse{Term: 3, LastLog: 4}, 0)
		}, "its log ends at 4"},
		{"a later leader shortens it", func(r *referee) {
			confirmed(r)
			r.crashed(1)
			r.answered(2, 1, &raft.AppendEntriesRequest{Term: 4}, &raft.AppendEntriesResponse{Term: 4, LastLog: 4}, 0)
		}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var said []string
			c.say(newReferee(func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }))
			text := strings.Join(said, "\n")
			if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("said %q, want %q", text, c.want)
			}
		})
	}
}
