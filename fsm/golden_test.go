package fsm

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
	"github.com/seriatimq/seriatim/queue/rules"
)

// TestGoldenSnapshot restores a stored snapshot and writes the same bytes again. The test data of
// package snapshot holds one for each format version.
func TestGoldenSnapshot(t *testing.T) {
	r := eventful(t)
	now := r.snapshot()
	want := fsmtest.Golden(t, filepath.Join("snapshot", "testdata", fmt.Sprintf("v%d.snapshot", format.CurrentVersion)), now)
	if !bytes.Equal(want, now) {
		t.Errorf("the history gives other snapshot bytes: %d now, %d golden", len(now), len(want))
	}
	other := newReplica(t, Options{})
	other.restore(want)
	if diff := cmp.Diff(r.fsm.Position(), other.fsm.Position()); diff != "" {
		t.Errorf("position (-applied +golden):\n%s", diff)
	}
	if !bytes.Equal(want, other.snapshot()) {
		t.Error("the restored golden snapshot gives other bytes")
	}
}

// eventful returns a replica with every kind of record.
func eventful(t testing.TB) *replica {
	r := founded(t, Options{})
	redrive := `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}`
	allow := `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:q.fifo"]}`
	fifo := queue.Attribute{Name: "FifoQueue", Value: "true"}
	at := start
	do := func(passed logtime.Duration, cmd queue.Command) queue.Result {
		at = at.Add(passed)
		got := r.apply(at, cmd)
		if got.Err != nil {
			t.Fatalf("%T: %v", cmd, got.Err)
		}
		return got.Result
	}
	send := func(name string, id, group, body string, attributes ...queue.MessageAttribute) queue.SendMessages {
		return queue.SendMessages{Queue: name, SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
			Body: body, Attributes: attributes, GroupID: group, GroupIDGiven: true,
			DeduplicationID: id, DeduplicationIDGiven: true, TraceHeader: "Root=1-5759e988-bd862e3fe1be46a994272793",
		}}}
	}
	do(0, &queue.CreateQueue{Queue: "dead.fifo", Attributes: []queue.Attribute{fifo, {Name: "RedriveAllowPolicy", Value: allow}}})
	do(0, &queue.CreateQueue{
		Queue: "q.fifo",
		Attributes: []queue.Attribute{
			fifo, {Name: "RedrivePolicy", Value: redrive}, {Name: "ReservedAttributesEnabled", Value: "true"},
		},
		Tags: []queue.Tag{{Key: "team", Value: "red"}},
	})
	do(0, &queue.CreateQueue{Queue: "gone"})
	do(0, &queue.DeleteQueue{Queue: "gone"})
	do(0, &queue.CreateQueue{Queue: "plain"})
	for _, id := range []string{"1", "2", "3"} {
		cmd := send("q.fifo", id, "group-"+id, "body "+id, queue.MessageAttribute{Name: "color", DataType: "String", Value: "red"})
		do(logtime.Second, &cmd)
	}
	later := send("q.fifo", "4", "group-4", "later", queue.MessageAttribute{
		Name: "seriatim.ScheduledEnqueueTime", DataType: "Number", Value: "1700000600000",
	})
	do(0, &later)
	keyed := send("q.fifo", "5", "group-5", "keyed",
		queue.MessageAttribute{Name: "color", DataType: "String", Value: "blue"},
		queue.MessageAttribute{Name: "seriatim.PartitionKey", DataType: "String", Value: "group-5"})
	do(0, &keyed)
	eventfulServiceBus(do)
	do(0, &queue.ReceiveMessages{Queue: "q.fifo", VisibilityTimeout: queue.Some(5)})
	do(6*logtime.Second, &queue.ReceiveMessages{
		Queue: "q.fifo", AttemptID: "attempt", AttemptIDGiven: true, VisibilityTimeout: queue.Some(60),
	})
	do(0, &queue.ReceiveMessages{Queue: "q.fifo", VisibilityTimeout: queue.Some(0)})
	do(0, &queue.ReceiveMessages{Queue: "q.fifo", VisibilityTimeout: queue.Some(0)})
	do(logtime.Second, &queue.StartMoveTask{Source: "dead.fifo", MaxPerSecond: queue.Some(5)})
	do(0, &queue.SendMessages{Queue: "plain", Entries: []queue.SendEntry{{Body: "delayed", DelaySeconds: queue.Some(9)}}})
	encoded := send("q.fifo", "6", "group-6", "\x00Su\xa0\x01x")
	encoded.Entries[0].Native, encoded.Entries[0].Encoded = true, &queue.Encoded{
		Format: message.FormatAMQP, Sections: "\x00St\xc1\x01\x00",
		Changes: []queue.PropertyChange{{Name: "color", Value: "\xa1\x03red"}, {Scope: message.ScopeSystem, Name: "subject"}},
	}
	do(0, &encoded)
	for _, cmd := range topicHistory() {
		do(0, cmd)
	}
	do(0, &queue.ReplayMessages{Subscription: r.fsm.View().RunningReplays()[0], Max: 1})
	eventfulWeb(r.fsm.View, do)
	eventfulRules(t, r.fsm.View, do)
	do(0, &access.CreateAccessKey{ID: "AKIAEXAMPLE000000001", Secret: "not-a-secret-but-an-example", Account: "000000000000", User: "anna"})
	do(0, &access.CreateAccessKey{ID: "AKIAEXAMPLE000000002", Secret: "not-a-secret-but-an-example", Account: "000000000000"})
	do(0, &access.UpdateAccessKey{ID: "AKIAEXAMPLE000000002"})
	do(0, &access.PutUserPolicy{Account: "000000000000", User: "anna", Policy: `{"Statement":[]}`})
	for _, cmd := range accountHistory() {
		do(0, cmd)
	}
	return r
}

