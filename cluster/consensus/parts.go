package consensus

import (
	"iter"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// The library bounds a message in entries, and gives each the same time to arrive.
// As many entries as it sends at once may be 64 MiB, for which a slow line takes
// longer than that, every time they are sent. So a message is sent in parts of at
// most appendBytesMax, each with a deadline of its own.
//
// What this relies on in the library is tested by exploit_parts_test.go.

// appendBytesMax bounds the entries of one message. One entry may be larger.
const appendBytesMax = 1 << 20

// fitting returns the number of entries that fit into one message: at least one.
func fitting(entries []*raft.Log) (n int) {
	for bytes := 0; n < len(entries); n++ {
		if bytes += storage.EntryBytes(entries[n]); bytes > appendBytesMax && n > 0 {
			break
		}
	}
	return n
}

// parts are the messages that stand for one, in order. There is one at least: a
// message without entries tells what is committed.
func parts(args *raft.AppendEntriesRequest) iter.Seq[*raft.AppendEntriesRequest] {
	return func(yield func(*raft.AppendEntriesRequest) bool) {
		next, entries := *args, args.Entries
		for {
			part := next
			n := fitting(entries)
			part.Entries = entries[:n:n]
			entries = entries[n:]
			if !yield(&part) || len(entries) == 0 {
				return
			}
			next.PrevLogEntry, next.PrevLogTerm = part.Entries[n-1].Index, part.Entries[n-1].Term
		}
	}
}

// inParts sends a message in parts until one is not accepted, or stopped is closed.
// If the connection breaks behind the first ones, args has only the entries of those
// when it returns: the library takes them from there when it goes on.
func inParts(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, stopped <-chan struct{},
	send func(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) error,
) error {
	sent := 0
	for part := range parts(args) {
		var answer raft.AppendEntriesResponse
		err := send(part, &answer)
		if err != nil && sent > 0 {
			args.Entries = args.Entries[:sent]
			return nil
		}
		if err != nil {
			return err
		}
		*resp = answer
		sent += len(part.Entries)
		if !answer.Success {
			return nil
		}
		select {
		case <-stopped:
			args.Entries = args.Entries[:sent]
			return nil
		default:
		}
	}
	return nil
}
