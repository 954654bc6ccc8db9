package servicebus

import (
	"net/http"
	"testing"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// uri returns the URI of an entity as a target of forwarding. The client makes no URI of a path, and signs a token for the text as it is.
func (f *fixture) uri(path string) *string { return new("sb://" + f.endpoint() + "/" + path) }

func TestForwarding(t *testing.T) {
	f := newFixture(t)
	target := f.queue(admin.QueueProperties{})
	source := f.queue(admin.QueueProperties{ForwardTo: f.uri(target)})
	m := named("x", "m")
	m.ApplicationProperties = map[string]any{"kept": int64(1)}
	f.send(source, m)
	got := f.drain(target, 1)[0]
	f.same([]any{string(got.Body), got.MessageID, got.ApplicationProperties}, []any{"x", "m", m.ApplicationProperties}, "message")
	_, err := f.receiver(source).ReceiveMessages(f.ctx, 1, nil)
	f.rejects(err, "auto-forwarding")
}

func TestForwardingOfDeadLetters(t *testing.T) {
	f := newFixture(t)
	target := f.queue(admin.QueueProperties{})
	source := f.queue(admin.QueueProperties{ForwardDeadLetteredMessagesTo: f.uri(target)})
	f.send(source, message("x"))
	r := f.receiver(source)
	f.must(r.DeadLetterMessage(f.ctx, f.one(r), &bus.DeadLetterOptions{Reason: new("r"), ErrorDescription: new("d")}))
	got := f.drain(target, 1)[0]
	f.same([]string{string(got.Body), *got.DeadLetterReason, *got.DeadLetterErrorDescription}, []string{"x", "r", "d"}, "message")
}

func TestTransferDeadLetters(t *testing.T) {
	f := newFixture(t)
	target := f.queue(admin.QueueProperties{})
	source := f.queue(admin.QueueProperties{ForwardTo: f.uri(target)})
	p := f.read(target)
	p.Status = new(admin.EntityStatusSendDisabled)
	_, err := f.admin().UpdateQueue(f.ctx, target, p, nil)
	f.must(err)
	f.send(source, message("x"), message("y"))
	counts, err := f.admin().GetQueueRuntimeProperties(f.ctx, source, nil)
	f.must(err)
	f.same(counts.TransferDeadLetterMessageCount, int32(2), "count")
	r := f.receiverWith(source, &bus.ReceiverOptions{SubQueue: bus.SubQueueTransfer})
	f.same(bodies(f.browse(r, 10)), []string{"x", "y"}, "peeked")
	got := f.one(r)
	f.same([]string{*got.DeadLetterReason, *got.DeadLetterSource}, []string{"MessagingEntityDisabledException", source}, "message")
	f.complete(r, got)
}

func TestForwardingOfASubscription(t *testing.T) {
	f := newFixture(t)
	target := f.queue(admin.QueueProperties{})
	topic := f.topic(admin.TopicProperties{}, subscriptions{"s": {ForwardTo: f.uri(target)}})
	got, err := f.admin().GetSubscription(f.ctx, topic, "s", nil)
	f.must(err)
	f.same(got.ForwardTo, f.uri(target), "target")
	f.send(topic, message("x"))
	f.drain(target, 1)
}

func TestForwardingToATopic(t *testing.T) {
	f := newFixture(t)
	topic := f.topic(admin.TopicProperties{}, subscriptions{"s": {}})
	f.send(f.queue(admin.QueueProperties{ForwardTo: f.uri(topic)}), message("x"))
	f.same(string(f.one(f.subscription(topic, "s", nil)).Body), "x", "body")
}

func TestTargetsOfForwarding(t *testing.T) {
	f := newFixture(t)
	target, missing := f.queue(admin.QueueProperties{}), f.uri(f.path())
	source := f.queue(admin.QueueProperties{ForwardTo: f.uri(target)})
	p := f.read(target)
	p.ForwardTo = f.uri(source)
	_, err := f.admin().UpdateQueue(f.ctx, target, p, nil)
	f.answered(err, http.StatusBadRequest, "would come back")
	_, err = f.admin().CreateQueue(f.ctx, f.path(), &admin.CreateQueueOptions{Properties: &admin.QueueProperties{ForwardTo: missing}})
	f.answered(err, http.StatusBadRequest, "SubCode=40400")
	p = f.read(source)
	p.ForwardTo = nil
	_, err = f.admin().UpdateQueue(f.ctx, source, p, nil)
	f.must(err)
	f.holds(f.read(source).ForwardTo == nil, "the queue forwards")
	f.send(source, message("x"))
	f.drain(source, 1)
}