// accountHistory adds a second account with a queue and a topic.
func accountHistory() []queue.Command {
	const owner, fifo = "111111111111", "q.fifo"
	return []queue.Command{
		&access.CreateAccount{Account: owner,
			Quota: access.Quota{Queues: 3, Topics: 1, Messages: 100, Bytes: 1 << 20, RequestsPerSecond: 50}},
		&access.SetAccountQuota{Quota: access.Quota{Queues: 1000}},
		&access.CreateAccessKey{ID: "AKIAEXAMPLE000000003", Secret: "not-a-secret-but-an-example", Account: owner, Tenant: true},
		&queue.CreateQueue{Queue: access.Qualify(owner, fifo), Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}},
		&queue.SendMessages{Queue: access.Qualify(owner, fifo), SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
			Body: "of another account", GroupID: "group-1", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true,
		}}},
		&queue.CreateTopic{
			Topic: access.Qualify(owner, "t.fifo"), TopicARN: "arn:aws:sns:us-east-1:" + owner + ":t.fifo",
			Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}},
		},
		&queue.Subscribe{
			Topic: access.Qualify(owner, "t.fifo"), Endpoint: "arn:aws:sqs:us-east-1:" + owner + ":q.fifo",
			Queue: access.Qualify(owner, fifo),
			Owner: owner, Principal: "arn:aws:iam::" + owner + ":root",
		},
	}
}

