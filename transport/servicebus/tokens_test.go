package servicebus

import (
	"context"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

const (
	secret  = "an-example-and-no-secret"
	rootKey = "SRTMROOT000000000001"
	annaKey = "SRTMANNA000000000001"
)

// root is a key of the account.
var root = &access.CreateAccessKey{ID: rootKey, Secret: secret, Account: "000000000000"}

// guardedFixture is a port that requires tokens. There is a key of the account, and one of a user without
// permissions.
func guardedFixture(t *testing.T) *fixture {
	t.Helper()
	for _, cmd := range []queue.Command{
		root,
		&access.CreateAccessKey{ID: annaKey, Secret: secret, Account: "000000000000", User: "anna"},
	} {
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	}
	t.Cleanup(func() {
		for _, id := range []string{rootKey, annaKey} {
			clustertest.Check(t, clustertest.Err(node.Submit(context.WithoutCancel(t.Context()), &access.DeleteAccessKey{ID: id})))
		}
		unpermitted := &access.PutUserPolicy{Account: "000000000000", User: "anna"}
		clustertest.Check(t, clustertest.Err(node.Submit(context.WithoutCancel(t.Context()), unpermitted)))
	})
	return newFixture(t, func(o *Options) {
		g := gate.New(node, time.Now)
		o.Tokens, o.Authorizer = g, g
	})
}

// put puts a token for an entity.
func (m *requester) put(path, key, secret string, end time.Time) int32 {
	m.f.t.Helper()
	audience := "sb://host:1/" + path
	status, _, _ := m.call("put-token", sas.Sign(audience, key, secret, end), map[string]any{"type": "jwt", "name": audience})
	return status
}

// A link needs a valid token that covers its entity, of a key with the permission.
func TestTokens(t *testing.T) {
	f := guardedFixture(t)
	name, other := f.create(plain), f.create(plain)
	s := f.session()
	cbs := f.manage(s, "$cbs")
	soon := time.Now().Add(time.Minute)
	attach := func(path string) error {
		_, err := s.NewSender(t.Context(), path, nil)
		return err
	}
	wantCondition(t, attach(name), "amqp:unauthorized-access")
	for text, got := range map[string]int32{
		"a wrong secret": cbs.put(name, rootKey, "wrong", soon),
		"no key":         cbs.put(name, "none", secret, soon),
		"an old token":   cbs.put(name, rootKey, secret, time.Now().Add(-time.Minute)),
	} {
		if got != 401 {
			t.Errorf("%s: status %d", text, got)
		}
	}
	if got := cbs.put(name, annaKey, secret, soon); got != 202 {
		t.Errorf("status %d", got)
	}
	wantCondition(t, attach(name), "amqp:unauthorized-access") // no permission
	if got := cbs.put(name, rootKey, secret, soon); got != 202 {
		t.Errorf("status %d", got)
	}
	wantCondition(t, attach(other), "amqp:unauthorized-access")
	out := f.sender(s, name)
	clustertest.Must(t, out.Send(t.Context(), newMessage("a", "one"), nil))
	f.manage(s, name+"/$management").want(200, "peek-message", map[string]any{"from-sequence-number": int64(0), "message-count": int32(1)})
	clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.DeleteAccessKey{ID: rootKey})))
	wantCondition(t, out.Send(t.Context(), newMessage("b", "two"), nil), "amqp:unauthorized-access")
	clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), root)))
}

// The links of a token that is not renewed are detached after its end.
func TestExpiredToken(t *testing.T) {
	f := guardedFixture(t)
	name := f.create(plain)
	s := f.session()
	cbs := f.manage(s, "$cbs")
	if got := cbs.put(name, rootKey, secret, time.Now().Add(2*time.Second)); got != 202 {
		t.Errorf("status %d", got)
	}
	in := f.receiver(s, name, nil)
	_, err := in.Receive(t.Context(), nil)
	wantCondition(t, err, "amqp:unauthorized-access")
}

// A sender on a topic needs the permission to publish, a receiver of a subscription that to its queue.
func TestPermissionsOfTopics(t *testing.T) {
	f := guardedFixture(t)
	topic := f.createTopic()
	path := f.subscribe(topic, "s", plain)
	s := f.session()
	cbs := f.manage(s, "$cbs")
	attach := func() (send, receive error) {
		_, send = s.NewSender(t.Context(), topic, nil)
		_, receive = s.NewReceiver(t.Context(), path, nil)
		return send, receive
	}
	if got := cbs.put(topic, annaKey, secret, time.Now().Add(time.Minute)); got != 202 { // it covers the subscription, too
		t.Errorf("status %d", got)
	}
	permit := func(action, arn string) {
		t.Helper()
		policy := `{"Statement":{"Effect":"Allow","Action":"` + action + `","Resource":"` + arn + `"}}`
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), &access.PutUserPolicy{
			Account: "000000000000", User: "anna", Policy: policy})))
	}
	permit("sqs:*", "*")
	send, receive := attach()
	wantCondition(t, send, unauthorizedAccess)
	clustertest.Must(t, receive)
	permit("sns:Publish", f.server.Names.TopicARN(entity.QueueName(topic)))
	send, receive = attach()
	clustertest.Must(t, send)
	wantCondition(t, receive, unauthorizedAccess)
	m := f.manage(s, topic+"/$management")
	m.want(404, "cancel-scheduled-message", map[string]any{"sequence-numbers": []int64{7}})
	permit("sqs:*", "*")
	m.want(401, "cancel-scheduled-message", map[string]any{"sequence-numbers": []int64{7}})
}
