package queue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

const policyARN = "arn:aws:sqs:us-east-1:000000000000:q"

func grant(label string, accounts, actions []string) *SetQueuePolicy {
	return &SetQueuePolicy{Queue: "q", QueueARN: policyARN, Label: label, AccountIDs: accounts, Actions: actions}
}

func TestAddPermission(t *testing.T) {
	const first = `{"Version":"2008-10-17","Id":"` + policyARN + `/SQSDefaultPolicy","Statement":[` +
		`{"Sid":"L","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},` +
		`"Action":"SQS:ReceiveMessage","Resource":"` + policyARN + `"}`
	const second = `{"Sid":"M","Effect":"Allow","Principal":{"AWS":["arn:aws:iam::1:root","arn:aws:iam::2:root"]},` +
		`"Action":["SQS:SendMessage","SQS:*"],"Resource":"` + policyARN + `"}`
	one := grant("L", []string{"111122223333"}, []string{"ReceiveMessage"})
	many := grant("M", []string{"1", "2"}, []string{"SendMessage", "*"})
	cases := []struct {
		name    string
		policy  string
		command *SetQueuePolicy
		want    string
		code    refusal.Code
		text    string
	}{
		{name: "first statement", command: one, want: first + "]}"},
		{name: "second statement, lists", policy: first + "]}", command: many, want: first + "," + second + "]}"},
		{
			name: "label exists", policy: first + "]}", command: one, code: refusal.InvalidParameterValue,
			text: "Value L for parameter Label is invalid. Reason: Already exists.",
		},
		{
			name: "a policy of the user keeps what it has", policy: `{ "Statement": {"Sid":"x", "Effect":"Deny"}, "Version":"2012-10-17" }`,
			command: many, want: `{"Statement":[{"Sid":"x","Effect":"Deny"},` + second + `],"Version":"2012-10-17"}`,
		},
		{name: "a policy without statements", policy: `{"Id":"<&>"}`, command: many, want: `{"Id":"<&>","Statement":[` + second + `]}`},
		{
			name: "too long", policy: `{"Id":"` + strings.Repeat("x", 8100) + `"}`, command: many,
			code: refusal.OverLimit, text: "The policy would be longer than 8192 bytes.",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := addPermission(c.policy, c.command)
			refusaltest.Want(t, err, c.code, c.text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRemovePermission(t *testing.T) {
	cases := []struct {
		name   string
		policy string
		want   string
		text   string
	}{
		{name: "last statement", policy: `{"Version":"2008-10-17","Statement":[{"Sid":"L"}]}`},
		{name: "lone statement without a list", policy: `{"Statement":{"Sid":"L"}}`},
		{name: "one of two", policy: `{"Statement":[{"Sid":"K"},{"Sid":"L"}],"Id":"i"}`, want: `{"Statement":[{"Sid":"K"}],"Id":"i"}`},
		{name: "no policy", text: "Value L for parameter Label is invalid. Reason: can't find label."},
		{name: "other label", policy: `{"Statement":[{"Sid":"l"},{"Effect":"Deny"},7]}`,
			text: "Value L for parameter Label is invalid. Reason: can't find label on existing policy."},
		{name: "no statement", policy: `{"Id":"i"}`,
			text: "Value L for parameter Label is invalid. Reason: can't find label on existing policy."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := removePermission(c.policy, "L")
			refusaltest.Want(t, err, refusal.InvalidParameterValue, c.text)
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestPermissionsUndoEachOther(t *testing.T) {
	policy := ""
	for _, label := range []string{"a", "b", "c"} {
		var err *Error
		if policy, err = addPermission(policy, grant(label, []string{"1"}, []string{"*"})); err != nil {
			t.Fatal(err)
		}
	}
	for _, label := range []string{"b", "a", "c"} {
		var err *Error
		if policy, err = removePermission(policy, label); err != nil {
			t.Fatal(err)
		}
	}
	if policy != "" {
		t.Errorf("left over: %s", policy)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add(`{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow"}]}`, "a")
	f.Add(`{"Statement":{"Sid":"\u0061"},"\u0053tatement2":null}`, "a")
	f.Add(`{"Statement":[[],7,null,"x"]}`, "b")
	f.Add(`{"Statement":null}`, "b")
	f.Add(`{"Statement":7}`, "b")
	f.Fuzz(func(t *testing.T, policy, label string) {
		command := grant(label, []string{"1"}, []string{"SendMessage"})
		if command.Validate() != nil {
			return
		}
		added, err := addPermission(policy, command)
		if err != nil {
			return
		}
		if !json.Valid([]byte(added)) {
			t.Fatalf("%q became %q", policy, added)
		}
		if _, err := addPermission(added, command); err == nil {
			t.Fatalf("the label was added twice to %q", policy)
		}
		removed, err := removePermission(added, label)
		if err != nil {
			t.Fatalf("%q: %v", added, err)
		}
		if removed != "" && !json.Valid([]byte(removed)) {
			t.Fatalf("%q became %q", added, removed)
		}
	})
}
