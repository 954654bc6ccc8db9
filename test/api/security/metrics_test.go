package security

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestMetricsOfAccounts uses queues of one name in three accounts. Each has its own metrics: those
// of the cluster's own account under the plain name, the others with their account before it.
func TestMetricsOfAccounts(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[0]
	const first, second = "707070707070", "808080808080"
	const name = "measured.fifo"
	for i, k := range []key{newKey(t, n, ""), tenantKey(t, n, first), tenantKey(t, n, second, "--messages", "6")} {
		c := client(n, k)
		made, err := c.CreateQueue(t.Context(),
			&sqs.CreateQueueInput{QueueName: aws.String(name),
				Attributes: map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}})
		harness.Must(t, err)
		messages := "123"[:i+1]
		for body := range strings.SplitSeq(messages+messages[:1], "") { // the last one is a duplicate
			if _, err := c.SendMessage(t.Context(),
				&sqs.SendMessageInput{QueueUrl: made.QueueUrl, MessageBody: &body, MessageGroupId: aws.String("g")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	metrics, err := n.Metrics(t.Context())
	harness.Must(t, err)
	for _, line := range []string{
		`seriatim_queue_messages{queue="` + name + `",state="visible"} 1`,
		`seriatim_queue_messages{queue="` + first + `/` + name + `",state="visible"} 2`,
		`seriatim_queue_messages{queue="` + second + `/` + name + `",state="visible"} 3`,
		`seriatim_messages_sent_total{queue="` + name + `"} 1`,
		`seriatim_messages_sent_total{queue="` + first + `/` + name + `"} 2`,
		`seriatim_messages_sent_total{queue="` + second + `/` + name + `"} 3`,
		`seriatim_dedup_hits_total{queue="` + first + `/` + name + `"} 1`,
		`seriatim_account_messages{account="` + first + `"} 2`,
		`seriatim_account_messages{account="` + second + `"} 3`,
		`seriatim_account_bytes{account="` + second + `"} 3`,
		`seriatim_account_quota_ratio{account="` + second + `",resource="messages"} 0.5`,
	} {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			t.Errorf("there is no line %s", line)
		}
	}
	if strings.Contains(metrics, `seriatim_account_quota_ratio{account="`+first+`"`) {
		t.Error("an account without a quota has a ratio")
	}
}
