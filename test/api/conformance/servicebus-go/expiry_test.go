package servicebus

import (
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

const soon = 2 * time.Second

// mortal returns a message with a time to live.
func mortal(body string, d time.Duration) *bus.Message {
	m := message(body)
	m.TimeToLive = &d
	return m
}

func dies() admin.QueueProperties {
	return admin.QueueProperties{DeadLetteringOnMessageExpiration: new(true)}
}

func TestTimeToLive(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, mortal("x", 5*time.Minute), message("y"))
	got := f.drain(path, 2)
	f.same(*got[0].TimeToLive, 5*time.Minute, "time to live")
	f.same(got[0].ExpiresAt.Sub(*got[0].EnqueuedTime), 5*time.Minute, "expiry")
	f.holds(got[1].TimeToLive == nil || *got[1].TimeToLive == 0, "time to live of the other: %v", got[1].TimeToLive)
}

func TestExpired(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.send(path, mortal("expires", soon), message("stays"))
	r := f.receiver(path)
	f.eventually("the message expires", func() bool { return len(f.browse(r, 10)) == 1 })
	f.same(bodies(f.drain(path, 1)), []string{"stays"}, "bodies")
	f.empty(f.deadLetters(path))
}

func TestExpiredAndDeadLettered(t *testing.T) {
	f := newFixture(t)
	path := f.queue(dies())
	f.send(path, mortal("x", soon))
	f.same(text(f.one(f.deadLetters(path)).DeadLetterReason), "TTLExpiredException", "reason")
	f.nothing(f.receiver(path))
}

func TestTimeToLiveOfTheQueue(t *testing.T) {
	f := newFixture(t)
	p := dies()
	p.DefaultMessageTimeToLive = new("PT2S")
	path := f.queue(p)
	f.send(path, message("1"), mortal("2", time.Hour))
	f.same(bodies(f.take(f.deadLetters(path), 2)), []string{"1", "2"}, "bodies") // the shorter one counts
}

func TestTheShorterTimeCounts(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{DefaultMessageTimeToLive: new("PT1H")})
	f.send(path, mortal("x", soon))
	r := f.receiver(path)
	f.eventually("the message expires", func() bool { return len(f.browse(r, 10)) == 0 })
}

func TestDeadLettersAndDeferredMessagesDoNotExpire(t *testing.T) {
	f := newFixture(t)
	path := f.queue(dies())
	f.send(path, mortal("dead", 4*time.Second), mortal("deferred", 4*time.Second))
	r := f.receiver(path)
	got := f.take(r, 2)
	f.must(r.DeadLetterMessage(f.ctx, got[0], nil))
	f.must(r.DeferMessage(f.ctx, got[1], nil))
	pass(6 * time.Second)
	f.same(bodies(f.deferred(r, got[1])), []string{"deferred"}, "deferred")
	f.same(bodies(f.drainFrom(f.deadLetters(path), 1)), []string{"dead"}, "dead letters")
}

func TestCompleteAfterTheTimeToLive(t *testing.T) {
	f := newFixture(t)
	path := f.queue(dies())
	f.send(path, mortal("x", soon))
	r := f.receiver(path)
	got := f.one(r)
	pass(2 * soon)
	f.complete(r, got)
	f.nothing(f.deadLetters(path))
}

func TestTimeToLiveOfAScheduledMessage(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	f.schedule(path, later(3*time.Second), mortal("x", 30*time.Second))
	f.same(bodies(f.drain(path, 1)), []string{"x"}, "bodies")
}

func TestExpiredInASession(t *testing.T) {
	f := newFixture(t)
	path := f.sessions(dies())
	m := mortal("x", soon)
	m.SessionID = new("s")
	f.send(path, m, of("s", "y")[0])
	dead := f.one(f.deadLetters(path))
	f.same([]string{string(dead.Body), text(dead.SessionID), text(dead.DeadLetterReason)},
		[]string{"x", "s", "TTLExpiredException"}, "dead letter")
	f.same(string(f.one(f.session(path, "s", nil)).Body), "y", "body")
}
