package grpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func foundBodies(out *seriatimpb.FindMessagesResponse) (list []string) {
	for _, m := range out.GetMessages() {
		list = append(list, m.GetMessage().GetBody())
	}
	return list
}

// Each field of a filter must match.
func TestFindMessages(t *testing.T) {
	f := newFixture(t, nil)
	ctx, client := t.Context(), f.operations()
	name, begun := f.create(nil), time.Now().UnixMilli()
	messages := []*seriatimpb.OutgoingMessage{
		outgoingMessage("a", "red-apple"), outgoingMessage("b", "red-pear"), outgoingMessage("a", "plum"),
	}
	messages[0].Attributes = map[string]*seriatimpb.Attribute{"color": stringAttribute("red"), "size": stringAttribute("1")}
	messages[1].Attributes = map[string]*seriatimpb.Attribute{"color": stringAttribute("red")}
	sent, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name, Messages: messages})
	clustertest.Must(t, err)
	held := f.receiveSome(name, 1) // of group a, whose first message was available first
	later := outgoingMessage("c", "later")
	later.EnqueueAtMs = begun + 3_600_000
	clustertest.Must(t, clustertest.Err(seriatimpb.NewMessagesClient(f.conn).ScheduleMessages(ctx, &seriatimpb.ScheduleMessagesRequest{
		Queue: name, Messages: []*seriatimpb.OutgoingMessage{later},
	})))
	id := sent.GetResults()[1].GetMessageId()
	for what, c := range map[string]struct {
		filter *seriatimpb.MessageFilter
		want   []string
	}{
		"nothing":        {nil, []string{"red-apple", "red-pear", "plum", "later"}},
		"group":          {&seriatimpb.MessageFilter{GroupId: "a"}, []string{"red-apple", "plum"}},
		"other group":    {&seriatimpb.MessageFilter{GroupId: "x"}, nil},
		"scheduled":      {&seriatimpb.MessageFilter{GroupId: "c"}, []string{"later"}},
		"id":             {&seriatimpb.MessageFilter{MessageId: id}, []string{"red-pear"}},
		"id in capitals": {&seriatimpb.MessageFilter{MessageId: strings.ToUpper(id)}, []string{"red-pear"}},
		"dedup id":       {&seriatimpb.MessageFilter{DeduplicationId: "plum"}, []string{"plum"}},
		"attribute":      {&seriatimpb.MessageFilter{Attributes: map[string]string{"color": "red"}}, []string{"red-apple", "red-pear"}},
		"attributes":     {&seriatimpb.MessageFilter{Attributes: map[string]string{"color": "red", "size": "1"}}, []string{"red-apple"}},
		"value":          {&seriatimpb.MessageFilter{Attributes: map[string]string{"color": "re"}}, nil},
		"body":           {&seriatimpb.MessageFilter{BodyContains: "red-"}, []string{"red-apple", "red-pear"}},
		"body and group": {&seriatimpb.MessageFilter{BodyContains: "p", GroupId: "b"}, []string{"red-pear"}},
		"state":          {&seriatimpb.MessageFilter{States: inState(seriatimpb.MessageState_MESSAGE_STATE_IN_FLIGHT)}, bodies(held)},
		"states": {&seriatimpb.MessageFilter{States: inState(seriatimpb.MessageState_MESSAGE_STATE_SCHEDULED,
			seriatimpb.MessageState_MESSAGE_STATE_IN_FLIGHT)}, append(bodies(held), "later")},
		"sent before": {&seriatimpb.MessageFilter{SentBeforeMs: begun - 60_000}, nil},
		"sent after":  {&seriatimpb.MessageFilter{SentAfterMs: begun - 60_000}, []string{"red-apple", "red-pear", "plum", "later"}},
	} {
		out, err := client.FindMessages(ctx, &seriatimpb.FindMessagesRequest{Queue: name, Filter: c.filter})
		if err != nil || !slices.Equal(foundBodies(out), c.want) || out.GetNextPageToken() != "" {
			t.Errorf("%s: %v %v, want %q", what, out, err, c.want)
		}
	}
	out, err := client.FindMessages(ctx, &seriatimpb.FindMessagesRequest{Queue: name, Filter: &seriatimpb.MessageFilter{MessageId: id}})
	clustertest.Must(t, err)
	got := out.GetMessages()[0]
	if m := got.GetMessage(); m.GetMessageId() != id || m.GetSequenceNumber() != sent.GetResults()[1].GetSequenceNumber() ||
		m.GetReceiptHandle() != "" || got.GetState() != seriatimpb.MessageState_MESSAGE_STATE_VISIBLE || out.GetScanned() != 4 {
		t.Errorf("got %v", out)
	}
}

