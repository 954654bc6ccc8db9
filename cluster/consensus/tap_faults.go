//go:build faults

package consensus

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
)

type tapKey struct{}

// WithTap returns a context with which a group writes every applied entry to tap before callers get
// their answers.
func WithTap(ctx context.Context, tap io.Writer) context.Context {
	return context.WithValue(ctx, tapKey{}, tap)
}

// tapped wraps the state machine if ctx has a tap.
func tapped(ctx context.Context, machine *fsm.FSM) stateMachine {
	tap, ok := ctx.Value(tapKey{}).(io.Writer)
	if !ok {
		return machine
	}
	return &tappedMachine{FSM: machine, tap: tap}
}

// tappedMachine records the entries of the state machine. Like that, it is called from one
// goroutine.
type tappedMachine struct {
	*fsm.FSM
	tap   io.Writer
	lines bytes.Buffer
}

// tapLine is a line of the tap: a command with its answer, an entry without commands, or a restored
// snapshot.
type tapLine struct {
	Index   uint64 `json:"index"`
	N       int    `json:"n"`
	Term    uint64 `json:"term"`
	AtMs    int64  `json:"atMs"`
	Op      string `json:"op"`
	Command []byte `json:"command,omitempty"`
	Answer  []byte `json:"answer,omitempty"`
	CRC     uint32 `json:"crc"` // CRC-32C over command, then answer
	Hash    string `json:"hash,omitempty"`
	Kind    string `json:"kind,omitempty"`
}

// Apply applies one entry.
func (m *tappedMachine) Apply(entry *raft.Log) any { return m.ApplyBatch([]*raft.Log{entry})[0] }

// ApplyBatch applies entries one by one, to get the hash after each.
func (m *tappedMachine) ApplyBatch(entries []*raft.Log) []any {
	results := make([]any, 0, len(entries))
	m.lines.Reset()
	for i, entry := range entries {
		results = append(results, m.FSM.ApplyBatch(entries[i : i+1])[0])
		m.note(entry, results[i])
	}
	m.flush()
	return results
}

// Restore replaces the state by that of a snapshot.
func (m *tappedMachine) Restore(content io.ReadCloser) error {
	if err := m.FSM.Restore(content); err != nil {
		return err
	}
	m.lines.Reset()
	at := m.Position()
	m.line(tapLine{Index: at.Index, Term: at.Term, AtMs: int64(at.At), Kind: "restore", Hash: hex.EncodeToString(at.StateHash[:])})
	m.flush()
	return nil
}

// note records an entry with its result.
func (m *tappedMachine) note(entry *raft.Log, result any) {
	applied, ok := result.(fsm.EntryResult)
	if !ok || len(applied.Responses) == 0 {
		kind := "noop"
		if entry.Type == raft.LogConfiguration {
			kind = "configuration"
		}
		m.line(tapLine{Index: entry.Index, Term: entry.Term, Kind: kind})
		return
	}
	n := 0
	_, err := codec.DecodeEntry(entry.Data, func(frame []byte) error {
		response, err := m.withBodies(applied.Responses[n])
		if err != nil {
			return err
		}
		answer, err := codec.AppendResponse(nil, response)
		if err != nil {
			return err
		}
		line := tapLine{
			Index: entry.Index, N: n, Term: entry.Term, AtMs: int64(applied.At), Op: codec.OperationOf(frame), Command: frame,
			Answer: answer,
		}
		table := crc32.MakeTable(crc32.Castagnoli)
		line.CRC = crc32.Update(crc32.Checksum(frame, table), table, answer)
		if n++; n == len(applied.Responses) {
			_, hash := m.StateHash()
			line.Hash = hex.EncodeToString(hash[:])
		}
		m.line(line)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("entry %d was applied but cannot be written to the tap: %v", entry.Index, err))
	}
}

// beingHealed is the error for a damaged body that is being fetched from another node.
type beingHealed interface {
	error
	Done() <-chan struct{}
	Outcome() error
}

// withBodies returns an answer with its bodies. Like the callers, it waits for a body that is being
// healed.
func (m *tappedMachine) withBodies(answer codec.Response) (codec.Response, error) {
	for {
		read, err := m.ReadBodies(answer)
		healed, ok := errors.AsType[beingHealed](err)
		if !ok {
			return read, err
		}
		<-healed.Done()
		if healed.Outcome() != nil {
			select {} // the process is ending with an exit code that a panic would hide
		}
	}
}

func (m *tappedMachine) line(line tapLine) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(fmt.Sprintf("encoding a line of the tap: %v", err))
	}
	m.lines.Write(append(text, '\n'))
}

// flush writes the recorded lines. A fault run proves nothing without a complete tap.
func (m *tappedMachine) flush() {
	if _, err := m.tap.Write(m.lines.Bytes()); err != nil {
		panic(fmt.Sprintf("writing to the tap: %v", err))
	}
}
