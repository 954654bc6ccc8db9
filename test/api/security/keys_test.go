package security

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// client returns an unmodified SDK client of one node, with a key.
func client(n *harness.Node, k key) *sqs.Client {
	return sqs.New(sqs.Options{
		Region: harness.Region, BaseEndpoint: aws.String("http://" + n.Client),
		Credentials: credentials.NewStaticCredentialsProvider(k.ID, k.Secret, ""), Retryer: aws.NopRetryer{},
	})
}

func codeOf(err error) string {
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		return refused.ErrorCode()
	}
	return ""
}

func create(t *testing.T, c *sqs.Client, name string) string {
	t.Helper()
	made, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	harness.Must(t, err)
	return *made.QueueUrl
}

// TestKeysCountOnAllNodes uses each new key at once on every node. A node that does not know the
// key yet must not refuse it. All nodes refuse a revoked key.
func TestKeysCountOnAllNodes(t *testing.T) {
	t.Parallel()
	nodes := shared.cluster.Nodes
	for i := range 15 {
		k := newKey(t, nodes[i%3], "")
		for _, n := range nodes {
			if _, err := client(n, k).ListQueues(t.Context(), nil); err != nil {
				t.Fatalf("key %d at %s: %v", i, n.Name, err)
			}
		}
		tool(t, nodes[i%3], "", "key", "revoke", k.ID, "--yes")
		if _, err := client(nodes[i%3], k).ListQueues(t.Context(), nil); codeOf(err) != "InvalidClientTokenId" {
			t.Fatalf("a revoked key at the node that knows: %v", err)
		}
	}
}

// TestRotation replaces the key of a user during sends. No request is refused.
func TestRotation(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[0]
	root := newKey(t, n, "")
	url := create(t, client(n, root), "rotated")
	old := newKey(t, n, "rotating")
	tool(t, n, `{"Statement":{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"*"}}`, "policy", "put", "rotating", "--file", "-")

	var mu sync.Mutex
	present, sent := old, 0
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			mu.Lock()
			_, err := client(shared.cluster.Nodes[sent%3], present).SendMessage(t.Context(),
				&sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
			sent++
			mu.Unlock()
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for range 5 {
		text := string(tool(t, n, "", "key", "rotate", present.ID))
		next := key{ID: value(text, "AWS_ACCESS_KEY_ID"), Secret: value(text, "AWS_SECRET_ACCESS_KEY")}
		mu.Lock()
		revoked := present
		present = next
		mu.Unlock()
		tool(t, n, "", "key", "revoke", revoked.ID, "--yes")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after %d messages: %v", sent, err)
	}
	if sent < 5 {
		t.Errorf("%d messages only were sent meanwhile", sent)
	}
}

// value returns the value of a line NAME=value.
func value(text, name string) string {
	_, rest, _ := strings.Cut(text, name+"=")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestAccountsAreApart checks that a key of another account can do only what a policy of this
// account permits.
func TestAccountsAreApart(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[1]
	root := client(n, newKey(t, n, ""))
	url := create(t, root, "shared")
	var k key
	tool(t, n, "", "account", "create", "999999999999")
	text := string(tool(t, n, "", "key", "create", "--account", "999999999999"))
	k = key{value(text, "AWS_ACCESS_KEY_ID"), value(text, "AWS_SECRET_ACCESS_KEY")}
	other := client(n, k)

	send := func(c *sqs.Client) error {
		_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
		return err
	}
	if err := send(other); codeOf(err) != "AccessDenied" {
		t.Errorf("another account sent: %v", err)
	}
	if listed, err := other.ListQueues(t.Context(), nil); err != nil || len(listed.QueueUrls) != 0 {
		t.Errorf("another account has the queues %v, %v", listed, err)
	}
	if _, err := root.AddPermission(t.Context(), &sqs.AddPermissionInput{
		QueueUrl: &url, Label: aws.String("theirs"), AWSAccountIds: []string{"999999999999"}, Actions: []string{"SendMessage"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := send(other); err != nil {
		t.Errorf("another account may not send although a policy permits it: %v", err)
	}
	if _, err := other.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url}); codeOf(err) != "AccessDenied" {
		t.Errorf("another account received: %v", err)
	}
	if _, err := root.RemovePermission(t.Context(), &sqs.RemovePermissionInput{QueueUrl: &url, Label: aws.String("theirs")}); err != nil {
		t.Fatal(err)
	}
	// After this read, the node has applied the change.
	harness.Must(t, harness.Err(root.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url})))
	if err := send(other); codeOf(err) != "AccessDenied" {
		t.Errorf("another account sent after the policy was taken away: %v", err)
	}
}

// TestSecretsAreNowhere looks for secrets in everything that a node outputs.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[2]
	k := newKey(t, n, "discreet")
	_, _ = client(n, k).ListQueues(t.Context(), nil)                         // refused
	_, _ = client(n, key{k.ID, k.Secret + "!"}).ListQueues(t.Context(), nil) // refused
	_, _ = client(n, key{k.ID + "!", k.Secret}).ListQueues(t.Context(), nil) // refused
	places := map[string]string{}
	for _, node := range shared.cluster.Nodes {
		places["the log of "+node.Name] = node.Log()
		metrics, err := node.Metrics(t.Context())
		harness.Must(t, err)
		places["the metrics of "+node.Name] = metrics
		for _, path := range []string{"/v1/status", "/v1/access/keys", "/v1/access/policies", "/v1/queues", "/v1/cluster/members",
			"/v1/audit?limit=1000", "/v1/logs?limit=1000", "/v1/connections", "/v1/history", "/v1/settings"} {
			text, err := node.Get(t.Context(), path)
			harness.Must(t, err)
			places[fmt.Sprintf("%s of %s", path, node.Name)] = string(text)
		}
	}
	again := post(t, n, request{`{"id":"` + k.ID + `"}`, http.Header{}}, nil)
	places["a refusal"] = again.body
	for place, text := range places {
		if text == "" {
			t.Errorf("%s is empty", place)
		}
		if strings.Contains(text, k.Secret) {
			t.Errorf("%s tells a secret", place)
		}
	}
}
