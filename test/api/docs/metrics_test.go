package docs

import (
	"bufio"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// checkMetrics compares the table of metrics with those that the nodes serve, and with -update
// writes it. A metric that was not counted yet may be missing in the nodes, but its name must be in
// the code.
func checkMetrics(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	const document = "docs/reference/metrics.md"
	fillMetrics(t, cluster)
	want := metricsTable(t, cluster.Nodes)
	if *update {
		checkGenerated(t, document, "metrics", want)
		return
	}
	have := read(t, document)
	for line := range strings.Lines(want) {
		if !strings.Contains(have, line) {
			t.Errorf("%s lacks this line; run make generate:\n%s", document, line)
		}
	}
	code := metricsCode(t)
	for _, m := range regexp.MustCompile("`(seriatim_[a-z_]+)`").FindAllStringSubmatch(have, -1) {
		if !strings.Contains(code, `"`+m[1]+`"`) {
			t.Errorf("%s describes %s, which is not in the code", document, m[1])
		}
	}
}

// metricsCode lists the folders whose code names metrics.
func metricsCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, name := range tracked(t, "cluster/*.go", "transport/*.go", "cmd/*.go") {
		if !strings.HasSuffix(name, "_test.go") {
			code.WriteString(read(t, name))
		}
	}
	return code.String()
}

// TestEveryMetricIsListed checks that the table has each metric that the code names, also
// those that nodes serve only under some conditions.
func TestEveryMetricIsListed(t *testing.T) {
	table := read(t, "docs/reference/metrics.md")
	for _, m := range regexp.MustCompile(`"(seriatim_[a-z_]+)"`).FindAllStringSubmatch(metricsCode(t), -1) {
		if !strings.Contains(table, "| `"+m[1]+"` |") {
			t.Errorf("docs/reference/metrics.md does not list %s: have fillMetrics bring it about, then make generate", m[1])
		}
	}
}

// fillMetrics waits until the nodes serve the metrics that appear only after a certain event, such
// as a request or news of other nodes.
func fillMetrics(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	client := cluster.NewSQS(cluster.Rotate())
	created, err := client.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("metrics.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	harness.Must(t, err)
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: created.QueueUrl, MessageBody: aws.String("m"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("1"),
	}); err != nil {
		t.Fatal(err)
	}
	fillTopicMetrics(t, cluster)
	for deadline := time.Now().Add(snippetTimeout); ; time.Sleep(100 * time.Millisecond) { // a process offers no event to wait for
		table := metricsTable(t, cluster.Nodes)
		if strings.Contains(table, "`seriatim_clock_skew_seconds`") && strings.Contains(table, "`seriatim_queue_messages`") &&
			strings.Contains(table, "`seriatim_account_quota_ratio`") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the nodes serve no word of each other's clocks, none of a queue or none of a quota:\n%s", table)
		}
	}
}

// fillTopicMetrics publishes a message that one queue drops as a duplicate, one that goes to a
// dead-letter queue, and one that is lost.
func fillTopicMetrics(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	client := cluster.NewSNS(cluster.Rotate())
	topic, err := client.CreateTopic(t.Context(),
		&sns.CreateTopicInput{Name: aws.String("metrics.fifo"), Attributes: map[string]string{"FifoTopic": "true"}})
	harness.Must(t, err)
	arn := func(queue string) *string {
		return aws.String("arn:aws:sqs:" + harness.Region + ":000000000000:" + queue)
	}
	for queue, attributes := range map[string]map[string]string{ // order does not matter
		"metrics.fifo": nil, "lost.fifo": nil, "moved.fifo": {"RedrivePolicy": `{"deadLetterTargetArn":"` + *arn("dead.fifo") + `"}`},
	} {
		if _, err := client.Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: arn(queue), Attributes: attributes,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster.NewSQS(cluster.Rotate()).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String("dead.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Publish(t.Context(), &sns.PublishInput{
		TopicArn: topic.TopicArn, Message: aws.String("m"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("1"),
	}); err != nil {
		t.Fatal(err)
	}
}

// metricsTable lists the metrics of a node with their help and type.
func metricsTable(t *testing.T, nodes []*harness.Node) string {
	t.Helper()
	help, kind := map[string]string{}, map[string]string{}
	for _, n := range nodes {
		text, err := n.Metrics(t.Context())
		harness.Must(t, err)
		for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
			mark, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), " ")
			name, words, _ := strings.Cut(rest, " ")
			switch {
			case !strings.HasPrefix(name, "seriatim_"):
			case mark == "HELP":
				help[name] = words
			case mark == "TYPE":
				kind[name] = words
			}
		}
	}
	var b strings.Builder
	b.WriteString("| Metric | Type | Meaning |\n| --- | --- | --- |\n")
	for _, name := range slices.Sorted(maps.Keys(help)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind[name], help[name])
	}
	return b.String()
}
