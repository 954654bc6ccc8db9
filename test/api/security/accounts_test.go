package security

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
	apis "github.com/seriatimq/seriatim/transport/aws"
	snsapi "github.com/seriatimq/seriatim/transport/sns"
	sqsapi "github.com/seriatimq/seriatim/transport/sqs"
)

// tenantKey creates an account with an access key.
func tenantKey(t *testing.T, n *harness.Node, id string, quota ...string) (k key) {
	t.Helper()
	tool(t, n, "", append([]string{"account", "create", id}, quota...)...)
	harness.Must(t, json.Unmarshal(tool(t, n, "", "key", "create", "--account", id, "-o", "json"), &k))
	return k
}

func topics(n *harness.Node, k key) *sns.Client {
	return sns.New(sns.Options{
		Region: harness.Region, BaseEndpoint: aws.String("http://" + n.Client),
		Credentials: credentials.NewStaticCredentialsProvider(k.ID, k.Secret, ""), Retryer: aws.NopRetryer{},
	})
}

// requestID differs from answer to answer.
var requestID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// TestASecondAccountSeesNothing tries every action on existing and missing resources of the first
// account. The answers to the second account are the same for both, so they reveal nothing.
func TestASecondAccountSeesNothing(t *testing.T) {
	n := shared.cluster.Nodes[0]
	root := newKey(t, n, "")
	queue := create(t, client(n, root), "hidden")
	if _, err := client(n, root).SendMessage(t.Context(),
		&sqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("a secret")}); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, harness.Err(topics(n, root).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("hidden")})))
	other := tenantKey(t, n, "222222222222")
	// These actions name no queue or topic: they list those of the caller.
	own := map[string]bool{"ListQueues": true, "ListTopics": true, "ListSubscriptions": true, "CreateQueue": true, "CreateTopic": true}
	tested := 0
	for _, api := range []*apis.API{sqsapi.New(t.Context(), sqsapi.Options{}).API(), snsapi.API()} {
		for _, action := range api.Actions {
			for _, protocol := range []string{apis.JSON, apis.Query} {
				if protocol == apis.JSON && api.Target == "" || unguarded[action.Name] {
					continue
				}
				tested++
				name := protocol + " " + api.Service + ":" + action.Name
				ask := func(about string) answer {
					q := requestAbout(api, action, protocol, about)
					got := post(t, n, q, other.signer(api.Service))
					got.body = requestID.ReplaceAllString(strings.ReplaceAll(got.body, about, "NAME"), "ID")
					return got
				}
				seen, missing := ask("hidden"), ask("absent")
				if seen != missing && !own[action.Name] {
					t.Errorf("%s about what is there: %+v\nand about what is not: %+v", name, seen, missing)
				}
				switch {
				case own[action.Name]:
					if strings.Contains(seen.body, "000000000000") {
						t.Errorf("%s: %+v", name, seen)
					}
				case action.Name == "GetQueueUrl":
					if seen.code != "AWS.SimpleQueueService.NonExistentQueue" {
						t.Errorf("%s: %+v", name, seen)
					}
				case seen.code != "AccessDenied":
					t.Errorf("%s: %+v", name, seen)
				}
			}
		}
	}
	if tested < 60 {
		t.Errorf("%d requests only: were the tables read?", tested)
	}
	got, err := client(n, root).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queue})
	if err != nil || len(got.Messages) != 1 || *got.Messages[0].Body != "a secret" {
		t.Errorf("the message is not what it was: %+v, %v", got, err)
	}
}

