package failover

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestLongPollsOutliveTheLeader kills the leader and restarts it at once, like a supervisor.
// Receives without an attempt id that wait at other nodes continue, and each gets one of the
// messages sent afterwards.
func TestLongPollsOutliveTheLeader(t *testing.T) {
	c := cluster(t)
	p := newPersistent(c, c.Rotate())
	queue := p.create(t, "polled.fifo", nil)
	const polls = 20
	for round := range 2 {
		victim := leader(t, c)
		var polling sync.WaitGroup
		got, failed := make(chan string, polls), make(chan error, polls)
		followers := c.Followers(victim)
		for i := range polls {
			client := c.NewSQS(harness.Only(followers[i%len(followers)]), func(o *sqs.Options) { o.Retryer = aws.NopRetryer{} })
			polling.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out, err := client.ReceiveMessage(ctx,
					&sqs.ReceiveMessageInput{QueueUrl: &queue, WaitTimeSeconds: 20, MaxNumberOfMessages: 1})
				if err != nil {
					failed <- err
					return
				}
				for _, m := range out.Messages {
					got <- aws.ToString(m.Body)
				}
			})
		}
		time.Sleep(500 * time.Millisecond) // no event shows that a poll waits at the leader; if one does not yet, less is tested
		kill(t, victim)
		harness.Must(t, victim.Start())
		for i := range polls {
			body := fmt.Sprint(round, "-", i)
			p.send(t, queue, body, body, body) // in its own group
		}
		polling.Wait()
		close(failed)
		for err := range failed {
			t.Errorf("a receive that waited: %v", err)
		}
		close(got)
		seen := map[string]bool{}
		for body := range got {
			if seen[body] {
				t.Errorf("%s was received twice", body)
			}
			seen[body] = true
		}
		if len(seen) != polls {
			t.Errorf("%d messages were received, want %d", len(seen), polls)
		}
		harness.Must(t, victim.WaitReady(t.Context(), harness.StartTimeout))
		agree(t, c)
	}
}
