package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
)

const (
	tenant      = "111111111111"
	otherTenant = "222222222222"
)

// of returns a qualified name of the tenant.
func of(name string) string { return access.Qualify(tenant, name) }

func tenantARN(service, name string) string {
	return "arn:aws:" + service + ":us-east-1:" + tenant + ":" + name
}

func newTenants(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.must(&access.CreateAccount{Account: tenant})
	w.must(&access.CreateAccount{Account: otherTenant})
	return w
}

// Two accounts have a queue of the same name and share nothing.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	names := []string{"q.fifo", of("q.fifo"), access.Qualify(otherTenant, "q.fifo")}
	seen := map[string]bool{}
	for _, name := range names {
		w.create(name)
		sent := w.send(name, "g", "d", "in "+name)
		if sent.Duplicate || seen[sent.MessageID.String()] {
			t.Errorf("%s: %+v", name, sent)
		}
		seen[sent.MessageID.String()] = true
	}
	for _, name := range names {
		messages := w.receive(name, 10)
		if got := bodies(messages); got != "in "+name+" " {
			t.Errorf("%s has %q", name, got)
		}
		for _, other := range names {
			if err := w.refusalOf(&DeleteMessages{Queue: other,
				Handles: []string{messages[0].Handle.String()}}); (err == nil) != (other == name) {
				t.Errorf("a handle of %s at %s: %v", name, other, err)
			}
		}
	}
	w.must(&DeleteQueue{Queue: "q.fifo"})
	if v := w.b.View(); v.QueueExists("q.fifo") || !v.QueueExists(of("q.fifo")) {
		t.Error("another queue is deleted")
	}
}

// refusalOf returns the refusal of a command, nil if it is accepted.
func (w *world) refusalOf(cmd Command) *Error {
	w.t.Helper()
	_, err := w.apply(cmd)
	return err
}

// The list has plain names before and after the qualified ones.
func TestListsOfAccounts(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	plain := []string{"-", "111111111110", "111111111111", "1111111111110", "1111111111111", "111111111112", "2", "222222222222", "a", "z"}
	for i, name := range plain {
		w.create(name)
		w.createTopic(name)
		w.create(of(name))
		owned := fmt.Sprint("t", i)
		w.must(&CreateTopic{Topic: of(owned), TopicARN: tenantARN("sns", owned)})
	}
	w.create(access.Qualify(otherTenant, "b"))
	v := w.b.View()
	all := func(page func(after string) []string) (names []string) {
		for after := ""; ; after = names[len(names)-1] {
			next := page(after)
			if len(next) == 0 {
				return names
			}
			names = append(names, next...)
		}
	}
	qualified := make([]string, len(plain))
	for i, name := range plain {
		qualified[i] = of(name)
	}
	for _, size := range []int{1, 2, 3, 100} {
		if got := all(func(after string) []string { return v.QueuesOf("", "", after, size) }); !slices.Equal(got, plain) {
			t.Errorf("pages of %d: the cluster's own account has %q", size, got)
		}
		if got := all(func(after string) []string { return v.QueuesOf(tenant, "", after, size) }); !slices.Equal(got, qualified) {
			t.Errorf("pages of %d: the tenant has %q", size, got)
		}
		if got := all(func(after string) []string { return v.TopicsOf("", after, size) }); !slices.Equal(got, plain) {
			t.Errorf("pages of %d: the cluster's own account has the topics %q", size, got)
		}
		if got := all(func(after string) []string { return v.TopicsOf(tenant, after, size) }); len(got) != len(plain) ||
			got[0] != of("t0") {
			t.Errorf("pages of %d: the tenant has the topics %q", size, got)
		}
	}
	if got := v.QueuesOf("", "1111", "", 10); !slices.Equal(got, plain[1:6]) {
		t.Errorf("with a prefix %q", got)
	}
	if got := v.QueuesOf(otherTenant, "", "", 10); !slices.Equal(got, []string{access.Qualify(otherTenant, "b")}) {
		t.Errorf("the other tenant has %q", got)
	}
	if got := v.TopicsOf(otherTenant, "", 10); len(got) != 0 {
		t.Errorf("the other tenant has the topics %q", got)
	}
}

