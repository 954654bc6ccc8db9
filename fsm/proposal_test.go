package fsm

import (
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// proposalOf returns an entry of a term with one request.
func proposalOf(t *testing.T, term uint64, id codec.RequestID, cmds ...queue.Command) []byte {
	t.Helper()
	p := codec.Proposal{At: 1000, Term: term}
	for _, cmd := range cmds {
		frame, err := codec.AppendCommand(nil, cmd)
		if err != nil {
			t.Fatal(err)
		}
		p.Frames, p.Requests = append(p.Frames, frame), append(p.Requests, id)
		id.Number++
	}
	return codec.AppendProposal(nil, p)
}

// An entry that was written in a later term than proposed changes nothing, but is part of the log's
// hash.
func TestEntryOfAnotherTermIsVoid(t *testing.T) {
	type answer struct {
		number, index uint64
		result        queue.Result
	}
	var answers []answer
	f := New(Options{Origin: 5, Answered: func(number uint64, response codec.Response, index uint64, _ queue.Timestamp) {
		answers = append(answers, answer{number, index, response.Result})
	}, Fatal: func(err error) { t.Fatal(err) }})
	apply := func(index, term uint64, data []byte) EntryResult {
		return f.Apply(&raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: data}).(EntryResult)
	}
	apply(1, 3, proposalOf(t, 3, codec.RequestID{}, &queue.SetFormatVersion{Version: format.CurrentVersion}))
	create := &queue.CreateQueue{Queue: "q"}
	before := f.Position()
	void := apply(2, 4, proposalOf(t, 3, codec.RequestID{Origin: 5, Number: 1}, create))
	if !void.Void || len(void.Responses) != 0 || f.View().QueueExists("q") || len(answers) != 0 {
		t.Fatalf("an entry of term 3 in term 4: %+v, answers %v", void, answers)
	}
	after := f.Position()
	if after.Index != 2 || after.Term != 4 || after.StateHash != before.StateHash || after.At != before.At ||
		after.ChainHash == before.ChainHash {
		t.Errorf("from %+v to %+v", before, after)
	}
	if done := apply(3, 4, proposalOf(t, 4, codec.RequestID{Origin: 5, Number: 2}, create)); done.Void || len(done.Responses) != 1 ||
		!f.View().QueueExists("q") {
		t.Errorf("an entry of term 4 in term 4: %+v", done)
	}
	apply(4, 9, proposalOf(t, 9, codec.RequestID{Origin: 6, Number: 2}, create)) // of another process
	apply(5, 9, proposalOf(t, 0, codec.RequestID{Origin: 5, Number: 3}, create)) // of any term
	if len(answers) != 2 || answers[0].number != 2 || answers[0].index != 3 || answers[1].number != 3 || answers[1].result == nil {
		t.Errorf("told of the answers %+v", answers)
	}
}