// TestEqualNamesInTwoAccounts uses a queue and a topic of one name in two accounts, with SDKs.
func TestEqualNamesInTwoAccounts(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[2]
	const tenant = "333333333333"
	keys := map[string]key{"000000000000": newKey(t, n, ""), tenant: tenantKey(t, n, tenant)}
	urls := map[string]string{}
	for id, k := range keys {
		made, err := client(n, k).CreateQueue(t.Context(),
			&sqs.CreateQueueInput{QueueName: aws.String("equal.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
		harness.Must(t, err)
		urls[id] = *made.QueueUrl
		if !strings.HasSuffix(urls[id], "/"+id+"/equal.fifo") {
			t.Errorf("account %s has the queue %s", id, urls[id])
		}
		topic, err := topics(n, k).CreateTopic(t.Context(),
			&sns.CreateTopicInput{Name: aws.String("equal.fifo"), Attributes: map[string]string{"FifoTopic": "true"}})
		if err != nil || *topic.TopicArn != "arn:aws:sns:us-east-1:"+id+":equal.fifo" {
			t.Fatalf("%v, %v", topic, err)
		}
		if _, err := topics(n, k).Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: aws.String("arn:aws:sqs:us-east-1:" + id + ":equal.fifo"),
			Attributes: map[string]string{"RawMessageDelivery": "true"},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := topics(n, k).Publish(t.Context(), &sns.PublishInput{
			TopicArn: topic.TopicArn, Message: aws.String("of " + id), MessageGroupId: aws.String("g"),
			MessageDeduplicationId: aws.String("d"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for id, k := range keys {
		found, err := client(n, k).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("equal.fifo")})
		if err != nil || *found.QueueUrl != urls[id] {
			t.Errorf("account %s finds %v, %v", id, found, err)
		}
		got, err := client(n, k).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: found.QueueUrl, MaxNumberOfMessages: 10})
		if err != nil || len(got.Messages) != 1 || *got.Messages[0].Body != "of "+id {
			t.Errorf("account %s receives %+v, %v", id, got, err)
		}
		for other, url := range urls {
			_, err := client(n, k).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url})
			if (err == nil) != (other == id) || other != id && codeOf(err) != "AccessDenied" {
				t.Errorf("account %s at the queue of %s: %v", id, other, err)
			}
		}
	}
	// The second account can do what a policy of the first one permits.
	first := client(n, keys["000000000000"])
	if _, err := first.AddPermission(t.Context(), &sqs.AddPermissionInput{
		QueueUrl: aws.String(urls["000000000000"]), Label: aws.String("theirs"), AWSAccountIds: []string{tenant},
		Actions: []string{"GetQueueUrl", "SendMessage"},
	}); err != nil {
		t.Fatal(err)
	}
	found, err := client(n, keys[tenant]).GetQueueUrl(t.Context(),
		&sqs.GetQueueUrlInput{QueueName: aws.String("equal.fifo"), QueueOwnerAWSAccountId: aws.String("000000000000")})
	if err != nil || *found.QueueUrl != urls["000000000000"] {
		t.Errorf("the tenant finds %v, %v", found, err)
	}
	subscribe := func(account string) error {
		_, err := topics(n, keys[tenant]).Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: aws.String("arn:aws:sns:us-east-1:" + tenant + ":equal.fifo"), Protocol: aws.String("sqs"),
			Endpoint: aws.String("arn:aws:sqs:us-east-1:" + account + ":equal.fifo"),
		})
		return err
	}
	if err := subscribe("000000000000"); err != nil {
		t.Errorf("a queue that the tenant may send to cannot be subscribed: %v", err)
	}
	if err := subscribe("222222222222"); codeOf(err) != "AccessDenied" {
		t.Errorf("a queue that the tenant may not send to: %v", err)
	}
}

// TestQuotaIsExact sends to an account until its quota refuses.
func TestQuotaIsExact(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[1]
	const tenant = "444444444444"
	c := client(n, tenantKey(t, n, tenant, "--queues", "1", "--messages", "5"))
	url := create(t, c, "q")
	if _, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("one-more")}); codeOf(err) != "OverLimit" {
		t.Errorf("a queue too many: %v", err)
	}
	for i := range 7 {
		_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(fmt.Sprint(i))})
		if (err == nil) != (i < 5) || err != nil && codeOf(err) != "OverLimit" {
			t.Errorf("message %d: %v", i, err)
		}
	}
	var shown struct {
		Usage struct{ Queues, Messages, Bytes int }
	}
	if err := json.Unmarshal(tool(t, n, "", "account", "show", tenant, "-o", "json"), &shown); err != nil || shown.Usage.Messages != 5 ||
		shown.Usage.Bytes != 5 || shown.Usage.Queues != 1 {
		t.Errorf("account show: %+v, %v", shown, err)
	}
	tool(t, n, "", "account", "quota", tenant, "--messages", "6")
	for i := range 2 {
		if _, err := c.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")}); (err == nil) != (i == 0) {
			t.Errorf("message %d after the quota was raised: %v", i, err)
		}
	}
}
