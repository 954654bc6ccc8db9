package consensus

import (
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet/peernettest"
)

// TestPipelineSendsWhenNobodyTakesAnswers guards against raft issue 612: a library
// that has stopped asking for answers must not wait for ever when it sends.
func TestPipelineSendsWhenNobodyTakesAnswers(t *testing.T) {
	a, b := peernettest.Pair(t, nil)
	notifier := newCommitNotifier(environment.SystemClock(), 25*time.Millisecond, hclog.NewNullLogger())
	barriers := 0
	notifier.watch(fixedCommit{state: raft.Follower, barriers: &barriers})
	options := testOptions(a, newContacts(environment.SystemClock()))
	options.Commits = notifier
	from := newTransport(options)
	to := newTransport(testOptions(b, newContacts(environment.SystemClock())))
	defer from.Close()
	defer to.Close()
	const messages = 10
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range messages {
			rpc := <-to.Consumer()
			rpc.Respond(&raft.AppendEntriesResponse{Term: 4}, nil)
		}
	}()
	pipeline, err := from.AppendEntriesPipeline("b-2", "b-2")
	if err != nil {
		t.Fatal(err)
	}
	defer pipeline.Close()
	sent := make(chan error, messages) // all of them
	go func() {
		for range messages {
			_, err := pipeline.AppendEntries(&raft.AppendEntriesRequest{Term: 4}, new(raft.AppendEntriesResponse))
			sent <- err
		}
	}()
	for i := range messages {
		select {
		case err := <-sent:
			if err != nil {
				t.Fatal(err)
			}
		case <-clustertest.Context(t).Done():
			t.Fatalf("message %d waits for answers to be taken", i)
		}
	}
	<-answered
	// Whoever asks now gets all of them, in order.
	for range messages {
		<-pipeline.Consumer()
	}
}
