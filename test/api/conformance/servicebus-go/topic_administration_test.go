package servicebus

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

type subscriptions = map[string]admin.SubscriptionProperties

func TestDefaultsOfATopicAndASubscription(t *testing.T) {
	f := newFixture(t)
	c, path := f.admin(), f.path()
	_, err := c.CreateTopic(f.ctx, path, nil)
	f.must(err)
	_, err = c.CreateSubscription(f.ctx, path, "s", nil)
	f.must(err)
	topic, err := c.GetTopic(f.ctx, path, nil)
	f.must(err)
	f.same([]any{
		topic.TopicName, *topic.RequiresDuplicateDetection, *topic.EnablePartitioning, *topic.Status, *topic.EnableBatchedOperations,
		*topic.SupportOrdering, *topic.DefaultMessageTimeToLive, *topic.DuplicateDetectionHistoryTimeWindow,
	}, []any{path, false, false, admin.EntityStatusActive, true, true, forever, "PT10M"}, "topic")
	s, err := c.GetSubscription(f.ctx, path, "s", nil)
	f.must(err)
	f.same([]any{
		s.TopicName, s.SubscriptionName, *s.LockDuration, *s.MaxDeliveryCount, *s.RequiresSession, *s.Status,
		*s.DeadLetteringOnMessageExpiration, *s.DefaultMessageTimeToLive,
	}, []any{path, "s", "PT1M", int32(10), false, admin.EntityStatusActive, false, forever}, "subscription")
}

func TestChangeOfATopic(t *testing.T) {
	f := newFixture(t)
	c, path := f.admin(), f.topic(admin.TopicProperties{RequiresDuplicateDetection: new(true)}, nil)
	got, err := c.GetTopic(f.ctx, path, nil)
	f.must(err)
	p := got.TopicProperties
	p.DefaultMessageTimeToLive, p.DuplicateDetectionHistoryTimeWindow = new("PT1H"), new("PT30S")
	_, err = c.UpdateTopic(f.ctx, path, p, nil)
	f.must(err)
	got, err = c.GetTopic(f.ctx, path, nil)
	f.must(err)
	f.same([]any{*got.DefaultMessageTimeToLive, *got.DuplicateDetectionHistoryTimeWindow, *got.RequiresDuplicateDetection},
		[]any{"PT1H", "PT30S", true}, "properties")
	p.RequiresDuplicateDetection = new(false)
	_, err = c.UpdateTopic(f.ctx, path, p, nil)
	f.answered(err, http.StatusBadRequest, "")
}

func TestChangeOfASubscription(t *testing.T) {
	f := newFixture(t)
	c, path := f.admin(), f.topic(admin.TopicProperties{}, subscriptions{"s": {RequiresSession: new(true)}})
	got, err := c.GetSubscription(f.ctx, path, "s", nil)
	f.must(err)
	p := got.SubscriptionProperties
	p.LockDuration, p.MaxDeliveryCount, p.DeadLetteringOnMessageExpiration = new("PT10S"), new(int32(2)), new(true)
	_, err = c.UpdateSubscription(f.ctx, path, "s", p, nil)
	f.must(err)
	got, err = c.GetSubscription(f.ctx, path, "s", nil)
	f.must(err)
	f.same([]any{*got.LockDuration, *got.MaxDeliveryCount, *got.DeadLetteringOnMessageExpiration, *got.RequiresSession},
		[]any{"PT10S", int32(2), true, true}, "properties")
	p.RequiresSession = new(false)
	_, err = c.UpdateSubscription(f.ctx, path, "s", p, nil)
	f.answered(err, http.StatusBadRequest, "")
}

