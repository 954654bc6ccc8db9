package servicebus

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// Schedules, duplicates and cancels have the same results when the leader is killed between them.
func TestSchedules(t *testing.T) {
	if *duration == 0 || *bug != 0 {
		t.Skip("it needs the SDKs of Azure: run make faults-servicebus")
	}
	cluster := harness.New(t, harness.Options{Binary: binary})
	queues, topics := cluster.NewSQS(cluster.Rotate()), cluster.NewSNS(cluster.Rotate())
	attributes := map[string]string{"FifoQueue": "true", "CompatibilityProfile": "servicebus", "MessageGroupIdMode": "Optional"}
	for _, name := range []string{"orders.fifo", "news_2FSubscriptions_2Fall.fifo"} {
		_, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		harness.Must(t, err)
	}
	topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: new("news.fifo"), Attributes: map[string]string{
		"FifoTopic": "true", "CompatibilityProfile": "servicebus", "MessageGroupIdMode": "Optional"}})
	harness.Must(t, err)
	_, err = topics.Subscribe(t.Context(), &sns.SubscribeInput{
		TopicArn: topic.TopicArn, Protocol: new("sqs"), Endpoint: new("arn:aws:sqs:us-east-1:000000000000:news_2FSubscriptions_2Fall.fifo"),
		Attributes: map[string]string{"RawMessageDelivery": "true"},
	})
	harness.Must(t, err)
	front := newFront(t, cluster, nil)
	for name, entity := range map[string][]string{"queue": {"orders"}, "topic": {"news", "all"}} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), *python, append([]string{"python/schedules.py", connection(front)}, entity...)...)
			command.Stderr = os.Stderr
			input, err := command.StdinPipe()
			harness.Must(t, err)
			output, err := command.StdoutPipe()
			harness.Must(t, err)
			harness.Must(t, command.Start())
			for lines := bufio.NewScanner(output); lines.Scan(); { // one for each kill
				killLeader(t, cluster)
				_, err = fmt.Fprintln(input)
				harness.Must(t, err)
			}
			harness.Check(t, command.Wait())
		})
	}
}
