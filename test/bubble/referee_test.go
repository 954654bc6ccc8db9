package bubble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/consensus/wire"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// referee reads every message of the consensus library on the network and checks rules that always
// hold (faults.md 7.2 and I13): one leader in a term, entries and snapshots only from the leader,
// one vote in a term, terms that never decrease, and after a crash a log with everything that its
// node confirmed. Safe for concurrent use.
type referee struct {
	wrong func(format string, args ...any)

	mu      sync.Mutex
	leaders map[uint64]int       // machine by term
	votes   map[[2]uint64]string // voted for, by machine and term
	nodes   map[int]*nodeRecord  // by machine
	counts  map[string]int       // messages by kind
}

// nodeRecord is the observed term, log and answers of a node over all its processes.
type nodeRecord struct {
	term      uint64 // the highest in its answers
	crashTerm uint64 // the one at its last crash
	confirmed uint64 // end of the log that it confirmed to the leader of term byTerm
	byTerm    uint64
	restarted bool // since its last answer
}

func newReferee(wrong func(string, ...any)) *referee {
	return &referee{
		wrong: wrong, leaders: map[uint64]int{}, votes: map[[2]uint64]string{}, nodes: map[int]*nodeRecord{},
		counts: map[string]int{},
	}
}

func (r *referee) node(machine int) *nodeRecord {
	w := r.nodes[machine]
	if w == nil {
		w = &nodeRecord{}
		r.nodes[machine] = w
	}
	return w
}

// crashed records the death of a machine's process.
func (r *referee) crashed(machine int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.node(machine)
	w.crashTerm, w.restarted = w.term, true
}

// watch returns the taps of a new connection: for the bytes of the dialing end and of the accepting
// end.
func (r *referee) watch(from, to int) (asks, answers func([]byte)) {
	c := &exchange{referee: r, from: from, to: to}
	return c.asked, c.answered
}

// The format of a hello and of a frame, as far as the referee needs it.
const (
	kindConsensus = 4
	kindSnapshot  = 16
)

// exchange follows one connection. After the handshake it ignores connections that do not belong to
// the consensus library.
type exchange struct {
	referee  *referee
	from, to int

	mu       sync.Mutex
	asks     []byte // not decoded yet
	answers  []byte
	greeted  bool // hello and its answer were seen
	welcomed bool
	blind    bool
	open     []any // unanswered requests, the oldest first
	term     uint64
}

func (c *exchange) asked(content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind {
		return
	}
	c.asks = append(c.asks, content...)
	for !c.blind {
		rest, ok := c.nextAsk(c.asks)
		if !ok {
			break
		}
		c.asks = rest
	}
}

// nextFrame returns the first frame, nil if it is incomplete.
func nextFrame(content []byte) (whole, rest []byte) {
	if len(content) < frame.Head {
		return nil, content
	}
	size := frame.Head + int(binary.LittleEndian.Uint32(content[4:]))
	if len(content) < size {
		return nil, content
	}
	return content[:size], content[size:]
}

// nextAsk decodes one message of the dialing end, and returns false if it is incomplete.
func (c *exchange) nextAsk(content []byte) (rest []byte, ok bool) {
	if !c.greeted {
		return c.hello(content)
	}
	frame, rest := nextFrame(content)
	if frame == nil || frame[0] == kindSnapshot {
		return rest, frame != nil
	}
	message, err := wire.NewConn(bytes.NewBuffer(frame)).Asked()
	if err != nil {
		c.lost(err)
		return nil, false
	}
	c.open = append(c.open, message)
	c.referee.asked(c.from, message)
	return rest, true
}

// hello reads the handshake of package cluster.
func (c *exchange) hello(content []byte) (rest []byte, ok bool) {
	at := 12
	for range 3 {
		if len(content) < at+2 {
			return nil, false
		}
		at += 2 + int(binary.BigEndian.Uint16(content[at:]))
	}
	if len(content) < at {
		return nil, false
	}
	c.greeted = true
	c.blind = content[5] != kindConsensus
	return content[at:], true
}

func (c *exchange) lost(err error) {
	c.blind = true
	c.referee.wrong("what machine %d and %d say to each other cannot be read: %v", c.from, c.to, err)
}

func (c *exchange) answered(content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blind {
		return
	}
	c.answers = append(c.answers, content...)
	for !c.blind {
		rest, ok := c.nextAnswer(c.answers)
		if !ok {
			break
		}
		c.answers = rest
	}
}

