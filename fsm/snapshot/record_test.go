package snapshot

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/policy"
)

// keeps fills a record, sends it through encoded bytes and compares.
func keeps[R any, M any, PM interface {
	*M
	proto.Message
}](t *testing.T, encode func(R) PM, decode func(PM) (R, error)) {
	t.Helper()
	var want R
	fsmtest.Distinct().Fill(t, reflect.ValueOf(&want).Elem())
	switch r := any(&want).(type) { // a publication has one id
	case *queue.MessageRecord:
		r.Published.Content.MessageID = r.Published.PublicationID
	case *queue.OutboxRecord:
		r.Content.MessageID = r.PublicationID
	}
	data, err := protobuf.Append(nil, encode(want))
	if err != nil {
		t.Fatal(err)
	}
	message := PM(new(M))
	if err := protobuf.Unmarshal(data, message); err != nil {
		t.Fatal(err)
	}
	got, err := decode(message)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, fsmtest.SameBody); diff != "" {
		t.Errorf("changed on the way (-want +got):\n%s", diff)
	}
}

func TestRecordsKeepEveryField(t *testing.T) {
	t.Run("broker", func(t *testing.T) {
		keeps(t, brokerMessage, func(m *fsmpb.BrokerRecord) (queue.BrokerRecord, error) { return brokerRecord(m), nil })
	})
	t.Run("tombstone", func(t *testing.T) { keeps(t, tombstoneMessage, tombstoneRecord) })
	t.Run("move task", func(t *testing.T) { keeps(t, moveTaskMessage, moveTaskRecord) })
	t.Run("queue", func(t *testing.T) {
		keeps(t, func(r queue.QueueRecord) *fsmpb.QueueRecord { return queueMessage(&r) }, queueRecord)
	})
	t.Run("message", func(t *testing.T) {
		keeps(t, func(r queue.MessageRecord) *fsmpb.MessageRecord {
			m := &fsmpb.MessageRecord{}
			fillMessage(m, &r)
			return m
		}, messageRecord)
	})
	t.Run("deduplication", func(t *testing.T) {
		keeps(t, func(r queue.DeduplicationRecord) *fsmpb.DeduplicationRecord {
			return deduplicationRecordMessage(&r)
		}, deduplicationRecord)
	})
	t.Run("topic", func(t *testing.T) {
		keeps(t, func(r queue.TopicRecord) *fsmpb.TopicRecord { return topicMessage(&r) }, topicRecord)
	})
	t.Run("subscription", func(t *testing.T) {
		keeps(t, func(r queue.SubscriptionRecord) *fsmpb.SubscriptionRecord { return subscriptionMessage(&r) }, subscriptionRecord)
	})
	t.Run("outbox", func(t *testing.T) {
		keeps(t, func(r queue.OutboxRecord) *fsmpb.OutboxRecord { return outboxMessage(&r) }, outboxRecord)
	})
	t.Run("session", func(t *testing.T) { keeps(t, sessionMessage, sessionRecord) })
	t.Run("attempt", func(t *testing.T) {
		keeps(t, func(r queue.AttemptRecord) *fsmpb.AttemptRecord {
			m := &fsmpb.AttemptRecord{}
			fillAttempt(m, &r)
			return m
		}, attemptRecord)
	})
}

func TestReusedMessagesForgetTheLastRecord(t *testing.T) {
	message, attempt := &fsmpb.MessageRecord{}, &fsmpb.AttemptRecord{}
	var full queue.MessageRecord
	fsmtest.Distinct().Fill(t, reflect.ValueOf(&full).Elem())
	fillMessage(message, &full)
	fillAttempt(attempt, &queue.AttemptRecord{ID: "a", Number: 1, Invalid: true, Deliveries: []queue.AttemptDelivery{{Sequence: 1}}})

	fillMessage(message, &queue.MessageRecord{})
	fillAttempt(attempt, &queue.AttemptRecord{})
	if got, err := messageRecord(message); err != nil || !cmp.Equal(queue.MessageRecord{}, got, fsmtest.SameBody) {
		t.Errorf("message: %v, %v", got, err)
	}
	if got, err := attemptRecord(attempt); err != nil || !cmp.Equal(queue.AttemptRecord{}, got) {
		t.Errorf("attempt: %v, %v", got, err)
	}
}

func TestEmptyListOfQueuesIsNotNone(t *testing.T) {
	for _, want := range [][]string{nil, {}, {"a"}} {
		a := queue.QueueAttributes{RedriveAllow: policy.RedriveAllow{ByQueue: want}}
		got, err := queueAttributes(queueAttributesMessage(&a))
		if err != nil || !cmp.Equal(want, got.RedriveAllow.ByQueue) {
			t.Errorf("want %#v, got %#v, %v", want, got.RedriveAllow.ByQueue, err)
		}
	}
}

func TestRecordsRefuse(t *testing.T) {
	tests := []struct {
		name string
		err  func() error
	}{
		{"status beyond a byte", func() error { _, err := moveTaskRecord(&fsmpb.MoveTaskRecord{Status: 257}); return err }},
		{"scope beyond a byte", func() error { _, err := deduplicationRecord(&fsmpb.DeduplicationRecord{Scope: 256}); return err }},
		{"profile beyond a byte", func() error { _, err := queueAttributes(&fsmpb.QueueAttributes{Profile: 256}); return err }},
		{"short key", func() error { _, err := deduplicationRecord(&fsmpb.DeduplicationRecord{Key: []byte{1}}); return err }},
		{"short publication id", func() error {
			_, err := messageRecord(&fsmpb.MessageRecord{Published: &fsmpb.PublishedMessage{PublicationId: []byte{1}}})
			return err
		}},
		{"signature version beyond a byte", func() error {
			_, err := topicAttributes(&fsmpb.TopicAttributes{SignatureVersion: 256})
			return err
		}},
		{"tracing mode beyond a byte", func() error { _, err := topicAttributes(&fsmpb.TopicAttributes{Tracing: 256}); return err }},
		{"filter scope beyond a byte", func() error { _, err := subscriptionRecord(&fsmpb.SubscriptionRecord{FilterScope: 256}); return err }},
		{"protocol beyond a byte", func() error { _, err := subscriptionRecord(&fsmpb.SubscriptionRecord{Protocol: 256}); return err }},
		{"replay status beyond a byte", func() error { _, err := subscriptionRecord(&fsmpb.SubscriptionRecord{ReplayStatus: 256}); return err }},
		{"long message id", func() error {
			_, err := messageRecord(&fsmpb.MessageRecord{MessageId: make([]byte, 17)})
			return err
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.err(); !IsDamage(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
