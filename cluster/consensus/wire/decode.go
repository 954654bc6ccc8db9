package wire

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// decoder reads the fields of messages. After an invalid field it returns zeros, and end returns an
// error.
type decoder struct {
	in   []byte
	bad  bool
	name []byte // the last id read
}

// end returns nil if all fields were valid and nothing remains.
func (d *decoder) end() error {
	if d.bad || len(d.in) > 0 {
		return frame.Damaged("its fields are wrong")
	}
	return nil
}

func (d *decoder) fail() {
	d.in, d.bad = nil, true
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.in)
	if size <= 0 || size > 1 && d.in[size-1] == 0 { // only the shortest form is valid
		d.fail()
		return 0
	}
	d.in = d.in[size:]
	return n
}

func (d *decoder) signed() int64 {
	n := d.number()
	if n&1 != 0 {
		return ^int64(n >> 1)
	}
	return int64(n >> 1)
}

func (d *decoder) byte() byte {
	if len(d.in) == 0 {
		d.fail()
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

// flags reads up to n booleans; a higher bit is invalid.
func (d *decoder) flags(n int) (facts [8]bool) {
	b := d.byte()
	if b>>n != 0 {
		d.fail()
		return facts
	}
	for i := range n {
		facts[i] = b>>i&1 != 0
	}
	return facts
}

func (d *decoder) fact() bool { return d.flags(1)[0] }

// raw returns a field without copying it.
func (d *decoder) raw() []byte {
	n := d.number()
	if n > uint64(len(d.in)) {
		d.fail()
		return nil
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

// bytes returns a copy of a field; nil if it is empty.
func (d *decoder) bytes() []byte { return append([]byte(nil), d.raw()...) }

// id returns a node id, which messages share: do not change it.
func (d *decoder) id() []byte {
	b := d.raw()
	if len(b) == 0 {
		return nil
	}
	if !bytes.Equal(b, d.name) {
		d.name = bytes.Clone(b)
	}
	return d.name
}

func (d *decoder) header() (h raft.RPCHeader) {
	same := d.fact()
	h.ProtocolVersion = raft.ProtocolVersion(d.signed())
	h.ID = d.id()
	if h.Addr = h.ID; !same {
		h.Addr = d.bytes()
		d.differs(h.Addr, h.ID)
	}
	return h
}

// differs fails if a field was written although it equals another.
func (d *decoder) differs(field, other []byte) {
	if bytes.Equal(field, other) {
		d.fail()
	}
}

// entryFieldsMin is the minimal size of an entry's fields.
const entryFieldsMin = 5

// appendEntries also returns the length of the data of each entry. They add up to size.
func (d *decoder) appendEntries(size int) (m *raft.AppendEntriesRequest, lengths []int) {
	m = &raft.AppendEntriesRequest{RPCHeader: d.header()}
	m.Term = d.number()
	m.PrevLogEntry = d.number()
	m.PrevLogTerm = d.number()
	m.LeaderCommitIndex = d.number()
	n := d.number()
	if n > uint64(len(d.in)/entryFieldsMin) {
		d.fail()
		return m, nil
	}
	if n > 0 {
		entries := make([]raft.Log, n)
		m.Entries, lengths = make([]*raft.Log, n), make([]int, n)
		for i := range entries {
			m.Entries[i] = &entries[i]
			lengths[i] = d.entry(&entries[i], size)
			size -= lengths[i]
		}
	}
	if size != 0 {
		d.fail()
	}
	return m, lengths
}

// entry reads an entry without its data, and returns the length of the data, at most most.
func (d *decoder) entry(entry *raft.Log, most int) (length int) {
	facts := d.flags(2)
	entry.Type = raft.LogType(d.byte())
	entry.Index = d.number()
	entry.Term = d.number()
	n := d.number()
	if n > uint64(most) {
		d.fail()
		return 0
	}
	if facts[0] {
		entry.AppendedAt = time.Unix(0, d.signed())
	}
	if facts[1] {
		if entry.Extensions = d.bytes(); len(entry.Extensions) == 0 {
			d.fail()
		}
	}
	return int(n)
}

func (d *decoder) appendEntriesAnswer(m *raft.AppendEntriesResponse) {
	*m = raft.AppendEntriesResponse{RPCHeader: d.header()}
	facts := d.flags(2)
	m.Success, m.NoRetryBackoff = facts[0], facts[1]
	m.Term = d.number()
	m.LastLog = d.number()
}

func (d *decoder) requestVote() *raft.RequestVoteRequest {
	m := &raft.RequestVoteRequest{RPCHeader: d.header()}
	m.LeadershipTransfer = d.fact()
	m.Term = d.number()
	m.LastLogIndex = d.number()
	m.LastLogTerm = d.number()
	return m
}

func (d *decoder) requestVoteAnswer(m *raft.RequestVoteResponse) {
	*m = raft.RequestVoteResponse{RPCHeader: d.header()}
	m.Granted = d.fact()
	m.Term = d.number()
	m.Peers = d.bytes()
}

func (d *decoder) requestPreVote() *raft.RequestPreVoteRequest {
	m := &raft.RequestPreVoteRequest{RPCHeader: d.header()}
	m.Term = d.number()
	m.LastLogIndex = d.number()
	m.LastLogTerm = d.number()
	return m
}

func (d *decoder) requestPreVoteAnswer(m *raft.RequestPreVoteResponse) {
	*m = raft.RequestPreVoteResponse{RPCHeader: d.header()}
	m.Granted = d.fact()
	m.Term = d.number()
}

func (d *decoder) installSnapshot() *raft.InstallSnapshotRequest {
	m := &raft.InstallSnapshotRequest{RPCHeader: d.header()}
	m.SnapshotVersion = raft.SnapshotVersion(d.signed())
	m.Term = d.number()
	m.LastLogIndex = d.number()
	m.LastLogTerm = d.number()
	m.Peers = d.bytes()
	m.Configuration = d.bytes()
	m.ConfigurationIndex = d.number()
	if m.Size = d.signed(); m.Size < 0 {
		d.fail()
	}
	return m
}

func (d *decoder) installSnapshotAnswer(m *raft.InstallSnapshotResponse) {
	*m = raft.InstallSnapshotResponse{RPCHeader: d.header()}
	m.Success = d.fact()
	m.Term = d.number()
}