func stringAttribute(value string) *seriatimpb.Attribute {
	return &seriatimpb.Attribute{DataType: "String", Value: &seriatimpb.Attribute_Text{Text: value}}
}

func inState(states ...seriatimpb.MessageState) []seriatimpb.MessageState { return states }

// receiveSome receives up to a number of messages for an hour.
func (f *fixture) receiveSome(queue string, most int32) []*seriatimpb.Message {
	f.t.Helper()
	out, err := f.client.Receive(f.t.Context(), &seriatimpb.ReceiveRequest{Queue: queue, MaxMessages: &most, WaitSeconds: new(int32(0)),
		VisibilityTimeoutSeconds: new(int32(3600))})
	clustertest.Must(f.t, err)
	if len(out.GetMessages()) == 0 {
		f.t.Fatal("received nothing")
	}
	return out.GetMessages()
}

// Pages list each message once. A page ends when it is full, or after 5,000 messages.
func TestFindMessagesPages(t *testing.T) {
	f := newFixture(t, nil)
	ctx, client := t.Context(), f.operations()
	for _, kind := range []string{"true", "false"} {
		name := f.create(map[string]string{"FifoQueue": kind})
		const many = scanMessages + 7
		for from := 0; from < many; from += limits.StreamEntriesMax {
			cmd := &queue.SendMessages{Queue: name, Batch: true, Streamed: true}
			for n := from; n < min(from+limits.StreamEntriesMax, many); n++ {
				e := queue.SendEntry{Body: fmt.Sprintf("body-%05d", n)}
				if kind == "true" {
					e.GroupID, e.GroupIDGiven, e.DeduplicationID, e.DeduplicationIDGiven = fmt.Sprint("g", n%2), true, e.Body, true
				}
				cmd.Entries = append(cmd.Entries, e)
			}
			clustertest.Must(t, clustertest.Err(node.Submit(ctx, cmd)))
		}
		all := func(in *seriatimpb.FindMessagesRequest) (list []string, scanned []int64) {
			t.Helper()
			for in.Queue = name; ; {
				out, err := client.FindMessages(ctx, in)
				clustertest.Must(t, err)
				list, scanned = append(list, foundBodies(out)...), append(scanned, out.GetScanned())
				if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
					return list, scanned
				}
			}
		}
		if got, scanned := all(&seriatimpb.FindMessagesRequest{Filter: &seriatimpb.MessageFilter{BodyContains: "none"}}); len(got) != 0 ||
			!slices.Equal(scanned, []int64{scanMessages, 7}) {
			t.Errorf("found %q after reading %v", got, scanned)
		}
		got, scanned := all(&seriatimpb.FindMessagesRequest{Filter: &seriatimpb.MessageFilter{BodyContains: "body-0001"}, PageSize: 4})
		if len(got) != 10 || !slices.IsSorted(got) || got[9] != "body-00019" || len(slices.Compact(got)) != 10 || len(scanned) != 3 {
			t.Errorf("found %q after reading %v", got, scanned)
		}
		if kind == "true" {
			filter := &seriatimpb.MessageFilter{GroupId: "g1"}
			if got, _ := all(&seriatimpb.FindMessagesRequest{Filter: filter, PageSize: 100}); len(got) != many/2 || !slices.IsSorted(got) {
				t.Errorf("found %d messages of a group", len(got))
			}
		}
	}
}

func TestFindMessagesRefusals(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	for what, c := range map[string]struct {
		in     *seriatimpb.FindMessagesRequest
		code   codes.Code
		reason string
	}{
		"no queue":      {&seriatimpb.FindMessagesRequest{}, codes.InvalidArgument, "MissingParameter"},
		"missing queue": {&seriatimpb.FindMessagesRequest{Queue: "missing.fifo"}, codes.NotFound, "QueueDoesNotExist"},
		"large page":    {&seriatimpb.FindMessagesRequest{Queue: name, PageSize: 101}, codes.InvalidArgument, "InvalidParameterValue"},
		"negative page": {&seriatimpb.FindMessagesRequest{Queue: name, PageSize: -1}, codes.InvalidArgument, "InvalidParameterValue"},
		"token":         {&seriatimpb.FindMessagesRequest{Queue: name, PageToken: "x"}, codes.InvalidArgument, "InvalidParameterValue"},
		"token of a name": {&seriatimpb.FindMessagesRequest{Queue: name, PageToken: "c2VyaWF0aW0geA"}, codes.InvalidArgument,
			"InvalidParameterValue"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := f.operations().FindMessages(t.Context(), c.in)
			wantStatus(t, err, c.code, c.reason)
		})
	}
}
