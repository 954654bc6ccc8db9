package holders

import (
	"hash/maphash"
	"strings"
	"sync"

	"github.com/seriatimq/seriatim/queue"
)

// Holder is a client that received messages.
type Holder struct {
	Address   string `json:"address"`             // of its connection, with the port
	AccessKey string `json:"accessKey,omitempty"` // id; empty: the request had none
	Protocol  string `json:"protocol,omitempty"`  // of the request: json, query or grpc
	UserAgent string `json:"userAgent,omitempty"` // as the client names itself
}

// textMax bounds the texts of clients, in bytes.
const textMax = 256

// NewHolder returns a Holder with valid texts of bounded length.
func NewHolder(address, accessKey, protocol, userAgent string) Holder {
	return Holder{Address: address, AccessKey: shortened(accessKey), Protocol: protocol, UserAgent: shortened(userAgent)}
}

// shortened returns the beginning of a client's text, which may have any bytes. Answers may not.
func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), textMax)], "\uFFFD")
}

// Caller returns the client that sent a command.
type Caller interface{ Caller() Holder }

// CallerKey is the context key of a Caller.
type CallerKey struct{}

// Hold identifies a receiver's hold in the state: the first message of a group, or the lock of a
// session.
type Hold struct {
	Queue      string          `json:"queue"`
	Group      string          `json:"group"`
	Sequence   uint64          `json:"sequence,omitempty"`   // of the message
	ReceivedAt queue.Timestamp `json:"receivedAt,omitempty"` // of the message, in log time
	Lock       uint64          `json:"lock,omitempty"`       // seal of the token; 0: no lock
	// MessageID and Receives name a message of a standard queue, without a group.
	MessageID []byte `json:"messageId,omitempty"`
	Receives  int64  `json:"receives,omitempty"` // its receive count
}

// Found is the holder of a Hold.
type Found struct {
	Holder
	Since queue.Timestamp `json:"since"`
}

const (
	setsMax = 1 << 14
	ways    = 4 // slots of a group
	// holdersShared bounds the shared client records.
	holdersShared = 4096
)

// record is the last receive or lock of a group, or of a message without one. The zero record is
// empty.
type record struct {
	key         uint64 // hash of queue, group and kind (receive or lock), or of queue and message id
	at          queue.Timestamp
	first, last uint64 // sequence numbers; the seal of a lock, or the receive count of a message, in first
	again       bool   // repeated an earlier receive with its attempt id
	by          *Holder
}

// Table records the last receives and locks. The zero Table is empty. Safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	seed    maphash.Seed
	sets    [][ways]record // nil before the first record
	singles [][ways]record // of messages of standard queues; nil before the first one
	holders map[Holder]*Holder
}

// ReceivedSingle records the messages of one receive from a standard queue.
func (t *Table) ReceivedSingle(by Holder, name string, messages []queue.ReceivedMessage, at queue.Timestamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prepare()
	if t.singles == nil {
		t.singles = make([][ways]record, setsMax)
	}
	shared := t.share(by)
	for i := range messages {
		r := record{key: t.keyOfMessage(name, messages[i].MessageID[:]), at: at, by: shared}
		r.first = uint64(messages[i].ReceiveCount) //nolint:gosec // above zero
		*slotFor(&t.singles[r.key%setsMax], r.key) = r
	}
}

// Received records the messages of one receive, sorted by group. again reports that it repeats an
// earlier receive with its attempt id.
func (t *Table) Received(by Holder, name string, messages []queue.ReceivedMessage, at queue.Timestamp, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := 0; i < len(messages); {
		first := &messages[i]
		last := first
		for i++; i < len(messages) && messages[i].GroupID == first.GroupID; i++ {
			last = &messages[i]
		}
		if first.GroupID != "" {
			t.put(name, first.GroupID, record{at: at, first: uint64(first.Sequence), last: uint64(last.Sequence), again: again}, by)
		}
	}
}

// Locked records that a session was accepted.
func (t *Table) Locked(by Holder, name, session string, lock uint64, at queue.Timestamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(name, session, record{at: at, first: lock}, by)
}

// put replaces the record of the group, or the oldest one in its set.
func (t *Table) put(name, group string, r record, by Holder) {
	t.prepare()
	if t.sets == nil {
		t.sets = make([][ways]record, setsMax)
	}
	r.key, r.by = t.key(name, group, r.last == 0), t.share(by)
	*slotFor(&t.sets[r.key%setsMax], r.key) = r
}

// prepare makes the Table ready for its first record.
func (t *Table) prepare() {
	if t.holders == nil {
		t.seed, t.holders = maphash.MakeSeed(), map[Holder]*Holder{}
	}
}

// slotFor returns the slot of a key, or else the one with the oldest record.
func slotFor(set *[ways]record, key uint64) *record {
	into := &set[0]
	for i := range set {
		if set[i].key == key {
			return &set[i]
		}
		if set[i].at < into.at {
			into = &set[i]
		}
	}
	return into
}

// keyOfMessage returns the key of a message without a group. It is never zero.
func (t *Table) keyOfMessage(name string, id []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.WriteString(name)
	_ = h.WriteByte(0) // separator: in no name
	_, _ = h.Write(id)
	return h.Sum64() | 1<<63
}

// share returns the same pointer for equal clients.
func (t *Table) share(by Holder) *Holder {
	if shared, ok := t.holders[by]; ok {
		return shared
	}
	if len(t.holders) >= holdersShared {
		clear(t.holders)
	}
	shared := &Holder{
		Address: strings.Clone(by.Address), AccessKey: strings.Clone(by.AccessKey), Protocol: strings.Clone(by.Protocol),
		UserAgent: strings.Clone(by.UserAgent),
	}
	t.holders[*shared] = shared
	return shared
}

// key returns the key of a group in a queue, or of its lock. It is never zero.
func (t *Table) key(name, group string, lock bool) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.WriteString(name)
	_ = h.WriteByte(0) // separator: in no name and no group
	_, _ = h.WriteString(group)
	if lock {
		_ = h.WriteByte(0)
	}
	return h.Sum64() | 1<<63
}

// Find returns the client that holds h. It reports false unless this node served the receive and
// still has its record.
func (t *Table) Find(h Hold) (Found, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sets := t.sets
	if len(h.MessageID) > 0 {
		sets = t.singles
	}
	if sets == nil {
		return Found{}, false
	}
	key := t.key(h.Queue, h.Group, h.Lock != 0)
	if len(h.MessageID) > 0 {
		key = t.keyOfMessage(h.Queue, h.MessageID)
	}
	set := &sets[key%setsMax]
	for i := range set {
		if r := &set[i]; r.key == key && r.is(h) {
			return Found{Holder: *r.by, Since: r.at}, true
		}
	}
	return Found{}, false
}

// is reports whether the record matches the current hold. A repeated receive does not change the
// time in the state.
func (r *record) is(h Hold) bool {
	switch {
	case len(h.MessageID) > 0:
		return r.first == uint64(h.Receives) //nolint:gosec // only compared
	case h.Lock != 0:
		return r.first == h.Lock
	}
	return r.first <= h.Sequence && h.Sequence <= r.last && (r.at == h.ReceivedAt || r.again && r.at > h.ReceivedAt)
}
