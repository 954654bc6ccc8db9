package security

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// simulated asks the tool for the result of a request, and checks that its exit code agrees.
func simulated(t *testing.T, n *harness.Node, args ...string) (allowed bool, decidedBy string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shared.binary,
		append([]string{"policy", "simulate", "--admin", n.Admin, "-o", "json"}, args...)...)
	out, err := cmd.Output()
	code := 0
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Allowed, Enforced bool
		DecidedBy         string
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if !answer.Enforced || code != map[bool]int{true: 0, false: 4}[answer.Allowed] {
		t.Errorf("exit code %d, %+v", code, answer)
	}
	return answer.Allowed, answer.DecidedBy
}

// TestSimulationsComeTrue makes each simulated request, and checks that it is permitted or refused
// as predicted.
func TestSimulationsComeTrue(t *testing.T) {
	t.Parallel()
	const tenant = "666666666666"
	n := shared.cluster.Nodes[1]
	root, other := newKey(t, n, ""), tenantKey(t, n, tenant)
	made := create(t, client(n, root), "foretold")
	user, bare := newKey(t, n, "foretold"), newKey(t, n, "foretold-bare")
	tool(t, n, `{"Statement":[
		{"Effect":"Allow","Action":["sqs:SendMessage","sqs:PurgeQueue"],"Resource":"arn:aws:sqs:*:*:foretold"},
		{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}},
		{"Effect":"Allow","Action":"sqs:GetQueueAttributes","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"127.0.0.0/8"}}}]}`,
		"policy", "put", "foretold", "--file", "-")
	if _, err := client(n, root).SetQueueAttributes(t.Context(),
		&sqs.SetQueueAttributesInput{QueueUrl: &made, Attributes: map[string]string{"Policy": `{"Statement":[
		{"Sid":"nobody","Effect":"Deny","Principal":"*","Action":"sqs:PurgeQueue","Resource":"*"},
		{"Sid":"them","Effect":"Allow","Principal":{"AWS":["` + tenant +
			`","arn:aws:iam::000000000000:user/foretold-bare"]},"Action":"sqs:SendMessage","Resource":"*"}]}`}}); err != nil {
		t.Fatal(err)
	}
	requests := map[string]func(c *sqs.Client) error{
		"sqs:SendMessage": func(c *sqs.Client) error {
			_, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &made, MessageBody: aws.String("x")})
			return err
		},
		"sqs:ReceiveMessage": func(c *sqs.Client) error {
			_, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &made})
			return err
		},
		"sqs:GetQueueAttributes": func(c *sqs.Client) error {
			_, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &made})
			return err
		},
		"sqs:PurgeQueue": func(c *sqs.Client) error {
			_, err := c.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &made})
			return err
		},
	}
	found := map[string]int{}
	for name, k := range map[string]key{"the account": root, "a user": user, "a user without a policy": bare, "another account": other} {
		for action, do := range requests {
			foretold, by := simulated(t, n, "--key", k.ID, "--action", action, "--resource", "arn:aws:sqs:us-east-1:000000000000:foretold",
				"--condition", "aws:SourceIp=127.0.0.1")
			found[by]++
			if err := do(client(n, k)); (err == nil) != foretold || err != nil && codeOf(err) != "AccessDenied" {
				t.Errorf("%s, %s: foretold %t by %s, came %v", name, action, foretold, by, err)
			}
		}
	}
	want := map[string]int{"ownership": 3, "resource policy": 6, "user policy": 2, "no policy": 5}
	for by, times := range want {
		if found[by] != times {
			t.Errorf("decided by %v, want %v", found, want)
		}
	}
	for _, query := range []string{"", "?user=foretold", "?user=foretold&key=" + user.ID,
		"?user=foretold&account=1&action=sqs:SendMessage"} {
		if _, err := n.Get(t.Context(), "/v1/access/simulate"+query); err == nil || !strings.Contains(err.Error(), "HTTP 400") {
			t.Errorf("%q: %v", query, err)
		}
	}
}
