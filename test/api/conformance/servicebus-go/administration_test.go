package servicebus

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

const forever = "P10675199DT2H48M5.4775807S"

// answered checks that a call failed with a status.
func (f *fixture) answered(err error, status int, text string) {
	f.Helper()
	var of *azcore.ResponseError
	if !errors.As(err, &of) || of.StatusCode != status || !strings.Contains(err.Error(), text) {
		f.Fatalf("got %v, want status %d with %q", err, status, text)
	}
}

// read returns the properties of a queue.
func (f *fixture) read(path string) admin.QueueProperties {
	f.Helper()
	got, err := f.admin().GetQueue(f.ctx, path, nil)
	f.must(err)
	f.holds(got != nil, "the queue %s does not exist", path)
	f.same(got.QueueName, path, "name")
	return got.QueueProperties
}

func TestDefaultsOfAQueue(t *testing.T) {
	f := newFixture(t)
	path := f.path()
	created, err := f.admin().CreateQueue(f.ctx, path, nil)
	f.must(err)
	for _, p := range []admin.QueueProperties{created.QueueProperties, f.read(path)} {
		f.same([]any{
			*p.LockDuration, *p.MaxDeliveryCount, *p.RequiresSession, *p.RequiresDuplicateDetection, *p.DeadLetteringOnMessageExpiration,
			*p.EnablePartitioning, *p.Status, *p.EnableBatchedOperations, *p.DefaultMessageTimeToLive, *p.AutoDeleteOnIdle,
			*p.DuplicateDetectionHistoryTimeWindow,
		}, []any{"PT1M", int32(10), false, false, false, false, admin.EntityStatusActive, true, forever, forever, "PT10M"}, "properties")
	}
}

func TestPropertiesOfAQueue(t *testing.T) {
	f := newFixture(t)
	p := f.read(f.queue(admin.QueueProperties{
		LockDuration: new("PT45S"), MaxDeliveryCount: new(int32(3)), RequiresSession: new(true), RequiresDuplicateDetection: new(true),
		DuplicateDetectionHistoryTimeWindow: new("P1D"), DefaultMessageTimeToLive: new("PT5H"),
		DeadLetteringOnMessageExpiration: new(true), MaxMessageSizeInKilobytes: new(int64(256)),
	}))
	f.same([]any{
		*p.LockDuration, *p.MaxDeliveryCount, *p.RequiresSession, *p.RequiresDuplicateDetection, *p.DuplicateDetectionHistoryTimeWindow,
		*p.DefaultMessageTimeToLive, *p.DeadLetteringOnMessageExpiration, *p.MaxMessageSizeInKilobytes,
	}, []any{"PT45S", int32(3), true, true, "P1D", "PT5H", true, int64(256)}, "properties")
}

func TestChangeOfAQueue(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	p := f.read(path)
	p.MaxDeliveryCount, p.LockDuration, p.DefaultMessageTimeToLive = new(int32(1)), new("PT10S"), new("PT1H")
	_, err := f.admin().UpdateQueue(f.ctx, path, p, nil)
	f.must(err)
	p = f.read(path)
	f.same([]any{*p.MaxDeliveryCount, *p.LockDuration, *p.DefaultMessageTimeToLive}, []any{int32(1), "PT10S", "PT1H"}, "properties")
	f.send(path, message("x"))
	r := f.receiver(path)
	f.must(r.AbandonMessage(f.ctx, f.one(r), nil))
	f.nothing(r)
	f.same(text(f.one(f.deadLetters(path)).DeadLetterReason), "MaxDeliveryCountExceeded", "reason")
}

func TestFixedPropertiesOfAQueue(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	for name, change := range map[string]func(*admin.QueueProperties){
		"sessions":   func(p *admin.QueueProperties) { p.RequiresSession = new(true) },
		"detection":  func(p *admin.QueueProperties) { p.RequiresDuplicateDetection = new(true) },
		"partitions": func(p *admin.QueueProperties) { p.EnablePartitioning = new(true) },
	} {
		t.Log(name)
		p := f.read(path)
		change(&p)
		_, err := f.admin().UpdateQueue(f.ctx, path, p, nil)
		f.answered(err, http.StatusBadRequest, "can't be changed")
	}
}

func TestWrongProperties(t *testing.T) {
	f := newFixture(t)
	for name, p := range map[string]*admin.QueueProperties{
		"deliveries": {MaxDeliveryCount: new(int32(0))}, "lock": {LockDuration: new("PT0S")},
		"no duration":  {LockDuration: new("a minute")},
		"short window": {DuplicateDetectionHistoryTimeWindow: new("PT1S")},
		"long window":  {DuplicateDetectionHistoryTimeWindow: new("P8D")},
	} {
		t.Log(name)
		_, err := f.admin().CreateQueue(f.ctx, f.path(), &admin.CreateQueueOptions{Properties: p})
		f.answered(err, http.StatusBadRequest, "SubCode=40000")
	}
	_, err := f.admin().CreateQueue(f.ctx, "a!b", nil)
	f.answered(err, http.StatusBadRequest, "not a valid entity name")
}

