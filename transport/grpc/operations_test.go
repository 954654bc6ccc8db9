package grpc

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

func (f *fixture) operations() seriatimpb.OperationsClient {
	return seriatimpb.NewOperationsClient(f.conn)
}

// numbered selects messages by number.
func numbered(numbers ...uint64) (list []*seriatimpb.MessageSelector) {
	for _, n := range numbers {
		list = append(list, &seriatimpb.MessageSelector{SequenceNumber: n})
	}
	return list
}

// wantFailure checks the failure of an entry; codes.OK is none.
func wantFailure(t *testing.T, failure *seriatimpb.Failure, code codes.Code, reason string) {
	t.Helper()
	if codes.Code(failure.GetCode()) != code || failure.GetReason() != reason || (failure.GetMessage() == "") != (code == codes.OK) {
		t.Errorf("got %v, want %v %s", failure, code, reason)
	}
}

// Calls about stored messages refuse bad selectors as a whole, and execute nothing then.
func TestSelectors(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	sent := f.send(name, "g", "1")[0]
	other := f.create(nil)
	many := numbered(make([]uint64, limits.StoredEntriesMax+1)...)
	for i := range many {
		many[i].SequenceNumber = sent.GetSequenceNumber() + uint64(i)
	}
	for what, selectors := range map[string][]*seriatimpb.MessageSelector{
		"none":        nil,
		"too many":    many,
		"empty":       {{}},
		"repeated":    numbered(sent.GetSequenceNumber(), sent.GetSequenceNumber()),
		"twice":       {{SequenceNumber: sent.GetSequenceNumber()}, {MessageId: sent.GetMessageId()}},
		"twice an id": {{MessageId: sent.GetMessageId()}, {MessageId: strings.ToUpper(sent.GetMessageId())}},
	} {
		_, err := f.operations().DeleteStored(t.Context(), &seriatimpb.DeleteStoredRequest{Queue: name, Messages: selectors})
		wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
		_, err = f.operations().MoveStored(t.Context(), &seriatimpb.MoveStoredRequest{Queue: name, Messages: selectors, Destination: other})
		wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
		if t.Failed() {
			t.Fatal(what)
		}
	}
	if got := bodies(f.receive(name).GetMessages()); !slices.Equal(got, []string{"1"}) {
		t.Errorf("received %q", got)
	}
	_, err := f.operations().DeleteStored(t.Context(), &seriatimpb.DeleteStoredRequest{Queue: "missing.fifo",
		Messages: numbered(sent.GetSequenceNumber())})
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
	_, err = f.operations().MoveStored(t.Context(), &seriatimpb.MoveStoredRequest{
		Queue: "missing.fifo", Destination: other, Messages: []*seriatimpb.MessageSelector{{MessageId: sent.GetMessageId()}},
	})
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
}

// Each message is deleted on its own. One in flight needs force, and its receiver loses it.
func TestDeleteStored(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(nil)
	sent := f.send(name, "g", "1", "2", "3", "4")
	held := f.receiveSome(name, 1)[0]
	selectors := append(numbered(sent[0].GetSequenceNumber(), sent[3].GetSequenceNumber()+1, sent[1].GetSequenceNumber()),
		&seriatimpb.MessageSelector{MessageId: sent[2].GetMessageId()},
		&seriatimpb.MessageSelector{MessageId: "00000000-0000-4000-8000-000000000000"},
		&seriatimpb.MessageSelector{SequenceNumber: sent[3].GetSequenceNumber(), MessageId: sent[2].GetMessageId()})
	out, err := f.operations().DeleteStored(ctx, &seriatimpb.DeleteStoredRequest{Queue: name, Messages: selectors})
	clustertest.Must(t, err)
	if len(out.GetOutcomes()) != len(selectors) {
		t.Fatalf("%d outcomes", len(out.GetOutcomes()))
	}
	for i, want := range []failure{
		{codes.FailedPrecondition, "MessageInFlight"}, {codes.NotFound, "MessageNotFound"}, {codes.OK, ""}, {codes.OK, ""},
		{codes.NotFound, "MessageNotFound"}, {codes.NotFound, "MessageNotFound"},
	} {
		wantFailure(t, out.GetOutcomes()[i].GetFailure(), want.code, want.reason)
	}
	out, err = f.operations().DeleteStored(ctx, &seriatimpb.DeleteStoredRequest{
		Queue: name, Messages: numbered(sent[0].GetSequenceNumber()),
		Force: true,
	})
	clustertest.Must(t, err)
	wantFailure(t, out.GetOutcomes()[0].GetFailure(), codes.OK, "")
	completed, err := seriatimpb.NewMessagesClient(f.conn).Complete(ctx, &seriatimpb.CompleteRequest{Queue: name,
		ReceiptHandles: []string{held.GetReceiptHandle()}})
	clustertest.Must(t, err)
	wantFailure(t, completed.GetOutcomes()[0].GetFailure(), codes.Aborted, "MessageLockLost")
	if got := bodies(f.receive(name).GetMessages()); !slices.Equal(got, []string{"4"}) {
		t.Errorf("received %q, want the message that is left", got)
	}
	again, err := f.client.Send(ctx, &seriatimpb.SendRequest{
		Queue: name, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "1")},
	})
	if err != nil || !again.GetResults()[0].GetDuplicate() {
		t.Errorf("the deduplication id of a deleted message is forgotten: %v %v", again, err)
	}
}

