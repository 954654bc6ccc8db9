package grpc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// A receive without an attempt id gets one. A repetition with it returns the same messages with the
// same handles, which still work, as with the ids that Yandex Message Queue generates.
func TestYMQGeneratedAttemptID(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(map[string]string{"CompatibilityProfile": "ymq"})
	for _, group := range []string{"a", "b", "c"} {
		f.send(name, group, group+"1", group+"2")
	}
	handles := func(got *seriatimpb.ReceiveResponse) (all []string) {
		for _, m := range got.GetMessages() {
			all = append(all, m.GetMessageId()+" "+m.GetReceiptHandle())
		}
		return all
	}
	first, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, MaxMessages: new(int32(2))})
	clustertest.Must(t, err)
	if first.GetAttemptId() == "" || first.GetReplayed() || !slices.Equal(bodies(first.GetMessages()), []string{"a1", "b1"}) {
		t.Fatalf("%v", first)
	}
	other := f.receive(name)
	if other.GetAttemptId() == first.GetAttemptId() || !slices.Equal(bodies(other.GetMessages()), []string{"c1"}) {
		t.Errorf("another receive: %v", other)
	}
	again, err := f.client.Receive(t.Context(), &seriatimpb.ReceiveRequest{Queue: name, MaxMessages: new(int32(10)),
		AttemptId: &first.AttemptId})
	clustertest.Must(t, err)
	if diff := cmp.Diff(handles(first), handles(again)); diff != "" || !again.GetReplayed() ||
		again.GetAttemptId() != first.GetAttemptId() {
		t.Errorf("replayed %v as %q, again (-first +again):\n%s", again.GetReplayed(), again.GetAttemptId(), diff)
	}
	var receipts []string
	for _, m := range first.GetMessages() {
		receipts = append(receipts, m.GetReceiptHandle())
	}
	deleted, err := f.client.Delete(t.Context(), &seriatimpb.DeleteRequest{Queue: name, ReceiptHandles: receipts})
	clustertest.Must(t, err)
	for i, outcome := range deleted.GetOutcomes() {
		if outcome.GetFailure() != nil {
			t.Errorf("delete %d: %v", i, outcome.GetFailure())
		}
	}
	if next := f.receive(name); !slices.Equal(bodies(next.GetMessages()), []string{"a2", "b2"}) {
		t.Errorf("after the delete: %q", bodies(next.GetMessages()))
	}
}
