package attributes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

const dlqARN = "arn:aws:sqs:us-east-1:000000000000:dlq"

func parseRedrivePolicy(text string) (policy.Redrive, *refusal.Error) {
	a, err := Default(false).WithChanges([]Attribute{{"RedrivePolicy", text}}, AnyWindow())
	return a.Redrive, err
}

func TestParseRedrivePolicy(t *testing.T) {
	reason := func(text, why string) string {
		return "Value " + text + " for parameter RedrivePolicy is invalid. Reason: " + why
	}
	const missing = "Redrive policy does not contain mandatory attribute: "
	count := func(v string) string {
		return "Invalid value for maxReceiveCount: " + v + ", valid values are from 1 to 1000 both inclusive."
	}
	cases := []struct {
		name string
		text string
		want policy.Redrive
		why  string
	}{
		{name: "empty"},
		{name: "no members", text: " { } "},
		{
			name: "number", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":3}`,
			want: policy.Redrive{Text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":3}`, Target: "dlq", MaxReceiveCount: 3},
		},
		{
			name: "string, other order, blanks", text: `{ "maxReceiveCount" : "42", "deadLetterTargetArn" : "` + dlqARN + `" }`,
			want: policy.Redrive{Text: `{"maxReceiveCount":42,"deadLetterTargetArn":"` + dlqARN + `"}`, Target: "dlq", MaxReceiveCount: 42},
		},
		{
			name: "highest count", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":1000}`,
			want: policy.Redrive{Text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":1000}`, Target: "dlq",
				MaxReceiveCount: 1000},
		},
		{name: "count 0", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":0}`, why: count("0")},
		{name: "count 1001", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":"1001"}`, why: count("1001")},
		{name: "count abc", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":"abc"}`, why: count("abc")},
		{name: "count fraction", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":3.0}`, why: count("3.0")},
		{name: "count list", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":[1]}`, why: count("[1]")},
		{name: "no count", text: `{"deadLetterTargetArn":"` + dlqARN + `"}`, why: missing + "maxReceiveCount."},
		{name: "null count", text: `{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":null}`, why: missing + "maxReceiveCount."},
		{name: "no target", text: `{"maxReceiveCount":3}`, why: missing + "deadLetterTargetArn."},
		{name: "target not an ARN", text: `{"deadLetterTargetArn":"dlq","maxReceiveCount":3}`, why: "Dead letter target does not exist."},
		{name: "target not a string", text: `{"deadLetterTargetArn":7,"maxReceiveCount":3}`, why: "Dead letter target does not exist."},
		{name: "target of another service", text: `{"deadLetterTargetArn":"arn:aws:sns:r:1:t","maxReceiveCount":3}`,
			why: "Dead letter target does not exist."},
		{name: "not JSON", text: `x`, why: "Redrive policy is not a valid JSON map."},
		{name: "list", text: `[]`, why: "Redrive policy is not a valid JSON map."},
		{name: "text after the map", text: `{} {}`, why: "Redrive policy is not a valid JSON map."},
		{name: "blank", text: ` `, why: "Redrive policy is not a valid JSON map."},
		{name: "key twice", text: `{"maxReceiveCount":1,"maxReceiveCount":2}`, why: "Redrive policy is not a valid JSON map."},
		{name: "too long", text: `{"a":"` + strings.Repeat("x", policy.BytesMax) + `"}`, why: "Redrive policy is not a valid JSON map."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseRedrivePolicy(c.text)
			text := ""
			if c.why != "" {
				text = reason(refusal.Echo(c.text), c.why)
			}
			refusaltest.Want(t, err, refusal.InvalidParameterValue, text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRedriveErrors(t *testing.T) {
	refusaltest.Want(t, RedriveTargetMissing("T"), refusal.InvalidParameterValue,
		"Value T for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.")
	refusaltest.Want(t, RedriveTargetWrongType("T"), refusal.InvalidParameterValue,
		"Value T for parameter RedrivePolicy is invalid. Reason: Dead-letter queue must be same type of queue as the source..")
	refusaltest.Want(t, RedriveNotAllowed("T"), refusal.InvalidParameterValue,
		"Value T for parameter RedrivePolicy is invalid. Reason: The RedriveAllowPolicy of the dead letter target "+
			"does not allow this source queue.")
}

func TestRedriveAllowPolicy(t *testing.T) {
	eleven := `"` + strings.Repeat(`arn:aws:sqs:r:1:q","`, 10) + `arn:aws:sqs:r:1:q"`
	cases := []struct {
		name    string
		text    string
		bad     bool
		allowed map[string]bool
	}{
		{"unset", ``, false, map[string]bool{"a": true}},
		{"no members", `{}`, false, map[string]bool{"a": true}},
		{"allow all", `{"redrivePermission":"allowAll"}`, false, map[string]bool{"a": true}},
		{"deny all", `{"redrivePermission":"denyAll"}`, false, map[string]bool{"a": false}},
		{"by queue", `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:r:1:a"]}`, false,
			map[string]bool{"a": true, "b": false}},
		{"by queue without queues", `{"redrivePermission":"byQueue"}`, true, nil},
		{"by queue with no queue", `{"redrivePermission":"byQueue","sourceQueueArns":[]}`, true, nil},
		{"by eleven queues", `{"redrivePermission":"byQueue","sourceQueueArns":[` + eleven + `]}`, true, nil},
		{"queues without byQueue", `{"redrivePermission":"allowAll","sourceQueueArns":["arn:aws:sqs:r:1:a"]}`, true, nil},
		{"not an ARN", `{"redrivePermission":"byQueue","sourceQueueArns":["a"]}`, true, nil},
		{"not a list", `{"redrivePermission":"byQueue","sourceQueueArns":"arn:aws:sqs:r:1:a"}`, true, nil},
		{"unknown permission", `{"redrivePermission":"some"}`, true, nil},
		{"no permission", `{"sourceQueueArns":["arn:aws:sqs:r:1:a"]}`, true, nil},
		{"not JSON", `allowAll`, true, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Default(false).WithChanges([]Attribute{{"RedriveAllowPolicy", c.text}}, AnyWindow())
			text := ""
			if c.bad {
				text = "Value " + c.text + " for parameter RedriveAllowPolicy is invalid. Reason: " +
					"Amazon SQS can't create the redrive allow policy in an unsupported format."
			}
			refusaltest.Want(t, err, refusal.InvalidParameterValue, text)
			for source, want := range c.allowed {
				if got := a.RedriveAllow.Allows(source); got != want {
					t.Errorf("allows(%s) = %t", source, got)
				}
			}
		})
	}
}

func FuzzParseRedrivePolicy(f *testing.F) {
	f.Add(`{"deadLetterTargetArn":"` + dlqARN + `","maxReceiveCount":"3"}`)
	f.Add(`{"maxReceiveCount":1e3,"deadLetterTargetArn":"a"}`)
	f.Add(`{"maxReceiveCount":"\u0031","deadLetterTargetArn":"arn:aws:sqs:::\u0061","x":{"y":[1, 2]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseRedrivePolicy(text)
		if err != nil || p.Text == "" {
			return
		}
		again, err := parseRedrivePolicy(p.Text)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", text, p.Text, err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Error(diff)
		}
		var sent, stored map[string]any
		if json.Unmarshal([]byte(text), &sent) != nil || json.Unmarshal([]byte(p.Text), &stored) != nil {
			t.Fatal("accepted or stored text that is not JSON")
		}
		delete(sent, "maxReceiveCount")
		delete(stored, "maxReceiveCount")
		if diff := cmp.Diff(sent, stored); diff != "" {
			t.Error(diff)
		}
	})
}
