package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/hashicorp/raft"
)

// encoder appends the fields of messages. A decoder reads them in the same order.
type encoder struct{ out []byte }

func (e *encoder) number(n uint64) { e.out = binary.AppendUvarint(e.out, n) }
func (e *encoder) signed(n int64)  { e.out = binary.AppendVarint(e.out, n) }
func (e *encoder) byte(b byte)     { e.out = append(e.out, b) }

func (e *encoder) bytes(b []byte) {
	e.number(uint64(len(b)))
	e.out = append(e.out, b...)
}

// flags appends up to eight booleans as one byte, the first in the lowest bit.
func (e *encoder) flags(facts ...bool) {
	var b byte
	for i, fact := range facts {
		if fact {
			b |= 1 << i
		}
	}
	e.byte(b)
}

// header appends the sender of the message. The address of a node is its id.
func (e *encoder) header(h raft.RPCHeader) {
	same := bytes.Equal(h.ID, h.Addr)
	e.flags(same)
	e.signed(int64(h.ProtocolVersion))
	e.bytes(h.ID)
	if !same {
		e.bytes(h.Addr)
	}
}

func (e *encoder) appendEntries(m *raft.AppendEntriesRequest) {
	e.header(m.RPCHeader)
	e.number(m.Term)
	e.number(m.PrevLogEntry)
	e.number(m.PrevLogTerm)
	e.number(m.LeaderCommitIndex)
	e.number(uint64(len(m.Entries)))
	for _, entry := range m.Entries {
		e.flags(!entry.AppendedAt.IsZero(), len(entry.Extensions) > 0)
		e.byte(byte(entry.Type))
		e.number(entry.Index)
		e.number(entry.Term)
		e.number(uint64(len(entry.Data)))
		if !entry.AppendedAt.IsZero() {
			e.signed(entry.AppendedAt.UnixNano())
		}
		if len(entry.Extensions) > 0 {
			e.bytes(entry.Extensions)
		}
	}
}

func (e *encoder) appendEntriesAnswer(m *raft.AppendEntriesResponse) {
	e.header(m.RPCHeader)
	e.flags(m.Success, m.NoRetryBackoff)
	e.number(m.Term)
	e.number(m.LastLog)
}

func (e *encoder) requestVote(m *raft.RequestVoteRequest) {
	e.header(m.RPCHeader)
	e.flags(m.LeadershipTransfer)
	e.number(m.Term)
	e.number(m.LastLogIndex)
	e.number(m.LastLogTerm)
}

func (e *encoder) requestVoteAnswer(m *raft.RequestVoteResponse) {
	e.header(m.RPCHeader)
	e.flags(m.Granted)
	e.number(m.Term)
	e.bytes(m.Peers)
}

func (e *encoder) requestPreVote(m *raft.RequestPreVoteRequest) {
	e.header(m.RPCHeader)
	e.number(m.Term)
	e.number(m.LastLogIndex)
	e.number(m.LastLogTerm)
}

func (e *encoder) requestPreVoteAnswer(m *raft.RequestPreVoteResponse) {
	e.header(m.RPCHeader)
	e.flags(m.Granted)
	e.number(m.Term)
}

func (e *encoder) installSnapshot(m *raft.InstallSnapshotRequest) {
	e.header(m.RPCHeader)
	e.signed(int64(m.SnapshotVersion))
	e.number(m.Term)
	e.number(m.LastLogIndex)
	e.number(m.LastLogTerm)
	e.bytes(m.Peers)
	e.bytes(m.Configuration)
	e.number(m.ConfigurationIndex)
	e.signed(m.Size)
}

func (e *encoder) installSnapshotAnswer(m *raft.InstallSnapshotResponse) {
	e.header(m.RPCHeader)
	e.flags(m.Success)
	e.number(m.Term)
}