// nextAnswer decodes one answer. Answers come in the order of the requests.
func (c *exchange) nextAnswer(content []byte) (rest []byte, ok bool) {
	if !c.welcomed {
		if len(content) < 10 {
			return nil, false
		}
		at := 10 + int(binary.BigEndian.Uint16(content[8:]))
		if len(content) < at {
			return nil, false
		}
		c.welcomed = true
		return content[at:], true
	}
	frame, rest := nextFrame(content)
	if frame == nil || len(c.open) == 0 {
		return nil, false
	}
	var answer any
	switch c.open[0].(type) {
	case *raft.AppendEntriesRequest:
		answer = new(raft.AppendEntriesResponse)
	case *raft.RequestVoteRequest:
		answer = new(raft.RequestVoteResponse)
	case *raft.InstallSnapshotRequest:
		answer = new(raft.InstallSnapshotResponse)
	case *raft.TimeoutNowRequest:
		answer = new(raft.TimeoutNowResponse)
	case *raft.RequestPreVoteRequest:
		answer = new(raft.RequestPreVoteResponse)
	}
	err := wire.NewConn(bytes.NewBuffer(frame)).Answer(answer)
	if err != nil && !errors.As(err, new(wire.Failure)) {
		c.lost(err)
		return nil, false
	}
	request := c.open[0]
	c.open = c.open[1:]
	if err == nil {
		c.term = c.referee.answered(c.from, c.to, request, answer, c.term)
	}
	return rest, true
}

// asked checks a request.
func (r *referee) asked(from int, message any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[fmt.Sprintf("%T", message)]++
	switch m := message.(type) {
	case *raft.AppendEntriesRequest:
		r.leads(from, m.Term, "appends entries")
	case *raft.InstallSnapshotRequest:
		r.leads(from, m.Term, "installs a snapshot")
	}
}

// leads records the leader of a term.
func (r *referee) leads(machine int, term uint64, what string) {
	known, found := r.leaders[term]
	if !found {
		r.leaders[term] = machine
	} else if known != machine {
		r.wrong("machine %d %s in term %d, whose leader is machine %d", machine, what, term, known)
	}
}

// answered checks an answer. term is the one in the answer before it on this connection.
func (r *referee) answered(from, to int, request, answer any, before uint64) (term uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.node(to)
	switch a := answer.(type) {
	case *raft.AppendEntriesResponse:
		term = a.Term
		asked := request.(*raft.AppendEntriesRequest)
		// A leader of a later term may have truncated the log before this answer.
		if w.restarted && asked.Term == w.byTerm && a.LastLog < w.confirmed {
			r.wrong("machine %d confirmed entry %d in term %d, and after a crash its log ends at %d", to, w.confirmed, w.byTerm, a.LastLog)
		}
		w.restarted = false
		if a.Success && len(asked.Entries) > 0 {
			w.confirm(asked.Term, asked.Entries[len(asked.Entries)-1].Index)
		}
	case *raft.RequestVoteResponse:
		term = a.Term
		asked := request.(*raft.RequestVoteRequest)
		if a.Granted {
			key := [2]uint64{uint64(to), asked.Term}
			candidate := string(asked.ID)
			if other, voted := r.votes[key]; voted && other != candidate {
				r.wrong("machine %d voted in term %d for %s and for %s", to, asked.Term, other, candidate)
			}
			r.votes[key] = candidate
		}
	case *raft.InstallSnapshotResponse:
		term = a.Term
		if asked := request.(*raft.InstallSnapshotRequest); a.Success {
			w.confirm(asked.Term, asked.LastLogIndex)
		}
	default:
		return before
	}
	if term < before {
		r.wrong("the term of machine %d fell from %d to %d towards machine %d", to, before, term, from)
	}
	if term < w.crashTerm {
		r.wrong("machine %d answers in term %d after it answered in %d before a crash", to, term, w.crashTerm)
	}
	w.term = max(w.term, term)
	return term
}

// confirm records that the node's log reaches index for the leader of a term. The leader of a later
// term may have shortened the log.
func (w *nodeRecord) confirm(term, index uint64) {
	if term > w.byTerm {
		w.byTerm, w.confirmed = term, index
	} else if term == w.byTerm {
		w.confirmed = max(w.confirmed, index)
	}
}
