package attributes

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

const (
	fifoDLQ = `{"deadLetterTargetArn":"` + dlqARN + `.fifo"}`
	anyDLQ  = `{"deadLetterTargetArn":"` + dlqARN + `"}`
	replay  = `{"PointType":"Timestamp","StartingPoint":"2023-10-01T10:00:00.000Z"}`
	nested  = `{"a":{"b":["x"]}}`
)

var fifoEnds = Ends{FIFOTopic: true, FIFOQueue: true}

func mustSubscribe(t *testing.T, ends Ends, given ...Attribute) Subscription {
	t.Helper()
	a, err := CreateSubscription(ends, given)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func subscriptionValues() []valueCase {
	point := func(end string) string {
		return `{"PointType":"Timestamp","StartingPoint":"2023-10-01T10:00:00.000Z","EndingPoint":` + end + `}`
	}
	return []valueCase{
		{name: "RawMessageDelivery", value: "true"},
		{name: "RawMessageDelivery", value: "tRuE", want: "true"},
		{name: "RawMessageDelivery", value: "maybe", text: "RawMessageDelivery: Invalid value [maybe]. Must be true or false."},
		{name: "RedrivePolicy", value: fifoDLQ},
		{name: "RedrivePolicy", value: ` {"deadLetterTargetArn" : "` + dlqARN + `.fifo"} `, want: fifoDLQ},
		{name: "RedrivePolicy", value: anyDLQ,
			text: "RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic."},
		{name: "RedrivePolicy", value: `{`, text: "RedrivePolicy: failed to parse JSON."},
		{name: "RedrivePolicy", value: `null`, text: "RedrivePolicy: failed to parse JSON."},
		{name: "RedrivePolicy", value: `{"x":1}`, text: "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
		{name: "RedrivePolicy", value: `{"deadLetterTargetArn":"dlq.fifo"}`, text: "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
		{name: "RedrivePolicy", value: `{"deadLetterTargetArn":"arn:aws:sns:r:1:t.fifo"}`,
			text: "RedrivePolicy: deadLetterTargetArn is an invalid arn"},
		{name: "ReplayPolicy", value: replay},
		{name: "ReplayPolicy", value: point(`"2023-10-01T12:00:00+02:00"`)},
		{name: "ReplayPolicy", value: point(`null`)},
		{name: "ReplayPolicy", value: `x`, text: "ReplayPolicy: Unable to parse JSON"},
		{name: "ReplayPolicy", value: `{"StartingPoint":"2023-10-01T10:00:00.000Z"}`,
			text: "ReplayPolicy: JSON is missing required fields"},
		{name: "ReplayPolicy", value: `{"PointType":"Timestamp"}`, text: "ReplayPolicy: JSON is missing required fields"},
		{name: "ReplayPolicy", value: `{"PointType":"timestamp"}`, text: "ReplayPolicy: PointType value is invalid"},
		{name: "ReplayPolicy", value: `{"PointType":"Timestamp","StartingPoint":7}`, text: "ReplayPolicy: StartingPoint value is invalid"},
		{name: "ReplayPolicy", value: `{"PointType":"Timestamp","StartingPoint":"2023-13-01T10:00:00Z"}`,
			text: "ReplayPolicy: StartingPoint value is invalid"},
		{name: "ReplayPolicy", value: point(`"now"`), text: "ReplayPolicy: EndingPoint value is invalid"},
		{name: "ReplayPolicy", value: point(`1`), text: "ReplayPolicy: EndingPoint value is invalid"},
		{name: "ReplayPolicy", value: point(`"2023-10-01T09:59:59.999Z"`), text: "ReplayPolicy: EndingPoint value is invalid"},
		{name: "FilterPolicy", value: ` {"a": ["x"]}`},
		{name: "FilterPolicy", value: nested, text: "Filter policy scope MessageAttributes does not support nested filter policy"},
		{
			name: "FilterPolicy", value: `{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]}`,
			text: "FilterPolicy: Filter policy can not have more than 5 keys",
		},
		{
			name: "FilterPolicy", value: `{"a":"x"}`,
			text: "FilterPolicy: \"a\" must be an object or an array\n at [Source: (String)\"{\"a\":\"x\"}\"; line: 1, column: 7]",
		},
		{name: "FilterPolicyScope", value: "body",
			text: "FilterPolicyScope: Invalid value [body]. Please use either MessageBody or MessageAttributes"},
		{name: "FilterPolicyScope", value: "\xff",
			text: "FilterPolicyScope: Invalid value [\ufffd]. Please use either MessageBody or MessageAttributes"},
		{name: "ReplayStatus", value: "Pending", text: "AttributeName"},
		{name: "DeliveryPolicy", value: "{}", text: "AttributeName"},
		{name: "SubscriptionArn", value: "x", text: "AttributeName"},
		{name: "", value: "", text: "AttributeName"},
	}
}

func TestSubscriptionValues(t *testing.T) {
	for _, c := range subscriptionValues() {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			given := []Attribute{{c.name, c.value}}
			a, err := CreateSubscription(fifoEnds, given)
			changed, changeErr := mustSubscribe(t, fifoEnds).WithChanges(given)
			if c.text != "" {
				refusaltest.Want(t, err, refusal.SNSInvalidParameter, "Invalid parameter: Attributes Reason: "+c.text)
				refusaltest.Want(t, changeErr, refusal.SNSInvalidParameter, "Invalid parameter: "+c.text)
				return
			}
			refusaltest.Want(t, err, 0, "")
			refusaltest.Want(t, changeErr, 0, "")
			want := c.want
			if want == "" {
				want = c.value
			}
			if got, _ := ValueOf(a.List(), c.name); got != want {
				t.Errorf("listed as %q, want %q", got, want)
			}
			if !reflect.DeepEqual(a, changed) {
				t.Errorf("%+v, set later %+v", a, changed)
			}
		})
	}
}

func TestSubscriptionList(t *testing.T) {
	raw := Attribute{"RawMessageDelivery", "false"}
	cases := []struct {
		name  string
		given []Attribute
		want  []Attribute
	}{
		{"defaults", nil, []Attribute{raw}},
		{"scope without policy", []Attribute{{"FilterPolicyScope", "MessageBody"}}, []Attribute{raw}},
		{"policies that are none", []Attribute{{"FilterPolicy", "{}"}, {"RedrivePolicy", ""}, {"ReplayPolicy", "{}"}}, []Attribute{raw}},
		{"policy", []Attribute{{"FilterPolicy", `{"a":[1]}`}},
			[]Attribute{{"FilterPolicy", `{"a":[1]}`}, {"FilterPolicyScope", "MessageAttributes"}, raw}},
		{
			"the scope counts before the policy",
			[]Attribute{{"FilterPolicy", nested}, {"FilterPolicyScope", "MessageBody"}},
			[]Attribute{{"FilterPolicy", nested}, {"FilterPolicyScope", "MessageBody"}, raw},
		},
		{"replay", []Attribute{{"ReplayPolicy", replay}}, []Attribute{raw, {"ReplayPolicy", replay}, {"ReplayStatus", "Pending"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mustSubscribe(t, fifoEnds, c.given...).List()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSubscriptionWithChanges(t *testing.T) {
	body := Attribute{"FilterPolicyScope", "MessageBody"}
	a := mustSubscribe(t, fifoEnds, Attribute{"FilterPolicy", nested}, body, Attribute{"ReplayPolicy", replay},
		Attribute{"RedrivePolicy", fifoDLQ})
	_, err := a.WithChanges([]Attribute{{"FilterPolicyScope", "MessageAttributes"}})
	refusaltest.Want(t, err, refusal.SNSInvalidParameter,
		"Invalid parameter: Filter policy scope MessageAttributes does not support nested filter policy")
	b, err := a.WithChanges([]Attribute{{"FilterPolicy", `{"a":[1]}`}, {"FilterPolicyScope", "MessageAttributes"}})
	refusaltest.Want(t, err, 0, "")
	b, err = b.WithChanges([]Attribute{body})
	refusaltest.Want(t, err, 0, "")
	if b.Filter.Scope() != filter.MessageBody {
		t.Error("the policy was not compiled again for the new scope")
	}
	// A removed policy leaves its scope for the next one.
	b, err = b.WithChanges([]Attribute{{"FilterPolicy", ""}, {"RedrivePolicy", "{}"}, {"ReplayPolicy", ""}})
	refusaltest.Want(t, err, 0, "")
	if want := (Subscription{Ends: fifoEnds, FilterScope: filter.MessageBody}); !reflect.DeepEqual(b, want) {
		t.Errorf("%+v, want %+v", b, want)
	}
	b, err = b.WithChanges([]Attribute{{"FilterPolicy", nested}})
	refusaltest.Want(t, err, 0, "")
	if !reflect.DeepEqual(a.Filter, b.Filter) {
		t.Errorf("%+v, want %+v", b.Filter, a.Filter)
	}
	a.ReplayStatus = ReplayFailed
	a, err = a.WithChanges([]Attribute{{"ReplayPolicy", replay}})
	refusaltest.Want(t, err, 0, "")
	if a.ReplayStatus != ReplayPending {
		t.Errorf("a new policy leaves status %d", a.ReplayStatus)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	const mustBeFIFO = "Invalid parameter: Attributes Reason: RedrivePolicy: must use a FIFO queue as DLQ for a " +
		"FIFO Subscription to a FIFO Topic."
	standard := Ends{FIFOTopic: true}
	cases := []struct {
		name  string
		ends  Ends
		given Attribute
		text  string
	}{
		{"FIFO queue, FIFO DLQ", fifoEnds, Attribute{"RedrivePolicy", fifoDLQ}, ""},
		{"FIFO queue, standard DLQ", fifoEnds, Attribute{"RedrivePolicy", anyDLQ}, mustBeFIFO},
		{"standard queue, standard DLQ", standard, Attribute{"RedrivePolicy", anyDLQ}, ""},
		{"standard queue, FIFO DLQ", standard, Attribute{"RedrivePolicy", fifoDLQ}, ""},
		{"standard topic", Ends{}, Attribute{"RedrivePolicy", anyDLQ}, ""},
		{"replay to a standard queue", standard, Attribute{"ReplayPolicy", replay}, ""},
		{"replay of a standard topic", Ends{}, Attribute{"ReplayPolicy", replay}, "Invalid parameter: Attributes Reason: AttributeName"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := CreateSubscription(c.ends, []Attribute{c.given})
			refusaltest.Want(t, err, refusal.SNSInvalidParameter, c.text)
		})
	}
}

func TestSubscriptionMatches(t *testing.T) {
	const different = "Invalid parameter: Attributes Reason: Subscription already exists with different attributes"
	otherReplay := `{"PointType":"Timestamp","StartingPoint":"2023-10-01T10:00:00.001Z"}`
	zonedReplay := `{"StartingPoint":"2023-10-01T12:00:00+02:00","PointType":"Timestamp"}`
	cases := []struct {
		name    string
		current []Attribute
		given   []Attribute
		text    string
	}{
		{name: "nothing given", current: []Attribute{{"RawMessageDelivery", "true"}}},
		{name: "equal in another case", current: []Attribute{{"RawMessageDelivery", "true"}},
			given: []Attribute{{"RawMessageDelivery", "True"}}},
		{name: "different", current: []Attribute{{"RawMessageDelivery", "true"}}, given: []Attribute{{"RawMessageDelivery", "false"}},
			text: different},
		{name: "default given", given: []Attribute{{"FilterPolicy", "{}"}, {"FilterPolicyScope", "MessageAttributes"},
			{"RawMessageDelivery", "false"}}},
		{name: "filter", current: []Attribute{{"FilterPolicy", `{"a":[1]}`}}, given: []Attribute{{"FilterPolicy", `{"a":[2]}`}},
			text: different},
		{name: "same filter", current: []Attribute{{"FilterPolicy", `{"a":[1]}`}}, given: []Attribute{{"FilterPolicy", `{"a":[1]}`}}},
		{name: "no filter", current: []Attribute{{"FilterPolicy", `{"a":[1]}`}}, given: []Attribute{{"FilterPolicy", ``}}, text: different},
		{name: "scope", given: []Attribute{{"FilterPolicyScope", "MessageBody"}}, text: different},
		{name: "dead letters", current: []Attribute{{"RedrivePolicy", fifoDLQ}}, given: []Attribute{{"RedrivePolicy", " " + fifoDLQ}}},
		{name: "no dead letters", current: []Attribute{{"RedrivePolicy", fifoDLQ}}, given: []Attribute{{"RedrivePolicy", "{}"}},
			text: different},
		{name: "same replay", current: []Attribute{{"ReplayPolicy", replay}}, given: []Attribute{{"ReplayPolicy", zonedReplay}}},
		{name: "replay", current: []Attribute{{"ReplayPolicy", replay}}, given: []Attribute{{"ReplayPolicy", otherReplay}},
			text: different},
		{name: "no replay", current: []Attribute{{"ReplayPolicy", replay}}, given: []Attribute{{"ReplayPolicy", ""}}, text: different},
		{name: "bad", given: []Attribute{{"x", "y"}}, text: "Invalid parameter: Attributes Reason: AttributeName"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refusaltest.Want(t, mustSubscribe(t, fifoEnds, c.current...).Matches(c.given), refusal.SNSInvalidParameter, c.text)
		})
	}
}

func TestReplayStatus(t *testing.T) {
	for i, text := range []string{"", "Pending", "In progress", "Completed", "Failed"} {
		if s, ok := ParseReplayStatus(text); !ok || int(s) != i {
			t.Errorf("%q is %d, %t", text, s, ok)
		}
		a := mustSubscribe(t, fifoEnds)
		a.ReplayStatus = ReplayStatus(i)
		if got, listed := ValueOf(a.List(), "ReplayStatus"); got != text || listed != (text != "") {
			t.Errorf("status %d is listed as %q, %t", i, got, listed)
		}
	}
	if s, ok := ParseReplayStatus("In Progress"); ok || s != ReplayNone {
		t.Errorf("In Progress is %d, %t", s, ok)
	}
}

func TestParseReplayPoints(t *testing.T) {
	p, reason := policy.ParseReplay(`{"PointType":"Timestamp","StartingPoint":"1970-01-01T00:00:01Z","EndingPoint":"1970-01-01T00:00:01.0005Z"}`)
	if reason != "" || p.Start != 1000 || p.End != 1000 || !p.Ends {
		t.Errorf("%+v, %q", p, reason)
	}
}

func FuzzSubscription(f *testing.F) {
	for _, c := range subscriptionValues() {
		f.Add(c.name+"|"+c.value, true, true)
		f.Add("FilterPolicyScope|MessageBody|"+c.name+"|"+c.value, true, false)
	}
	f.Fuzz(func(t *testing.T, text string, fifoTopic, fifoQueue bool) {
		ends := Ends{FIFOTopic: fifoTopic, FIFOQueue: fifoQueue}
		given := listOf(text)
		a, err := CreateSubscription(ends, given)
		if changed, changeErr := (Subscription{Ends: ends}).WithChanges(given); (changeErr == nil) != (err == nil) ||
			!reflect.DeepEqual(a, changed) {
			t.Fatalf("%q given: %+v, %v; set: %+v, %v", given, a, err, changed, changeErr)
		}
		if err != nil {
			return
		}
		if p := a.Filter; p != nil && p.Scope() != a.FilterScope {
			t.Fatalf("%q: the policy has another scope", given)
		}
		var listed []Attribute
		for _, l := range a.List() {
			if l.Name != "ReplayStatus" {
				listed = append(listed, l)
			}
		}
		again, err := CreateSubscription(ends, listed)
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", given, listed, err)
		}
		if a.Filter == nil {
			a.FilterScope = filter.MessageAttributes // not listed
		}
		if !reflect.DeepEqual(a, again) {
			t.Errorf("%+v became %+v", a, again)
		}
		if err := a.Matches(listed); err != nil {
			t.Errorf("%q does not match itself: %v", listed, err)
		}
	})
}