// A moved message keeps its id, group and attributes, and is never dropped as a duplicate.
func TestMoveStored(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name, other := f.create(nil), f.create(nil)
	known := f.send(other, "g", "2")[0] // the target knows this id
	sent := f.send(name, "g", "1", "2", "3")
	held := f.receiveSome(name, 1)[0]
	move := func(in *seriatimpb.MoveStoredRequest) []*seriatimpb.MoveResult {
		t.Helper()
		out, err := f.operations().MoveStored(ctx, in)
		clustertest.Must(t, err)
		if len(out.GetResults()) != len(in.GetMessages()) {
			t.Fatalf("%d results", len(out.GetResults()))
		}
		return out.GetResults()
	}
	numbers := numbered(sent[2].GetSequenceNumber(), sent[1].GetSequenceNumber(), sent[0].GetSequenceNumber())
	moved := move(&seriatimpb.MoveStoredRequest{Queue: name, Destination: other, Messages: numbers})
	wantFailure(t, moved[2].GetFailure(), codes.FailedPrecondition, "MessageInFlight")
	for _, r := range moved[:2] {
		wantFailure(t, r.GetFailure(), codes.OK, "")
	}
	if moved[0].GetDestination() != other || moved[1].GetSequenceNumber() <= known.GetSequenceNumber() ||
		moved[0].GetSequenceNumber() <= moved[1].GetSequenceNumber() {
		t.Errorf("moved %v, want the order of the source", moved)
	}
	move(&seriatimpb.MoveStoredRequest{Queue: name, Destination: other, Messages: numbers[2:], Force: true})
	if got := f.receive(name).GetMessages(); len(got) != 0 {
		t.Errorf("the source still has %q", bodies(got))
	}
	got := f.receive(other).GetMessages()
	if !slices.Equal(bodies(got), []string{"2", "2", "3", "1"}) || got[1].GetMessageId() != sent[1].GetMessageId() ||
		got[0].GetMessageId() != known.GetMessageId() || got[3].GetMessageId() != held.GetMessageId() || got[1].GetGroupId() != "g" ||
		got[1].GetDeduplicationId() != "2" || got[3].GetReceiveCount() != 1 {
		t.Errorf("the destination has %v", got)
	}
	again, err := f.client.Send(ctx, &seriatimpb.SendRequest{
		Queue: other, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "3")},
	})
	if err != nil || again.GetResults()[0].GetDuplicate() {
		t.Errorf("a move made its id known: %v %v", again, err)
	}
	clustertest.Check(t, clustertest.Err(f.client.Delete(ctx, &seriatimpb.DeleteRequest{Queue: name,
		ReceiptHandles: []string{held.GetReceiptHandle()}}))) // succeeds, as for any message that is gone
}

func TestMoveStoredDestinations(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name, standard := f.create(nil), f.create(map[string]string{"FifoQueue": "false"})
	number := f.send(name, "g", "1")[0].GetSequenceNumber()
	for destination, want := range map[string]failure{
		standard:       {codes.InvalidArgument, "InvalidParameterValue"},
		name:           {codes.InvalidArgument, "InvalidParameterValue"},
		"missing.fifo": {codes.NotFound, "ResourceNotFoundException"},
	} {
		_, err := f.operations().MoveStored(ctx, &seriatimpb.MoveStoredRequest{Queue: name, Destination: destination,
			Messages: numbered(number)})
		wantStatus(t, err, want.code, want.reason)
	}
	out, err := f.operations().MoveStored(ctx, &seriatimpb.MoveStoredRequest{Queue: name, Messages: numbered(number)})
	clustertest.Must(t, err)
	wantFailure(t, out.GetResults()[0].GetFailure(), codes.NotFound, "ResourceNotFoundException") // it was never dead-lettered
	if out.GetResults()[0].GetDestination() != "" || out.GetResults()[0].GetSequenceNumber() != 0 {
		t.Errorf("got %v", out)
	}
	source := f.create(map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + name + `","maxReceiveCount":1}`,
	})
	sent := f.send(source, "h", "dead")[0]
	for range 2 {
		clustertest.Must(t, clustertest.Err(f.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: source, WaitSeconds: new(int32(0)),
			VisibilityTimeoutSeconds: new(int32(0))})))
	}
	back := []*seriatimpb.MessageSelector{{MessageId: sent.GetMessageId()}}
	out, err = f.operations().MoveStored(ctx, &seriatimpb.MoveStoredRequest{Queue: name, Messages: back})
	clustertest.Must(t, err)
	if r := out.GetResults()[0]; r.GetFailure() != nil || r.GetDestination() != source ||
		r.GetSequenceNumber() <= sent.GetSequenceNumber() {
		t.Errorf("got %v", r)
	}
	if got := f.receive(source).GetMessages(); !slices.Equal(bodies(got), []string{"dead"}) || got[0].GetReceiveCount() != 1 ||
		got[0].GetMessageId() != sent.GetMessageId() {
		t.Errorf("the source has %v", got)
	}
}