// topicHistory adds every kind of record of topics.
func topicHistory() []queue.Command {
	const topic = "arn:aws:sns:us-east-1:000000000000:t.fifo"
	return []queue.Command{
		&queue.CreateTopic{
			Topic: "t.fifo", TopicARN: topic,
			Attributes: []queue.Attribute{{Name: "ArchivePolicy", Value: `{"MessageRetentionPeriod":"30"}`},
				{Name: "DeduplicationWindowSeconds", Value: "600"}, {Name: "DisplayName", Value: "T"}, {Name: "FifoTopic", Value: "true"}},
			Tags: []queue.Tag{{Key: "team", Value: "red"}},
		},
		&queue.Publish{
			Topic: "t.fifo", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324", Entries: []queue.PublishEntry{{
				Message: "archived only", GroupID: "group-6", GroupIDGiven: true, DeduplicationID: "7", DeduplicationIDGiven: true,
			}},
		},
		&queue.CreateTopic{Topic: "gone", TopicARN: "arn:aws:sns:us-east-1:000000000000:gone"},
		&queue.DeleteTopic{Topic: "gone"},
		&queue.Subscribe{
			Topic: "t.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:q.fifo", Owner: "000000000000",
			Principal: "arn:aws:iam::000000000000:root",
			Attributes: []queue.Attribute{{Name: "FilterPolicy", Value: `{"color":["red"]}`},
				{Name: "FilterPolicyScope", Value: "MessageAttributes"}},
		},
		&queue.Subscribe{
			Topic: "t.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:plain", Owner: "000000000000",
			Attributes: []queue.Attribute{{Name: "RawMessageDelivery", Value: "true"},
				{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead"}`}},
		},
		&queue.Publish{
			Topic: "t.fifo", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324",
			Entries: []queue.PublishEntry{{
				Message: "published", Subject: "subject", SubjectGiven: true,
				Attributes: []queue.MessageAttribute{{Name: "color", DataType: "String", Value: "red"}},
				GroupID:    "group-6", GroupIDGiven: true, DeduplicationID: "6", DeduplicationIDGiven: true,
			}},
		},
		&queue.Subscribe{
			Topic: "t.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:bus.fifo", Owner: "000000000000",
			Attributes: []queue.Attribute{{Name: "ReplayPolicy",
				Value: `{"PointType":"Timestamp","StartingPoint":"2023-11-14T00:00:00.000Z"}`}},
		},
		&queue.CreateTopic{
			Topic: "bus.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:bus.fifo",
			Attributes: []queue.Attribute{{Name: "CompatibilityProfile", Value: "servicebus"},
				{Name: "DeduplicationScope", Value: "partitionKey"}, {Name: "DefaultTimeToLiveSeconds", Value: "3600"},
				{Name: "FifoTopic", Value: "true"},
				{Name: "MaxDeduplicationEntries", Value: "1000"}, {Name: "MessageGroupIdMode", Value: "Optional"},
				{Name: "ReservedAttributesEnabled", Value: "true"}},
		},
		&queue.Publish{
			Topic: "bus.fifo", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324", Batch: true, Large: true,
			Entries: []queue.PublishEntry{
				{Message: "later", DeduplicationID: "8", DeduplicationIDGiven: true, Subject: "subject", SubjectGiven: true,
					Attributes: []queue.MessageAttribute{{Name: "color", DataType: "String", Value: "red"},
						{Name: "seriatim.PartitionKey", DataType: "String", Value: "key"}},
					Options: &queue.SendOptions{EnqueueAt: start.Add(logtime.Seconds(900)), TimeToLive: logtime.Seconds(60)}},
				{Message: "cancelled", DeduplicationID: "9", DeduplicationIDGiven: true,
					Options: &queue.SendOptions{EnqueueAt: start.Add(logtime.Seconds(900))}},
				{Message: "\x00Su\xa0\x01x", Native: true, DeduplicationID: "10", DeduplicationIDGiven: true,
					Encoded: &queue.Encoded{Format: message.FormatAMQP, Sections: "\x00Ss\xc0\x04\x01\xa1\x01s"},
					Options: &queue.SendOptions{EnqueueAt: start.Add(logtime.Seconds(900)), PartitionKey: "key"}},
			},
		},
		&queue.CancelScheduled{Topic: "bus.fifo", Sequences: []queue.SequenceNumber{2}, ForgetDeduplicationID: true},
	}
}

// eventfulWeb adds subscriptions of URLs: an unconfirmed one, and one with two pending messages,
// one of them tried once.
func eventfulWeb(view func() queue.View, do func(logtime.Duration, queue.Command) queue.Result) {
	do(0, &queue.CreateTopic{Topic: "web", TopicARN: "arn:aws:sns:us-east-1:000000000000:web"})
	subscribe := func(p attributes.Protocol, url string) uint64 {
		do(0, &queue.Subscribe{
			Topic: "web", Protocol: p, Endpoint: url, Server: "http://localhost:9324", Owner: "000000000000",
			Attributes: []queue.Attribute{{Name: "DeliveryPolicy", Value: `{"healthyRetryPolicy":{"numRetries":5}}`}},
		})
		all := view().ListSubscriptions(0, 100)
		return all[len(all)-1].Number
	}
	subscribe(attributes.ProtocolHTTPS, "https://example.org/pending")
	number := subscribe(attributes.ProtocolHTTP, "http://example.org/hook")
	first := func() (d queue.WebDelivery) {
		view().ScanDeliveries(number, func(_ uint64, _ queue.Timestamp, request func() queue.WebDelivery) bool {
			d = request()
			return false
		})
		return d
	}
	do(0, &queue.ConfirmSubscription{Topic: "web", Token: first().Request.Confirmation.Token, Signed: true,
		AuthenticateOnUnsubscribe: true})
	do(0, &queue.Publish{Topic: "web", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324",
		Entries: []queue.PublishEntry{{Message: "tried once"}}})
	do(0, &queue.ReportDeliveries{Reports: []queue.DeliveryReport{{Subscription: number, Number: first().Number,
		Outcome: queue.DeliveryFailed}}})
	do(0, &queue.Publish{Topic: "web", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324",
		Entries: []queue.PublishEntry{{Message: "new"}}})
}

