package partition

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// tries is the number of times that a leader is made stale; make stale-reads sets it.
var tries = flag.Int("stale-tries", 2, "how often each test of stale reads makes a leader stale")

// staleReads repeatedly asks the old leader for counts and messages of a queue, while the others
// elect a new leader and acknowledge a send to the queue. A call that begins after that must not be
// answered without this message.
type staleReads struct {
	*world
	url      string
	acked    atomic.Bool // the send of this try
	askers   sync.WaitGroup
	answered atomic.Int64 // calls that were answered
	refused  atomic.Int64 // calls to the stale leader that were refused
}

// staleAskers is the number of concurrent calls of each kind.
const staleAskers = 4

func newStaleReads(t *testing.T) *staleReads {
	t.Helper()
	s := &staleReads{world: newWorld(t)}
	s.eventually("make the queue", func() error {
		// Received messages stay visible.
		out, err := s.at(s.Next()).CreateQueue(t.Context(), &sqs.CreateQueueInput{
			QueueName: aws.String("stale"), Attributes: map[string]string{"VisibilityTimeout": "0"},
		})
		if err == nil {
			s.url = aws.ToString(out.QueueUrl)
		}
		return err
	})
	return s
}

// count returns the number of messages in the queue according to a node.
func (s *staleReads) count(ctx context.Context, n *harness.Node) (int, error) {
	name := types.QueueAttributeNameApproximateNumberOfMessages
	out, err := s.at(n).GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: &s.url, AttributeNames: []types.QueueAttributeName{name}})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out.Attributes[string(name)])
}

// askUntilAnswered is ask, and waits until the node has answered.
func (s *staleReads) askUntilAnswered(ctx context.Context, n *harness.Node) {
	before := s.answered.Load()
	s.ask(ctx, n)
	s.eventually("answers of the leader", func() error {
		if s.answered.Load() < before+2*staleAskers {
			return errors.New("none yet")
		}
		return nil
	})
}

// ask asks a node until ctx ends.
func (s *staleReads) ask(ctx context.Context, n *harness.Node) {
	question := func(what string, once func() (found int, err error)) {
		s.askers.Go(func() {
			for ctx.Err() == nil {
				known := s.acked.Load()
				found, err := once()
				if err != nil {
					s.refused.Add(1)
					pause(time.Millisecond) // a refusal may come immediately
					continue
				}
				s.answered.Add(1)
				if known && found == 0 {
					s.t.Errorf("%s answered a stale %s", n.Name, what)
				}
			}
		})
	}
	for range staleAskers {
		question("count", func() (int, error) { return s.count(ctx, n) })
		question("empty receive", func() (int, error) {
			out, err := s.at(n).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &s.url, MaxNumberOfMessages: 1})
			if err != nil {
				return 0, err
			}
			return len(out.Messages), nil
		})
	}
}

// acknowledge sends until one of these nodes reports that the queue has the message.
func (s *staleReads) acknowledge(nodes []*harness.Node) {
	i := 0
	s.eventually("a send through the others", func() error {
		i++
		_, err := s.at(nodes[i%len(nodes)]).SendMessage(s.t.Context(),
			&sqs.SendMessageInput{QueueUrl: &s.url, MessageBody: aws.String("m")})
		return err
	})
	s.acked.Store(true)
}

// empty prepares the queue for the next try.
func (s *staleReads) empty() {
	s.acked.Store(false)
	s.eventually("an empty queue that all know", func() error {
		for _, n := range s.Running() {
			out, err := s.at(n).ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &s.url, MaxNumberOfMessages: 10})
			if err != nil {
				return err
			}
			for _, m := range out.Messages {
				if _, err := s.at(n).DeleteMessage(s.t.Context(),
					&sqs.DeleteMessageInput{QueueUrl: &s.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
					return err
				}
			}
			if left, err := s.count(s.t.Context(), n); err != nil || left > 0 {
				return fmt.Errorf("%d messages are left: %w", left, err)
			}
		}
		return nil
	})
}

// report logs the results of the calls. If none was answered or none was refused, the test proves
// nothing.
func (s *staleReads) report() {
	s.t.Logf("%d tries: %d calls answered, %d refused", *tries, s.answered.Load(), s.refused.Load())
	if s.answered.Load() == 0 || s.refused.Load() == 0 {
		s.t.Error("the leader that was answered everything or nothing: the test proves nothing")
	}
}

// TestStaleReadsOfAPausedLeader pauses the process of the leader under write load until another one
// leads, and calls it the moment it continues. At that time the answers to its earlier messages are
// still in its sockets, and must not count as proof of leadership.
func TestStaleReadsOfAPausedLeader(t *testing.T) {
	s := newStaleReads(t)
	load, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range staleAskers {
		writers.Go(func() {
			for load.Err() == nil {
				_ = s.send(s.Next()) // only the load matters
			}
		})
	}
	defer writers.Wait()
	defer stop()
	for range *tries {
		s.empty()
		stale := s.leader()
		asking, done := context.WithCancel(t.Context())
		s.askUntilAnswered(asking, stale)
		harness.Must(t, stale.Pause())
		s.acknowledge(s.Followers(stale))
		s.ask(asking, stale) // calls that began before prove nothing
		pause(20 * time.Millisecond)
		harness.Must(t, stale.Resume())
		pause(200 * time.Millisecond)
		done()
		s.askers.Wait()
	}
	s.report()
}

// TestStaleReadsBesideALearner isolates the leader together with a learner, which has no vote, from
// the other voters.
func TestStaleReadsBesideALearner(t *testing.T) {
	s := newStaleReads(t)
	learner, err := s.Spare("s1")
	harness.Must(t, err)
	t.Cleanup(func() { _ = learner.Kill() })
	harness.Must(t, learner.Start())
	harness.Must(t, learner.WaitReady(t.Context(), waitMax))
	for range *tries {
		s.empty()
		stale := s.leader()
		others := s.Followers(stale)
		var names []string
		for _, n := range others {
			names = append(names, n.Name)
		}
		asking, done := context.WithCancel(t.Context())
		s.askUntilAnswered(asking, stale)
		s.policy(network.Halves([]string{stale.Name, learner.Name}, names))
		s.acknowledge(others)
		s.ask(asking, stale) // calls that began before prove nothing
		pause(200 * time.Millisecond)
		done()
		s.askers.Wait()
		s.policy(network.Heal())
	}
	s.report()
}
