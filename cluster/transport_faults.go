//go:build faults

package cluster

import (
	"context"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/fsm/failpoint"
)

// hookedTransport passes the messages of other nodes through failpoints, after
// this node has done what they ask and before it says so.
func hookedTransport(ctx context.Context, transport *raftTransport) raft.Transport {
	t := &transportHooks{raftTransport: transport, calls: make(chan raft.RPC)}
	go t.run(ctx) // ends with ctx; what it waits for ends with the transport
	return t
}

type transportHooks struct {
	*raftTransport
	calls chan raft.RPC // unbuffered, as that of the library
}

// Consumer is where the library takes messages from.
func (t *transportHooks) Consumer() <-chan raft.RPC { return t.calls }

func (t *transportHooks) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case call := <-t.raftTransport.Consumer():
			answers := make(chan raft.RPCResponse, 1) // one answer, for which nobody may wait any more
			hooked := call
			hooked.RespChan = answers
			select {
			case t.calls <- hooked:
				go answerCall(ctx, call, answers)
			case <-ctx.Done():
				return
			}
		}
	}
}

// answerCall hands one answer on. An injected error takes its place.
func answerCall(ctx context.Context, call raft.RPC, answers <-chan raft.RPCResponse) {
	select {
	case <-ctx.Done():
	case answer := <-answers:
		place := ""
		switch call.Command.(type) {
		case *raft.AppendEntriesRequest:
			place = "append-entries-answer"
		case *raft.InstallSnapshotRequest:
			place = "install-snapshot-answer"
		}
		if err := failpoint.Hit(place); err != nil && answer.Error == nil {
			answer.Error = err
		}
		call.RespChan <- answer
	}
}