func TestNamesOfAccounts(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	longest := strings.Repeat("n", 80)
	w.create(of(longest))
	w.send(of(longest), "", "", "x")
	for _, name := range []string{of(longest + "n"), of(""), of("a/b"), "11111111111x/a", "1/a"} {
		if err := (&CreateQueue{Queue: name}).Validate(); err == nil {
			t.Errorf("a queue can be %q", name)
		}
	}
	if err := w.refusal(&CreateQueue{Queue: "333333333333/q"}); err.Code != refusal.InvalidParameterValue {
		t.Errorf("a queue of no account: %v", err)
	}
	if err := w.refusal(&CreateTopic{Topic: "333333333333/t",
		TopicARN: "arn:aws:sns:us-east-1:333333333333:t"}); err.Code != refusal.SNSInvalidParameter {
		t.Errorf("a topic of no account: %v", err)
	}
	if err := (&CreateTopic{Topic: of("t"), TopicARN: topicARN("t")}).Validate(); err == nil {
		t.Error("a topic can have the ARN of another account")
	}
}

// A dead-letter queue must belong to the same account.
func TestRedriveStaysInTheAccount(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	for _, name := range []string{"dead", of("dead"), access.Qualify(otherTenant, "dead")} {
		w.create(name)
	}
	redrive := func(arn string) Attribute {
		return Attribute{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":1}`}
	}
	elsewhere := func(owner string) string { return "arn:aws:sqs:us-east-1:" + owner + ":dead" }
	for _, tc := range []struct{ queue, target string }{
		{of("q"), queueARN("dead")}, {of("q"), elsewhere(otherTenant)}, {"q", tenantARN("sqs", "dead")},
	} {
		err := w.refusal(&CreateQueue{Queue: tc.queue, Attributes: []Attribute{redrive(tc.target)}})
		if err.Code != refusal.InvalidParameterValue ||
			!strings.HasSuffix(err.Message, "Reason: Dead-letter target owner should be same as the source.") {
			t.Errorf("%s to %s: %v", tc.queue, tc.target, err)
		}
	}
	w.create("q", redrive(elsewhere("999999999999"))) // as a migrated client sends it
	w.create(of("q"), redrive(tenantARN("sqs", "dead")))
	for _, name := range []string{"q", of("q")} {
		w.send(name, "", "", "of "+name)
		w.must(&ReceiveMessages{Queue: name, VisibilityTimeout: Some(0)})
		w.must(&ReceiveMessages{Queue: name})
		dead := access.Sibling(name, "dead")
		sources, _ := w.b.View().DeadLetterSources(dead, "", 10)
		messages := w.receive(dead, 1)
		if bodies(messages) != "of "+name+" " || messages[0].DeadLetterSource != name || !slices.Equal(sources, []string{name}) {
			t.Errorf("%s has %+v from %q", dead, messages, sources)
		}
	}
	if n := w.stored(access.Qualify(otherTenant, "dead")); n != 0 {
		t.Errorf("the other tenant has %d messages", n)
	}
	for _, to := range []string{"q", access.Qualify(otherTenant, "dead"), of("missing")} {
		if err := w.refusal(&StartMoveTask{Source: of("dead"), Destination: to}); err.Code != refusal.ResourceNotFound {
			t.Errorf("a move to %s: %v", to, err)
		}
	}
	w.must(&StartMoveTask{Source: of("dead"), Destination: of("q")})
	w.must(&SetQueueAttributes{Queue: of("dead"), Attributes: []Attribute{{Name: "ImplicitDeadLetterQueue", Value: "true"}}})
	if !w.b.View().QueueExists(of("dead-dlq")) {
		t.Error("the built-in dead-letter queue is of another account")
	}
}

// Topics deliver to queues of their account and, if the accepting node permits it, of another one.
func TestTopicsOfAccounts(t *testing.T) {
	t.Parallel()
	w := newTenants(t)
	w.createTopic("t")
	w.must(&CreateTopic{Topic: of("t"), TopicARN: tenantARN("sns", "t")})
	for _, name := range []string{"q", of("q"), "dead", of("dead")} {
		w.create(name)
	}
	subscribe := func(topic, endpoint, queue, dead string) (string, *Error) {
		cmd := &Subscribe{Topic: topic, Endpoint: endpoint, Queue: queue, Owner: tenant}
		if dead != "" {
			cmd.Attributes = []Attribute{{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + dead + `"}`}}
		}
		if err := cmd.Validate(); err != nil {
			return "", err
		}
		result, err := w.apply(cmd)
		if err != nil {
			return "", err
		}
		return result.(Subscribed).SubscriptionARN, nil
	}
	own, err := subscribe(of("t"), tenantARN("sqs", "q"), of("q"), "")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := subscribe(of("t"), tenantARN("sqs", "q"), of("q"), ""); err != nil || again != own {
		t.Errorf("subscribed again as %s, %v", again, err)
	}
	if _, err := subscribe(of("t"), queueARN("q"), "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := subscribe("t", tenantARN("sqs", "missing"), of("missing"), queueARN("dead")); err != nil {
		t.Fatal(err)
	}
	// A name with another account and a slash does not reach its queue.
	disguised := queueARN(of("q"))
	if _, err := subscribe("t", disguised, "", disguised); err != nil {
		t.Fatal(err)
	}
	if err := w.refusal(&CreateQueue{Queue: "x",
		Attributes: []Attribute{{Name: "RedrivePolicy",
			Value: `{"deadLetterTargetArn":"` + disguised + `","maxReceiveCount":1}`}}}); !strings.HasSuffix(err.Message,
		"Dead letter target does not exist.") {
		t.Error(err)
	}
	for _, bad := range []struct{ topic, endpoint, queue, dead string }{
		{of("t"), tenantARN("sqs", "q"), of("other"), ""},
		{of("t"), tenantARN("sqs", "q"), access.Qualify(otherTenant, "q"), ""},
		{of("t"), tenantARN("sqs", "x"), of("x"), queueARN("dead")},
		{"t", queueARN("x"), "", tenantARN("sqs", "dead")},
	} {
		if _, err := subscribe(bad.topic, bad.endpoint, bad.queue, bad.dead); err == nil || err.Code != refusal.SNSInvalidParameter {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	w.publish(of("t"), PublishEntry{Message: "of the tenant"})
	w.publish("t", PublishEntry{Message: "of the cluster"})
	for name, want := range map[string]int64{"q": 1, of("q"): 1, "dead": 1, of("dead"): 0} {
		if n := w.stored(name); n != want {
			t.Errorf("%s has %d messages", name, n)
		}
	}
	if attributes, err := w.b.View().SubscriptionAttributes(own); err != nil ||
		!slices.Contains(attributes, Attribute{Name: "TopicArn", Value: tenantARN("sns", "t")}) {
		t.Errorf("%v, %v", attributes, err)
	}
	w.must(&Unsubscribe{SubscriptionARN: own})
	if _, err := w.b.View().SubscriptionAttributes(own); err == nil {
		t.Error("the subscription is still there")
	}
	if list := w.b.View().SubscriptionsOf("000000000000", 0, 10); len(list) != 0 {
		t.Errorf("somebody else owns %+v", list)
	}
	if list := w.b.View().SubscriptionsOf(tenant, 0, 10); len(list) != 3 {
		t.Errorf("the tenant owns %+v", list)
	}
}

// Quotas apply to the last byte.
func TestQuotas(t *testing.T) {
	t.Parallel()
	for _, owner := range []string{"", tenant} {
		t.Run("account "+owner, func(t *testing.T) {
			t.Parallel()
			w := newTenants(t)
			own := func(name string) string { return access.Qualify(owner, name) }
			usage := func(want access.Amount) {
				t.Helper()
				if got := w.b.View().Usage(owner); got != want {
					t.Fatalf("the account has %+v, want %+v", got, want)
				}
			}
			over := func(code refusal.Code, cmd Command) {
				t.Helper()
				if err := w.refusal(cmd); err.Code != code {
					t.Fatalf("%#v: %v", cmd, err)
				}
			}
			w.must(&access.SetAccountQuota{Account: owner, Quota: access.Quota{Queues: 2, Topics: 1, Messages: 3, Bytes: 10}})
			w.create(own("q.fifo"))
			implicit := Attribute{Name: "ImplicitDeadLetterQueue", Value: "true"}
			over(refusal.OverLimit, &CreateQueue{Queue: own("p"), Attributes: []Attribute{implicit}})
			w.create(own("p"))
			over(refusal.OverLimit, &CreateQueue{Queue: own("more")})
			over(refusal.OverLimit, &SetQueueAttributes{Queue: own("p"), Attributes: []Attribute{implicit}})
			w.create(own("p")) // which exists
			topic := func(name string) Command {
				arn := topicARN(name)
				if owner != "" {
					arn = tenantARN("sns", name)
				}
				return &CreateTopic{Topic: own(name), TopicARN: arn, Attributes: []Attribute{{Name: "FifoTopic", Value: "true"}}}
			}
			w.must(topic("t.fifo"))
			w.must(topic("t.fifo"))
			over(refusal.TopicLimitExceeded, topic("u.fifo"))

			w.send(own("q.fifo"), "g", "1", "1234")
			batch := w.must(&SendMessages{Queue: own("q.fifo"), Batch: true, Entries: []SendEntry{
				{Body: "1234567", GroupID: "g", GroupIDGiven: true, DeduplicationID: "2", DeduplicationIDGiven: true}, // a byte too many
				{Body: "123", GroupID: "g", GroupIDGiven: true, DeduplicationID: "3", DeduplicationIDGiven: true},
				{Body: "12", GroupID: "g", GroupIDGiven: true, DeduplicationID: "4", DeduplicationIDGiven: true},
				{Body: "1", GroupID: "g", GroupIDGiven: true, DeduplicationID: "5", DeduplicationIDGiven: true}, // a message too many
				{Body: "1234", GroupID: "g", GroupIDGiven: true, DeduplicationID: "1", DeduplicationIDGiven: true},
			}}).(MessagesSent).Entries
			for i, want := range []bool{true, false, false, true, false} {
				if refused := batch[i].Err != nil && batch[i].Err.Code == refusal.OverLimit; refused != want {
					t.Errorf("entry %d: %+v", i, batch[i])
				}
			}
			if !batch[4].Duplicate {
				t.Error("a send that was accepted is not a duplicate any more")
			}
			usage(access.Amount{Queues: 2, Topics: 1, Messages: 3, Bytes: 9})
			over(refusal.OverLimit, &SendMessages{Queue: own("p"), Entries: []SendEntry{{Body: "x"}}})
			over(refusal.Throttled, &Publish{Topic: own("t.fifo"), Entries: []PublishEntry{entry("g", "1", "x")}})

			handle := w.receive(own("q.fifo"), 1)[0].Handle.String()
			w.must(&DeleteMessages{Queue: own("q.fifo"), Handles: []string{handle}})
			usage(access.Amount{Queues: 2, Topics: 1, Messages: 2, Bytes: 5})
			w.publish(own("t.fifo"), entry("g", "1", "x"))
			w.send(own("p"), "", "", "12345")
			if p := w.publish(own("t.fifo"), entry("g", "1", "x")); !p[0].Duplicate {
				t.Error("a publish that was accepted is not a duplicate any more")
			}
			usage(access.Amount{Queues: 2, Topics: 1, Messages: 3, Bytes: 10})
			w.must(&PurgeQueue{Queue: own("q.fifo")})
			usage(access.Amount{Queues: 2, Topics: 1, Messages: 1, Bytes: 5})
			w.must(&DeleteQueue{Queue: own("p")})
			w.must(&DeleteTopic{Topic: own("t.fifo")})
			usage(access.Amount{Queues: 1})
			w.must(&access.SetAccountQuota{Account: owner})
			for i := range 5 {
				w.send(own("q.fifo"), "g", fmt.Sprint("again", i), "x")
			}
			if other := w.b.View().Usage(otherTenant); other != (access.Amount{}) {
				t.Errorf("another account has %+v", other)
			}
		})
	}
}

func TestAccountsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refused(&access.SetAccountQuota{Account: tenant}, refusal.NoSuchEntity, "The account 111111111111 does not exist. Create it first.")
	w.refused(&access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: tenant, Tenant: true}, refusal.NoSuchEntity,
		"The account 111111111111 does not exist. Create it first.")
	before := w.b.StateHash()
	create := &access.CreateAccount{Account: tenant, Quota: access.Quota{Queues: 1}}
	w.must(create)
	w.must(create) // repeated
	if err := w.refusal(&access.CreateAccount{Account: tenant}); err.Code != refusal.EntityAlreadyExists {
		t.Error(err)
	}
	w.must(&access.CreateAccessKey{ID: exampleKey, Secret: exampleSecret, Account: tenant, Tenant: true})
	if err := w.refusal(&access.DeleteAccount{Account: tenant}); err.Code != refusal.DeleteConflict {
		t.Error(err)
	}
	w.must(&access.DeleteAccessKey{ID: exampleKey})
	w.must(&access.DeleteAccount{Account: tenant})
	w.must(&access.SetAccountQuota{Quota: access.Quota{Bytes: 1}})
	w.must(&access.SetAccountQuota{})
	if w.b.StateHash() != before || w.b.View().Access().AccountCount() != 0 {
		t.Error("something is left of the account")
	}
	for _, cmd := range []Command{
		&access.CreateAccount{}, &access.CreateAccount{Account: "12345678901"},
		&access.CreateAccount{Account: tenant, Quota: access.Quota{Bytes: -1}},
		&access.SetAccountQuota{Account: "x"}, &access.SetAccountQuota{Quota: access.Quota{RequestsPerSecond: -1}}, &access.DeleteAccount{},
	} {
		if err := cmd.Validate(); err == nil || err.Code != refusal.IAMInvalidInput {
			t.Errorf("%#v: %v", cmd, err)
		}
	}
}