// eventfulRules adds subscriptions with every kind of rule, and a message that a rule changed.
func eventfulRules(t testing.TB, view func() queue.View, do func(logtime.Duration, queue.Command) queue.Result) {
	do(0, &queue.CreateTopic{Topic: "ruled.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:ruled.fifo",
		Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}})
	subscribe := func(name string, own ...rules.Definition) string {
		prepared, refused := queue.Prepare(&queue.Subscribe{
			Topic: "ruled.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:" + name, Owner: "000000000000", Rules: own,
			Attributes: []queue.Attribute{{Name: "DeadLetterOnFilterError", Value: "false"}, {Name: "RawMessageDelivery", Value: "true"}},
		})
		if refused != nil {
			t.Fatal(refused)
		}
		return do(0, prepared.Command).(queue.Subscribed).SubscriptionARN
	}
	red := []rules.Parameter{rules.NewParameter("color", property.String("red"))}
	with := subscribe("plain",
		rules.Definition{Name: "conditions", Kind: rules.KindCorrelation, Application: red,
			System: []rules.Parameter{rules.NewParameter("Label", property.String("subject"))}},
		rules.Definition{Name: "expression", Kind: rules.KindSQL,
			SQL:    &rules.Expression{Text: "color=@color or  TRUE = true", Parameters: red},
			Action: &rules.Expression{Text: "set color = @to", Parameters: []rules.Parameter{rules.NewParameter("@to", property.Long(1))}}},
	)
	for _, kind := range []rules.Kind{rules.KindTrue, rules.KindFalse} {
		do(logtime.Second, &queue.PutRule{SubscriptionARN: with, Rule: rules.Definition{Name: fmt.Sprint("kind ", kind), Kind: kind}})
	}
	do(0, &queue.RemoveRule{SubscriptionARN: subscribe("q.fifo"), Rule: rules.DefaultName})
	do(0, &queue.Publish{Topic: "ruled.fifo", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324",
		Entries: []queue.PublishEntry{{
			Message: "changed", GroupID: "group-7", GroupIDGiven: true, DeduplicationID: "11", DeduplicationIDGiven: true,
			Attributes: []queue.MessageAttribute{{Name: "color", DataType: "String", Value: "red"}},
		}}})
	if list, err := view().Rules(with); err != nil || len(list) != 4 {
		t.Fatalf("%v, %v", list, err)
	}
}

// eventfulServiceBus adds schedules and sessions.
func eventfulServiceBus(do func(logtime.Duration, queue.Command) queue.Result) {
	send := func(id, group string, options *queue.SendOptions) queue.SequenceNumber {
		return do(0, &queue.SendMessages{Queue: "bus.fifo", Entries: []queue.SendEntry{{
			Body: "body " + id, GroupID: group, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true, Options: options,
		}}}).(queue.MessagesSent).Entries[0].Sequence
	}
	do(0, &queue.CreateQueue{Queue: "bus.fifo", Attributes: []queue.Attribute{
		{Name: "CompatibilityProfile", Value: "servicebus"}, {Name: "FifoQueue", Value: "true"},
	}})
	send("1", "later", &queue.SendOptions{EnqueueAt: start.Add(logtime.Seconds(600)), PartitionKey: "later"})
	never := send("2", "never", &queue.SendOptions{EnqueueAt: start.Add(logtime.Seconds(600))})
	do(0, &queue.CancelScheduled{Queue: "bus.fifo", Sequences: []queue.SequenceNumber{never}, ForgetDeduplicationID: true})
	accept := func(id string) queue.SessionRef {
		locked := do(0, &queue.AcceptSession{Queue: "bus.fifo", SessionID: id, SessionIDGiven: true}).(queue.SessionLocked)
		return queue.SessionRef{SessionID: locked.SessionID, Token: locked.Token.String()}
	}
	send("3", "held", nil)
	send("4", "held", nil)
	held, kept := accept("held"), accept("kept")
	do(0, &queue.SetSessionState{Queue: "bus.fifo", Session: held, State: "\x00\xff", StateGiven: true})
	do(0, &queue.SetSessionState{Queue: "bus.fifo", Session: kept, StateGiven: true})
	do(0, &queue.ReleaseSession{Queue: "bus.fifo", Session: kept})
	do(0, &queue.ReceiveMessages{Queue: "bus.fifo", Options: &queue.ReceiveOptions{Session: held}})
	send("5", "back", nil)
	back := accept("back")
	do(0, &queue.ReceiveMessages{Queue: "bus.fifo", Options: &queue.ReceiveOptions{Session: back}})
	do(0, &queue.ReleaseSession{Queue: "bus.fifo", Session: back})
	send("6", "aside", nil)
	later := accept("aside")
	got := do(0, &queue.ReceiveMessages{Queue: "bus.fifo",
		Options: &queue.ReceiveOptions{Session: later}}).(queue.MessagesReceived).Messages[0]
	do(0, &queue.Defer{Queue: "bus.fifo", Session: later, Handles: []string{got.Handle.String()}})
	do(0, &queue.ReceiveDeferred{Queue: "bus.fifo", Session: later, Sequences: []queue.SequenceNumber{got.Sequence}})
}
