package security

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/sns"
	"github.com/seriatimq/seriatim/transport/sqs"
)

// asks returns a request for an action, with attributes.
func asks(api *aws.API, action, protocol string, members, attributes map[string]string) request {
	if protocol == aws.JSON {
		body := map[string]any{}
		for name, value := range members {
			body[name] = value
		}
		if attributes != nil {
			body["Attributes"] = attributes
		}
		text, err := json.Marshal(body)
		if err != nil {
			panic(err) // strings can be encoded
		}
		return request{string(text), http.Header{"Content-Type": {aws.JSONType}, "X-Amz-Target": {api.Target + action}}}
	}
	form := url.Values{"Action": {action}, "Version": {api.Version}}
	for name, value := range members {
		form.Set(name, value)
	}
	number := 0
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		number++
		if api.Service == "sns" {
			form.Set(fmt.Sprintf("Attributes.entry.%d.key", number), name)
			form.Set(fmt.Sprintf("Attributes.entry.%d.value", number), attributes[name])
			continue
		}
		form.Set(fmt.Sprintf("Attribute.%d.Name", number), name)
		form.Set(fmt.Sprintf("Attribute.%d.Value", number), attributes[name])
	}
	return request{form.Encode(), http.Header{"Content-Type": {aws.FormType}}}
}