// syncBuffer collects the lines of a log. Safe for concurrent use.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The audit names the caller and the queue of a deletion and of a move, also of a refused one, but no
// message.
func TestOperationsAreAudited(t *testing.T) {
	var log syncBuffer
	f := newFixture(t, func(o *Options) {
		o.Calls.Audit = slog.New(slog.NewTextHandler(&log, nil))
	})
	ctx := t.Context()
	name, other := f.create(nil), f.create(nil)
	sent := f.send(name, "g", "secret1", "secret2")
	clustertest.Must(t, clustertest.Err(f.operations().MoveStored(ctx, &seriatimpb.MoveStoredRequest{Queue: name, Destination: other,
		Messages: numbered(sent[0].GetSequenceNumber())})))
	clustertest.Must(t, clustertest.Err(f.operations().DeleteStored(ctx, &seriatimpb.DeleteStoredRequest{Queue: name,
		Messages: numbered(sent[1].GetSequenceNumber())})))
	if _, err := f.operations().DeleteStored(ctx, &seriatimpb.DeleteStoredRequest{Queue: name}); err == nil {
		t.Error("a deletion of nothing was accepted")
	}
	clustertest.Must(t, clustertest.Err(f.operations().FindMessages(ctx, &seriatimpb.FindMessagesRequest{Queue: other})))
	f.observed.last(t, "FindMessages")
	lines := strings.Split(log.String(), "\n")
	for _, want := range []struct{ action, permission, code string }{
		{"MoveStored", "sqs:StartMessageMoveTask", `""`}, {"DeleteStored", "sqs:PurgeQueue", `""`},
		{"DeleteStored", "sqs:PurgeQueue", "InvalidParameterValue"},
	} {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, " action="+want.action+" ") && strings.Contains(line, " queue="+name+" ") &&
				strings.Contains(line, " permission="+want.permission+" ") && strings.Contains(line, " code="+want.code+" ") &&
				strings.Contains(line, " remote=127.0.0.1:")
		}) {
			t.Errorf("no record of %+v in\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret") || strings.Contains(log.String(), "FindMessages") {
		t.Errorf("the audit has too much:\n%s", log.String())
	}
}

// A client may name itself with any bytes, also with a long name that ends within a character. The
// group that it holds is described all the same.
func TestHoldersWithAnyUserAgent(t *testing.T) {
	f := newFixture(t, nil)
	for _, agent := range []string{"\xff\xfe", strings.Repeat("é", 1000)[1:]} {
		name := f.create(nil)
		f.send(name, "g", "1")
		caller := &service.Request{Remote: "192.0.2.1:1", Protocol: "json", UserAgent: agent, Account: "\xff"}
		_, err := node.Receive(context.WithValue(t.Context(), holders.CallerKey{}, caller), &queue.ReceiveMessages{Queue: name}, 0)
		clustertest.Must(t, err)
		group, err := seriatimpb.NewInspectionClient(f.conn).GetGroup(t.Context(), &seriatimpb.GetGroupRequest{Queue: name, GroupId: "g"})
		if err != nil || group.GetHolder().GetAddress() != "192.0.2.1:1" {
			t.Errorf("%q: %v %v", agent, group, err)
		}
		explained, err := f.operations().Explain(t.Context(), &seriatimpb.ExplainRequest{Queue: name,
			Subject: &seriatimpb.ExplainRequest_GroupId{GroupId: "g"}})
		if err != nil || explained.GetState() != "in-flight" || explained.GetHolder().GetAddress() != "192.0.2.1:1" {
			t.Errorf("%q: %v %v", agent, explained, err)
		}
	}
}
