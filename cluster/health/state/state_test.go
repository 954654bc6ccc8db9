package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
)

const began = queue.Timestamp(1_700_000_000_000)

// world is a replicated state without a cluster.
type world struct {
	t  *testing.T
	b  *queue.Broker
	at queue.Timestamp
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, b: queue.New(), at: began}
	w.must(&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"})
	return w
}

func (w *world) must(cmd queue.Command) queue.Result {
	w.t.Helper()
	result, err := w.b.Apply(w.at, cmd)
	if err != nil {
		w.t.Fatalf("%#v: %v", cmd, err)
	}
	return result
}

func (w *world) fifo(name string, given ...queue.Attribute) {
	w.t.Helper()
	w.must(&queue.CreateQueue{Queue: name, Attributes: append(given, queue.Attribute{Name: "FifoQueue", Value: "true"})})
}

func (w *world) send(name, group, id string) {
	w.t.Helper()
	w.must(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{{
		Body: "m", GroupID: group, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
	}}})
}

// found returns the findings of one check, some time after the last command.
func (w *world) found(check string, later time.Duration) (found []health.Finding) {
	read := func(visit func(queue.View)) { visit(w.b.View()) }
	for _, f := range Findings(read, time.UnixMilli(int64(w.at)).Add(later)) {
		if f.Check == check {
			found = append(found, f)
		}
	}
	return found
}

// one returns the only finding of a check.
func (w *world) one(check string, later time.Duration, level health.Level, texts ...string) health.Finding {
	w.t.Helper()
	found := w.found(check, later)
	if len(found) != 1 || found[0].Level != level {
		w.t.Fatalf("%s: %+v, want one finding that is %v", check, found, level)
	}
	for _, text := range texts {
		if !strings.Contains(found[0].Text, text) {
			w.t.Errorf("%s: %q is not in %q", check, text, found[0].Text)
		}
	}
	return found[0]
}

// A blocked group is reported once its first message has been in flight for longer than the
// threshold: the worst group of each queue.
func TestBlockedGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fifo("q.fifo", queue.Attribute{Name: "VisibilityTimeout", Value: "43200"})
	w.send("q.fifo", "slow", "1")
	w.must(&queue.ReceiveMessages{Queue: "q.fifo"})
	w.at = w.at.Add(5 * 60_000)
	w.send("q.fifo", "later", "2")
	w.must(&queue.ReceiveMessages{Queue: "q.fifo"})
	if found := w.found(health.Groups, 9*time.Minute); len(found) > 0 {
		t.Errorf("after 14 minutes: %+v", found)
	}
	w.one(health.Groups, 15*time.Minute, health.Warning, `the group "slow" of the queue q.fifo`, "20m0s")
	w.one(health.Groups, 12*time.Hour, health.Critical, `the group "slow"`)
	w.one(health.InFlight, 0, health.OK, "the queue q.fifo has 2 messages in flight")
}

// A subscriber is reported after a failed attempt, without the secret parts of its URL.
func TestWaitingPosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(&queue.CreateTopic{Topic: "t", TopicARN: "arn:aws:sns:us-east-1:000000000000:t"})
	w.must(&queue.Subscribe{Topic: "t", Protocol: attributes.ProtocolHTTPS, Endpoint: "https://user:secret@example.org/hook?key=secret",
		Server: "http://server:9324", Owner: "000000000000"})
	number := w.b.View().ListSubscriptions(0, 10)[0].Number
	due := func() (first queue.WebDelivery) {
		w.b.View().ScanDeliveries(number, func(_ uint64, _ queue.Timestamp, request func() queue.WebDelivery) bool {
			first = request()
			return false
		})
		return first
	}
	w.must(&queue.ConfirmSubscription{Topic: "t", Token: due().Request.Confirmation.Token})
	for range 3 {
		w.must(&queue.Publish{Topic: "t", Entries: []queue.PublishEntry{{Message: "m"}}})
	}
	if found := w.found(health.Posts, 0); len(found) > 0 {
		t.Errorf("before an attempt: %+v", found)
	}
	report := func(outcome queue.DeliveryOutcome) {
		d := due()
		w.must(&queue.ReportDeliveries{Reports: []queue.DeliveryReport{{Subscription: number, Number: d.Number, Attempts: d.Attempts,
			Outcome: outcome}}})
	}
	report(queue.DeliveryFailed)
	f := w.one(health.Posts, 0, health.Warning, "the topic t waits with 3 deliveries for the subscriber at example.org")
	if strings.Contains(f.Text, "secret") {
		t.Errorf("it tells a secret: %s", f.Text)
	}
	for range 3 {
		report(queue.DeliveryDone)
	}
	if found := w.found(health.Posts, 0); len(found) > 0 {
		t.Errorf("after all were delivered: %+v", found)
	}
}

// Messages in a topic's archive count for the quota of its account.
func TestQuotas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(&access.SetAccountQuota{Quota: access.Quota{Messages: 4}})
	w.must(&queue.CreateTopic{Topic: "t.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:t.fifo", Attributes: []queue.Attribute{
		{Name: "ArchivePolicy", Value: `{"MessageRetentionPeriod":"1"}`}, {Name: "FifoTopic", Value: "true"},
	}})
	for i, level := range []health.Level{health.OK, health.OK, health.OK, health.Critical} {
		w.must(&queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
			Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
		}}})
		w.one(health.Quota, 0, level, fmt.Sprintf("the account of the cluster has %d messages, and its quota is 4", i+1))
	}
}

// RedrivePolicies define the dead-letter queues, which have one finding.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fifo("failed.fifo")
	if found := w.found(health.DeadLetter, 0); len(found) > 0 {
		t.Errorf("without a RedrivePolicy: %+v", found)
	}
	w.fifo("q.fifo", queue.Attribute{Name: "RedrivePolicy",
		Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:failed.fifo","maxReceiveCount":1}`},
		queue.Attribute{Name: "MaxDeduplicationEntries", Value: "2"}, queue.Attribute{Name: "VisibilityTimeout", Value: "0"})
	w.one(health.DeadLetter, 0, health.OK)
	w.send("q.fifo", "g", "1")
	w.one(health.Dedup, 0, health.OK, "remembers 1 deduplication ids, of 2")
	w.send("q.fifo", "h", "2")
	w.one(health.Dedup, 0, health.Critical, "remembers 2 deduplication ids, of 2")
	for range 2 {
		w.must(&queue.ReceiveMessages{Queue: "q.fifo", MaxMessages: queue.Some(10)})
	}
	w.one(health.DeadLetter, 0, health.Warning, "2 messages", "failed.fifo")
}