func TestExistingAndMissingTopics(t *testing.T) {
	f := newFixture(t)
	c, path, missing := f.admin(), f.topic(admin.TopicProperties{}, subscriptions{"s": {}}), f.path()
	_, err := c.CreateTopic(f.ctx, path, nil)
	f.answered(err, http.StatusConflict, "")
	_, err = c.CreateQueue(f.ctx, path, nil)
	f.answered(err, http.StatusConflict, "")
	_, err = c.CreateSubscription(f.ctx, path, "s", nil)
	f.answered(err, http.StatusConflict, "")
	_, err = c.CreateSubscription(f.ctx, missing, "s", nil)
	f.answered(err, http.StatusNotFound, "")
	_, err = c.DeleteTopic(f.ctx, missing, nil)
	f.answered(err, http.StatusNotFound, "")
	_, err = c.DeleteSubscription(f.ctx, path, "none", nil)
	f.answered(err, http.StatusNotFound, "")
	exists := func(name string) bool {
		f.Helper()
		s, err := c.GetSubscription(f.ctx, path, name, nil)
		f.must(err)
		return s != nil
	}
	f.same([]bool{exists("s"), exists("none")}, []bool{true, false}, "existence")
	_, err = c.DeleteSubscription(f.ctx, path, "s", nil)
	f.must(err)
	f.same(exists("s"), false, "existence after the deletion")
	_, err = c.CreateSubscription(f.ctx, path, "s", nil)
	f.must(err)
	_, err = c.DeleteTopic(f.ctx, path, nil)
	f.must(err)
	topic, err := c.GetTopic(f.ctx, path, nil)
	f.must(err)
	f.holds(topic == nil && !exists("s"), "the topic or its subscription exists after the deletion")
}

func TestListsOfTopics(t *testing.T) {
	f := newFixture(t)
	path := f.topic(admin.TopicProperties{}, nil)
	var listed, running bool
	for pager := f.admin().NewListTopicsPager(nil); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		listed = listed || slices.ContainsFunc(page.Topics, func(i admin.TopicItem) bool { return i.TopicName == path })
	}
	for pager := f.admin().NewListTopicsRuntimePropertiesPager(nil); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		running = running || slices.ContainsFunc(page.TopicRuntimeProperties, func(i admin.TopicRuntimePropertiesItem) bool {
			return i.TopicName == path
		})
	}
	f.holds(listed && running, "the topic is not listed")
}

func TestListsOfSubscriptions(t *testing.T) {
	f := newFixture(t)
	names := texts(15)
	all := make(subscriptions)
	for _, name := range names {
		all[name] = admin.SubscriptionProperties{}
	}
	path := f.topic(admin.TopicProperties{}, all)
	var listed, running []string
	for pager := f.admin().NewListSubscriptionsPager(path, &admin.ListSubscriptionsOptions{MaxPageSize: 6}); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		for _, s := range page.Subscriptions {
			f.same(s.TopicName, path, "topic")
			listed = append(listed, s.SubscriptionName)
		}
	}
	for pager := f.admin().NewListSubscriptionsRuntimePropertiesPager(path, nil); pager.More(); {
		page, err := pager.NextPage(f.ctx)
		f.must(err)
		for _, s := range page.SubscriptionRuntimeProperties {
			running = append(running, s.SubscriptionName)
		}
	}
	slices.SortFunc(listed, byNumber)
	slices.SortFunc(running, byNumber)
	f.same([][]string{listed, running}, [][]string{names, names}, "names")
}

func TestFilterCountsOfATopic(t *testing.T) {
	f := newFixture(t)
	c, path := f.admin(), f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}})
	for name, filter := range map[string]admin.RuleFilter{
		"a": &admin.SQLFilter{Expression: "n = 1"}, "b": &admin.CorrelationFilter{CorrelationID: new("c")},
	} {
		_, err := c.CreateRule(f.ctx, path, name, &admin.CreateRuleOptions{Name: new("r"), Filter: filter})
		f.must(err)
	}
	p, err := c.GetTopicRuntimeProperties(f.ctx, path, nil)
	f.must(err)
	f.same([]int32{p.SQLFilterCount, p.CorrelationFilterCount}, []int32{3, 1}, "SQL and correlation filters")
}

func TestCountsOfATopic(t *testing.T) {
	f := newFixture(t)
	c, path := f.admin(), f.topic(admin.TopicProperties{}, subscriptions{"a": {}, "b": {}})
	f.send(path, numbered(3)...)
	f.schedule(path, later(time.Hour), message("later"))
	r := f.subscription(path, "a", nil)
	f.must(r.DeadLetterMessage(f.ctx, f.one(r), nil))
	for name, dead := range map[string]int32{"a": 1, "b": 0} {
		f.eventually("the counts of "+name+" are right", func() bool {
			p, err := c.GetSubscriptionRuntimeProperties(f.ctx, path, name, nil)
			f.must(err)
			return p.ActiveMessageCount == 3-dead && p.DeadLetterMessageCount == dead && p.TotalMessageCount == 3
		})
	}
	p, err := c.GetTopicRuntimeProperties(f.ctx, path, nil)
	f.must(err)
	f.same([]int32{p.SubscriptionCount, p.ScheduledMessageCount}, []int32{2, 1}, "counts of the topic")
}