func TestExistingAndMissingQueues(t *testing.T) {
	f := newFixture(t)
	c, path, missing := f.admin(), f.queue(admin.QueueProperties{}), f.path()
	_, err := c.CreateQueue(f.ctx, path, nil)
	f.answered(err, http.StatusConflict, "")
	absent := func(path string) {
		f.Helper()
		got, err := c.GetQueue(f.ctx, path, nil)
		f.must(err)
		f.holds(got == nil, "the queue exists")
	}
	absent(missing)
	running, err := c.GetQueueRuntimeProperties(f.ctx, missing, nil)
	f.must(err)
	f.holds(running == nil, "the queue exists")
	_, err = c.DeleteQueue(f.ctx, missing, nil)
	f.answered(err, http.StatusNotFound, "")
	_, err = c.DeleteQueue(f.ctx, path, nil)
	f.must(err)
	absent(path)
}

func TestPagesOfQueues(t *testing.T) {
	f := newFixture(t)
	var paths []string
	for range 110 {
		paths = append(paths, f.queue(admin.QueueProperties{}))
	}
	listed, running := make(map[string]bool), make(map[string]bool)
	for pager := f.admin().NewListQueuesPager(&admin.ListQueuesOptions{MaxPageSize: 40}); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		f.holds(len(page.Queues) <= 40, "%d queues in a page", len(page.Queues))
		for _, q := range page.Queues {
			listed[q.QueueName] = true
		}
	}
	for pager := f.admin().NewListQueuesRuntimePropertiesPager(nil); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		for _, q := range page.QueueRuntimeProperties {
			running[q.QueueName] = true
		}
	}
	for _, path := range paths {
		f.holds(listed[path] && running[path], "%s is not listed", path)
	}
}

func TestCountsOfAQueue(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	for range 5 {
		f.send(path, message(strings.Repeat("x", 1000)))
	}
	f.schedule(path, later(time.Hour), numbered(2)...)
	r := f.receiver(path)
	got := f.take(r, 2)
	f.must(r.DeadLetterMessage(f.ctx, got[0], nil))
	f.complete(r, got[1])
	c := f.admin()
	f.eventually("the counts are right", func() bool {
		p, err := c.GetQueueRuntimeProperties(f.ctx, path, nil)
		f.must(err)
		f.holds(p.TransferMessageCount == 0 && p.TransferDeadLetterMessageCount == 0, "messages are transferred")
		f.holds(!p.CreatedAt.After(p.UpdatedAt), "the times are wrong")
		return p.ActiveMessageCount == 3 && p.DeadLetterMessageCount == 1 && p.ScheduledMessageCount == 2 &&
			p.TotalMessageCount == 6 && p.SizeInBytes > 3000
	})
}

func TestStatus(t *testing.T) {
	f := newFixture(t)
	path := f.queue(admin.QueueProperties{})
	for _, status := range []admin.EntityStatus{admin.EntityStatusReceiveDisabled, admin.EntityStatusActive} {
		p := f.read(path)
		p.Status = &status
		_, err := f.admin().UpdateQueue(f.ctx, path, p, nil)
		f.must(err)
		f.same(*f.read(path).Status, status, "status")
		f.send(path, message("x"))
	}
	f.drain(path, 2)
}

func TestNamespace(t *testing.T) {
	f := newFixture(t)
	got, err := f.admin().GetNamespaceProperties(f.ctx, nil)
	f.must(err)
	f.holds(got.Name != "" && slices.Contains([]string{"Basic", "Standard", "Premium"}, got.SKU), "name %s, tier %s", got.Name, got.SKU)
}

func TestNames(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{f.path() + "/x.y-z_0", strings.Repeat("n", 200) + f.path()} {
		_, err := f.admin().CreateQueue(f.ctx, path, nil)
		f.must(err)
		f.read(path)
		f.send(path, message("x"))
		f.drain(path, 1)
	}
}

func TestOlderVersionsOfTheAPI(t *testing.T) {
	f := newFixture(t)
	for _, version := range []string{"2017-04", "2021-05"} {
		c, err := admin.NewClientFromConnectionString("Endpoint=sb://"+f.endpoint()+";SharedAccessKeyName="+key+";SharedAccessKey="+secret,
			adminOptions(version))
		f.must(err)
		path := f.path()
		_, err = c.CreateQueue(f.ctx, path, &admin.CreateQueueOptions{Properties: &admin.QueueProperties{MaxDeliveryCount: new(int32(4))}})
		f.must(err)
		f.same(*f.read(path).MaxDeliveryCount, int32(4), "count")
	}
}
