package consensus

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
)

func TestTranslateTellsNotProposedFromUnknown(t *testing.T) {
	tests := []struct{ err, want error }{
		{nil, nil},
		{raft.ErrNotLeader, fault.ErrNotLeader},
		{raft.ErrEnqueueTimeout, fault.ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, fault.ErrNotLeader},
		{raft.ErrLeadershipLost, fault.ErrOutcomeUnknown},
		{raft.ErrRaftShutdown, fault.ErrOutcomeUnknown},
		{raft.ErrAbortedByRestore, fault.ErrOutcomeUnknown},
		{errors.New("append to the log: no space left on device"), fault.ErrOutcomeUnknown},
	}
	for _, test := range tests {
		got := translate(test.err)
		if !errors.Is(got, test.want) || (test.want == nil) != (got == nil) {
			t.Errorf("%v became %v, want %v", test.err, got, test.want)
		}
		if errors.Is(got, fault.ErrNotLeader) && errors.Is(got, fault.ErrOutcomeUnknown) {
			t.Errorf("%v is both", got)
		}
	}
}
