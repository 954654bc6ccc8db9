package definitions

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func sample() *Document {
	return &Document{
		Version: 1,
		Queues: []Queue{
			{Name: "b.fifo", Attributes: map[string]string{"VisibilityTimeout": "30", "Policy": "{\"a\": \"'\\u202e\"}"},
				Tags: map[string]string{"yes": "no", "1": "<script>"}},
			{Name: "a"},
		},
		Topics: []Topic{{Name: "t", Subscriptions: []Subscription{{URL: "http://x", Attributes: map[string]string{"FilterPolicy": "{}"}},
			{Queue: "a"}}}},
		Accounts: []Account{{Own: true}, {ID: "111111111111", Bytes: 1 << 40}},
		Policies: []Policy{{User: "u", Policy: "{}"}, {Account: "111111111111", User: "u", Policy: "{\n}"}},
		Keys:     []Key{{ID: "K", User: "u", Active: true}},
	}
}

// A document that is written and read is the same, in both formats and in any order.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := sample()
	want.Sort()
	for _, asJSON := range []bool{false, true} {
		var first, second bytes.Buffer
		clustertest.Must(t, want.Write(&first, asJSON))
		text := first.String()
		got, err := Read(&first)
		clustertest.Must(t, err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Document{}, Subscription{})); diff != "" {
			t.Errorf("JSON %v:\n%s", asJSON, diff)
		}
		clustertest.Must(t, got.Write(&second, asJSON))
		if second.String() != text {
			t.Errorf("the second text differs:\n%s\n%s", text, second.String())
		}
		if list := Compare(want, got); len(list) > 0 {
			t.Errorf("%v", list)
		}
	}
}

// Every difference has its line, in a stable order.
func TestCompare(t *testing.T) {
	t.Parallel()
	have, want := sample(), sample()
	have.place = place{"eu-1", "123456789012"}
	have.Queues[0].Attributes["Policy"] = Here("sqs") + "q"
	want.Queues[0].Attributes["Policy"] = "arn:aws:sqs:eu-1:123456789012:q" // the same, here
	want.Queues[0].Attributes["VisibilityTimeout"] = "31"
	delete(want.Queues[0].Tags, "1")
	want.Queues = append(want.Queues[:1:1], Queue{Name: "new"})
	want.Topics[0].Subscriptions = want.Topics[0].Subscriptions[:1]
	want.Accounts[0].Queues = 7
	want.Keys[0].Active = false
	lines := []string{}
	for _, d := range Compare(have, want) {
		lines = append(lines, d.String())
	}
	expected := []string{
		"~ account of the cluster: queues: 0 -> 7", "~ queue b.fifo: VisibilityTimeout: 30 -> 31", "- queue b.fifo: tag 1: <script>",
		"+ queue new", "- queue a", "- subscription t -> a", "~ access key K: active: true -> false",
	}
	if diff := cmp.Diff(expected, lines); diff != "" {
		t.Error(diff)
	}
}

// Variables take the place of the cluster, and only ARNs of this place get variables.
func TestPlaces(t *testing.T) {
	t.Parallel()
	var p place
	if got := p.localize("arn:aws:sqs:eu-1:1:q"); got != "arn:aws:sqs:eu-1:1:q" {
		t.Error(got)
	}
	p.learn("arn:aws:sns:eu-1:123456789012:topic")
	const text = "arn:aws:sqs:eu-1:123456789012:q arn:aws:sns:eu-1:123456789012:t arn:aws:sqs:eu-2:123456789012:q"
	local := p.localize(text)
	if want := Here("sqs") + "q " + Here("sns") + "t arn:aws:sqs:eu-2:123456789012:q"; local != want {
		t.Errorf("%s, want %s", local, want)
	}
	if got := p.fill(local); got != text {
		t.Error(got)
	}
}

// A plan deletes only with prune, accounts last, and says what it leaves.
func TestPlanPrunes(t *testing.T) {
	t.Parallel()
	have, want := sample(), &Document{Version: 1, Queues: []Queue{{Name: "b.fifo"}}}
	kept, err := NewPlan(&Cluster{}, have, want, false)
	clustertest.Must(t, err)
	if len(kept.Steps) != 0 || !strings.Contains(strings.Join(kept.Notes, "\n"), "keeps VisibilityTimeout, which the file lacks") {
		t.Errorf("%+v", kept)
	}
	pruned, err := NewPlan(&Cluster{}, have, want, true)
	clustertest.Must(t, err)
	var steps []string
	for _, s := range pruned.Steps {
		if !s.Drops {
			t.Errorf("%s is not marked", s.Text)
		}
		steps = append(steps, s.Text)
	}
	expected := []string{
		"set Policy, VisibilityTimeout of the queue b.fifo", "remove tags of the queue b.fifo: 1, yes",
		"delete the policy of the user u", "delete the policy of the user 111111111111/u", "delete the topic t",
		"delete the queue a with its messages", "delete the account 111111111111",
	}
	if diff := cmp.Diff(expected, steps); diff != "" {
		t.Error(diff)
	}
}

// Targets of forwarding are set when all queues and topics exist, and removed before.
func TestPlanForwards(t *testing.T) {
	t.Parallel()
	to := func(target string) map[string]string {
		return map[string]string{"ForwardTo": target, "VisibilityTimeout": "5"}
	}
	have := &Document{Version: 1, Queues: []Queue{{Name: "a", Attributes: to("b")}, {Name: "b"}, {Name: "d", Attributes: to("b")}}}
	want := &Document{Version: 1, Topics: []Topic{{Name: "t"}}, Queues: []Queue{
		{Name: "a", Attributes: to("topic:t")}, {Name: "b"}, {Name: "c", Attributes: to("a")},
		{Name: "d", Attributes: map[string]string{"VisibilityTimeout": "6"}},
	}}
	plan, err := NewPlan(&Cluster{}, have, want, true)
	clustertest.Must(t, err)
	var steps []string
	for _, s := range plan.Steps {
		steps = append(steps, s.Text)
	}
	expected := []string{
		"create the queue c", "set ForwardTo, VisibilityTimeout of the queue d", "create the topic t", "set ForwardTo of the queue a",
		"set ForwardTo of the queue c",
	}
	if diff := cmp.Diff(expected, steps); diff != "" {
		t.Error(diff)
	}
}
