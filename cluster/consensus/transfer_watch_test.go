package consensus

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// TestStuckTransferEndsTheNode covers raft issue 696.
func TestStuckTransferEndsTheNode(t *testing.T) {
	tests := []struct {
		name   string
		leads  bool
		probe  error
		relief []error // further outcomes
		want   []fault.ExitCode
	}{
		{"stuck", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipTransferInProgress},
			[]fault.ExitCode{fault.ExitStuckTransfer}},
		{"the transfer ended", true, nil, nil, nil},
		{"leadership is gone", false, raft.ErrLeadershipTransferInProgress, nil, nil},
		{"a proposal was accepted", true, raft.ErrLeadershipTransferInProgress, []error{nil}, nil},
		{"leadership was lost meanwhile", true, raft.ErrLeadershipTransferInProgress, []error{raft.ErrLeadershipLost}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clustertest.VerifyNoLeaks(t)
			record := clustertest.NewFatalRecord()
			probed := make(chan struct{})
			watch := &transferWatch{
				timeout: 20 * time.Millisecond,
				leads:   func() bool { return test.leads },
				probe:   func() error { close(probed); return test.probe },
				fatal:   record.Fatal,
			}
			watch.observe(raft.ErrLeadershipTransferInProgress)
			for _, outcome := range test.relief {
				watch.observe(outcome)
			}
			if test.want != nil {
				<-record.Ended
			} else if test.leads && test.relief == nil {
				<-probed
			}
			watch.close()
			if codes, _ := record.All(); !slices.Equal(codes, test.want) {
				t.Fatalf("exit codes %v, want %v", codes, test.want)
			}
		})
	}
}
