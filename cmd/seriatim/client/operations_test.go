package client

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// A command that moves or deletes many messages reports what it did before an error.
func TestStoredChangesBeforeAnError(t *testing.T) {
	t.Parallel()
	args := []string{"q", "--yes", "-o", "json"}
	for i := range 150 {
		args = append(args, "--sequence", strconv.Itoa(i+1))
	}
	for command, want := range map[string]string{"move": `"destination": "to"`, "discard": `"deleted": 100`} {
		calls := 0
		endpoint, _ := node(t, speaks(func(string, proto.Message) (proto.Message, error) {
			calls++
			if calls > 1 {
				return nil, refusal(codes.NotFound, "QueueDoesNotExist", "it is gone")
			}
			if command == "discard" {
				return &seriatimpb.DeleteStoredResponse{Outcomes: outcomes(make([]string, 100)...)}, nil
			}
			moved := &seriatimpb.MoveStoredResponse{}
			for range 100 {
				moved.Results = append(moved.Results, &seriatimpb.MoveResult{Destination: "to", SequenceNumber: 7})
			}
			return moved, nil
		}))
		given := append([]string{"msg", command}, args...)
		if command == "move" { // it does not ask
			given = append([]string{"msg", command, "q"}, args[2:]...)
		}
		r := runTool(t, endpoint, "", given...)
		if exit.CodeOf(r.err) != exit.NotFound || !strings.Contains(r.out, want) ||
			!strings.Contains(r.words, "d 100 messages before an error") {
			t.Errorf("%s: %v\n%s%s", command, r.err, r.out, r.words)
		}
		if n := strings.Count(r.out, `"sequenceNumber": "7"`); command == "move" && n != 100 {
			t.Errorf("%d moved messages are printed", n)
		}
	}
}

// The hint after an interrupted migration says until when messages are hidden.
func TestInterruptedMove(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		want exit.Code
	}{{t.Context(), exit.Timeout}, {ended, exit.Interrupted}} {
		err := interruptedMove(c.ctx, exit.New(exit.Timeout, errors.New("no answer"), ""), 3)
		if exit.CodeOf(err) != c.want || !strings.Contains(err.Error(), "3 messages were moved") ||
			!strings.Contains(exit.HintOf(err), "hidden at the source for 2 minutes") {
			t.Errorf("%v: %s", err, exit.HintOf(err))
		}
	}
}
