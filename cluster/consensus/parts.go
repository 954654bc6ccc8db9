package consensus

import (
	"iter"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/storage"
)

// The library bounds a message in entries and gives each message the same time. The entries of one
// message may be 64 MiB, for which a slow line always takes longer. So a message is sent in parts
// of at most appendBytesMax, each with its own deadline. exploit_parts_test.go tests the reliance
// on the library.

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

// parts returns the parts of a message in order, at least one: a message without entries carries
// the commit index.
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

// inParts sends a message in parts until one is not accepted, or stopped is closed. If the
// connection breaks after the first parts, args has only their entries when it returns: the library
// continues from there.
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