// TestSecondResources calls each action that uses a second resource as a user to whom this use is
// denied, and then without the denial.
func TestSecondResources(t *testing.T) {
	t.Parallel()
	const queues, topics, urls = "arn:aws:sqs:us-east-1:000000000000:", "arn:aws:sns:us-east-1:000000000000:",
		"http://localhost/000000000000/"
	n := shared.cluster.Nodes[0]
	doris, root := newKey(t, n, "doris"), newKey(t, n, "")
	may := func(denied, on string) {
		t.Helper()
		text := `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}`
		if denied != "" {
			text += `,{"Effect":"Deny","Action":"` + denied + `","Resource":"` + queues + on + `"}`
		}
		tool(t, n, text+`]}`, "policy", "put", "doris", "--file", "-")
	}
	services := map[string]*aws.API{"sqs": sqs.New(t.Context(), sqs.Options{}).API(), "sns": sns.API()}
	letters := map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + queues + `second-letters","maxReceiveCount":"5"}`}
	undelivered := map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"` + queues + `second-letters"}`}
	made := func(service, action string, members, attributes map[string]string) string {
		t.Helper()
		got := post(t, n, asks(services[service], action, aws.Query, members, attributes), root.signer(service))
		if got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", action, got.status, got.body)
		}
		return got.body
	}
	made("sqs", "CreateQueue", map[string]string{"QueueName": "second-letters"}, nil)
	made("sqs", "CreateQueue", map[string]string{"QueueName": "second-other"}, nil)
	made("sqs", "CreateQueue", map[string]string{"QueueName": "second"}, letters)
	made("sns", "CreateTopic", map[string]string{"Name": "second"}, nil)
	_, subscription, _ := strings.Cut(made("sns", "Subscribe",
		map[string]string{"TopicArn": topics + "second", "Protocol": "sqs", "Endpoint": queues + "second"}, nil), "<SubscriptionArn>")
	subscription, _, _ = strings.Cut(subscription, "<")

	named := map[string]string{"QueueName": "second-new"}
	subscribed := map[string]string{"TopicArn": topics + "second", "Protocol": "sqs", "Endpoint": queues + "second-other"}
	moved := map[string]string{"SourceArn": queues + "second-letters", "DestinationArn": queues + "second-other"}
	reset := func(name, value string) map[string]string {
		return map[string]string{"SubscriptionArn": subscription, "AttributeName": name, "AttributeValue": value}
	}
	tried := map[string]bool{}
	for _, tc := range []struct {
		service, action     string
		denied, on          string
		members, attributes map[string]string
	}{
		{"sqs", "CreateQueue", "sqs:SendMessage", "second-letters", named, letters},
		{"sqs", "CreateQueue", "sqs:SendMessage", "second-new-dlq", named, map[string]string{"ImplicitDeadLetterQueue": "true"}},
		{"sqs", "SetQueueAttributes", "sqs:SendMessage", "second-letters", map[string]string{"QueueUrl": urls + "second"}, letters},
		{"sqs", "StartMessageMoveTask", "sqs:ReceiveMessage", "second-letters", moved, nil},
		{"sqs", "StartMessageMoveTask", "sqs:DeleteMessage", "second-letters", moved, nil},
		{"sqs", "StartMessageMoveTask", "sqs:GetQueueAttributes", "second-letters", moved, nil},
		{"sqs", "StartMessageMoveTask", "sqs:SendMessage", "second-other", moved, nil},
		{"sqs", "StartMessageMoveTask", "sqs:SendMessage", "second", map[string]string{"SourceArn": queues + "second-letters"}, nil},
		{"sns", "Subscribe", "sqs:SendMessage", "second-other", subscribed, nil},
		{"sns", "Subscribe", "sqs:SendMessage", "second-letters", subscribed, undelivered},
		{"sns", "SetSubscriptionAttributes", "sqs:SendMessage", "second-letters", reset("RedrivePolicy", undelivered["RedrivePolicy"]),
			nil},
		{"sns", "SetSubscriptionAttributes", "sqs:SendMessage", "second",
			reset("ReplayPolicy", `{"PointType":"Timestamp","StartingPoint":"2026-01-01T00:00:00Z"}`), nil},
	} {
		tried[tc.service+tc.action] = true
		for _, protocol := range []string{aws.JSON, aws.Query} {
			if services[tc.service].Target == "" && protocol == aws.JSON {
				continue
			}
			q := asks(services[tc.service], tc.action, protocol, tc.members, tc.attributes)
			may(tc.denied, tc.on)
			if got := post(t, n, q, doris.signer(tc.service)); got.code != "AccessDenied" || !strings.Contains(got.body, tc.on) {
				t.Errorf("%s %s without %s on %s: %d %s\n%s", protocol, tc.action, tc.denied, tc.on, got.status, got.code, got.body)
			}
			may("", "")
			if got := post(t, n, q, doris.signer(tc.service)); got.code == "AccessDenied" {
				t.Errorf("%s %s with all permissions: %d %s\n%s", protocol, tc.action, got.status, got.code, got.body)
			}
		}
	}
	for service, api := range services {
		for _, action := range api.Actions {
			if tried[service+action.Name] != (action.Needs != nil) {
				t.Errorf("%s needs more than one permission: %t, and was tried: %t", action.Name, action.Needs != nil,
					tried[service+action.Name])
			}
		}
	}
}

// TestNoWayAroundADenial checks that a user cannot send through a topic to a queue that denies this
// user everything.
func TestNoWayAroundADenial(t *testing.T) {
	t.Parallel()
	const queue, topic = "arn:aws:sqs:us-east-1:000000000000:closed", "arn:aws:sns:us-east-1:000000000000:around"
	n := shared.cluster.Nodes[1]
	root, eve := newKey(t, n, ""), newKey(t, n, "eve")
	services := map[string]*aws.API{"sqs": sqs.New(t.Context(), sqs.Options{}).API(), "sns": sns.API()}
	tool(t, n, `{"Statement":{"Effect":"Allow","Action":["sns:*","sqs:*"],"Resource":"*"}}`, "policy", "put", "eve", "--file", "-")
	closed := map[string]string{"Policy": `{"Statement":{"Effect":"Deny","Principal":{"AWS":"arn:aws:iam::000000000000:user/eve"},"Action":"sqs:*","Resource":"` + queue + `"}}`}
	for _, step := range []struct {
		by                  key
		service, action     string
		members, attributes map[string]string
		status              int
	}{
		{root, "sqs", "CreateQueue", map[string]string{"QueueName": "closed"}, closed, http.StatusOK},
		{eve, "sns", "CreateTopic", map[string]string{"Name": "around"}, nil, http.StatusOK},
		// After this read, the node knows the change of permissions although another node leads.
		{root, "sqs", "GetQueueUrl", map[string]string{"QueueName": "closed"}, nil, http.StatusOK},
		{eve, "sns", "Subscribe", map[string]string{"TopicArn": topic, "Protocol": "sqs", "Endpoint": queue}, nil, http.StatusForbidden},
		{root, "sns", "Subscribe", map[string]string{"TopicArn": topic, "Protocol": "sqs", "Endpoint": queue}, nil, http.StatusOK},
	} {
		if got := post(t, n, asks(services[step.service], step.action, aws.Query, step.members, step.attributes),
			step.by.signer(step.service)); got.status != step.status {
			t.Errorf("%s: %d %s, want %d\n%s", step.action, got.status, got.code, step.status, got.body)
		}
	}
}

// TestPoliciesThatAreRefused stores policies with typos through every action that takes one.
func TestPoliciesThatAreRefused(t *testing.T) {
	t.Parallel()
	const queue, topic = "arn:aws:sqs:us-east-1:000000000000:strict", "arn:aws:sns:us-east-1:000000000000:strict"
	n := shared.cluster.Nodes[2]
	root := newKey(t, n, "")
	services := map[string]*aws.API{"sqs": sqs.New(t.Context(), sqs.Options{}).API(), "sns": sns.API()}
	ask := func(service, action string, members, attributes map[string]string) answer {
		t.Helper()
		return post(t, n, asks(services[service], action, aws.Query, members, attributes), root.signer(service))
	}
	ask("sqs", "CreateQueue", map[string]string{"QueueName": "strict"}, nil)
	ask("sns", "CreateTopic", map[string]string{"Name": "strict"}, nil)
	statement := func(service, rest string) map[string]string {
		return map[string]string{"Policy": `{"Statement":[{"Effect":"Allow","Action":"` + service + `:*","Resource":"*"` + rest + `}]}`}
	}
	const typo, said = `,"Principal":"*","Conditions":{}`, "Statement[0].Conditions: there is no such member, did you mean Condition?"
	for _, tc := range []struct {
		what string
		got  answer
		code string
		says string
	}{
		{"a queue", ask("sqs", "SetQueueAttributes", map[string]string{"QueueUrl": "strict"}, statement("sqs", typo)),
			"InvalidAttributeValue", said},
		{"a queue without a principal", ask("sqs", "SetQueueAttributes", map[string]string{"QueueUrl": "strict"}, statement("sqs", "")),
			"InvalidAttributeValue", "Principal is missing"},
		{"a queue about another", ask("sqs", "SetQueueAttributes", map[string]string{"QueueUrl": "strict"}, map[string]string{
			"Policy": `{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"` + queue + `x"}}`,
		}), "InvalidAttributeValue", "it is not about " + queue},
		{"a new queue", ask("sqs", "CreateQueue", map[string]string{"QueueName": "strict-new"}, statement("sqs", typo)),
			"InvalidAttributeValue", said},
		{"a permission", ask("sqs", "AddPermission",
			map[string]string{"QueueUrl": "strict", "Label": "l", "AWSAccountId.1": "somebody", "ActionName.1": "SendMessage"}, nil),
			"InvalidParameterValue", "Unable to verify."},
		{"a topic", ask("sns", "SetTopicAttributes",
			map[string]string{"TopicArn": topic, "AttributeName": "Policy", "AttributeValue": statement("sns", typo)["Policy"]}, nil),
			"InvalidParameter", said},
		{"a new topic", ask("sns", "CreateTopic", map[string]string{"Name": "strict-new"}, statement("sns", typo)), "InvalidParameter",
			said},
		{"a permission of a topic", ask("sns", "AddPermission",
			map[string]string{"TopicArn": topic, "Label": "l", "AWSAccountId.member.1": "somebody", "ActionName.member.1": "Publish"}, nil),
			"InvalidParameter", "AWSAccountId"},
	} {
		if tc.got.status != http.StatusBadRequest || tc.got.code != tc.code || !strings.Contains(tc.got.body, tc.says) {
			t.Errorf("%s: %d %s, want %s with %q\n%s", tc.what, tc.got.status, tc.got.code, tc.code, tc.says, tc.got.body)
		}
	}
	if got := post(t, n, asks(services["sqs"], "SendMessage", aws.Query,
		map[string]string{"QueueUrl": "http://localhost/000000000000/strict", "MessageBody": "x"}, nil),
		nil); got.status != http.StatusForbidden {
		t.Errorf("an unsigned send is accepted: %d %s", got.status, got.body)
	}
}
