package atom

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/rules"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// topicState is all that the description of a topic shows.
type topicState struct {
	path             string
	attributes       attributes.Topic
	created, updated string
	scheduled        int64
	subscriptions    int
	length           int64 // bytes of the subscriptions
	filters          filterCounts
}

// filterCounts is the number of filters of all subscriptions of a topic.
type filterCounts struct{ sql, correlation int }

// filterCountsVersion is the first version of the API whose topics have filterCounts.
const filterCountsVersion = "2024-05"

func (c *call) showsFilterCounts() bool { return c.query.Get(versionParameter) >= filterCountsVersion }

// add counts the rules of one subscription. The filter of the default rule counts as SQL.
func (f *filterCounts) add(list []*rules.Rule) {
	for _, r := range list {
		if r.Kind == rules.KindCorrelation {
			f.correlation++
		} else {
			f.sql++
		}
	}
}

func (c *call) readTopic(v queue.View, e *lookup.Entity) (s topicState, err *queue.Error) {
	if s.attributes, err = v.TypedTopic(e.Name); err != nil {
		return s, err
	}
	created, modified, err := v.TopicTimes(e.Name)
	if err != nil {
		return s, err
	}
	s.path, s.created, s.updated = e.Path, atTime(created), atTime(modified)
	s.scheduled = int64(v.TopicScheduled(e.Name))
	for _, one := range c.in(v).Subscriptions(e.Name) {
		if stats, err := v.Stats(one.Name); err == nil { // its queue may be missing
			s.subscriptions++
			s.length += stats.Bytes
		}
		if c.showsFilterCounts() {
			list, _ := v.Rules(one.ARN) // listed, so it exists
			s.filters.add(list)
		}
	}
	return s, nil
}

func atTime(t queue.Timestamp) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }

// entryOfTopic returns the entry of a topic, whose properties are in the order of Service Bus.
func (c *call) entryOfTopic(s *topicState) entry {
	t := description.TopicOf(&s.attributes)
	var list []document.Element
	add := func(name, value string) { list = append(list, document.Text(name, value)) }
	for _, p := range description.Topics.List(&t) {
		add(p.Name, p.Value)
		switch p.Name {
		case "EnableBatchedOperations":
			add("SizeInBytes", strconv.FormatInt(s.length, 10))
		case "IsAnonymousAccessible":
			add("AuthorizationRules", "")
		case "Status":
			add("CreatedAt", s.created)
			add("UpdatedAt", s.updated)
			add("AccessedAt", never)
			add("SupportOrdering", "true")
			list = append(list, countDetails(0, 0, s.scheduled, 0))
			add("SubscriptionCount", strconv.Itoa(s.subscriptions))
			if c.showsFilterCounts() {
				add("SqlFilterCount", strconv.Itoa(s.filters.sql))
				add("CorrelationFilterCount", strconv.Itoa(s.filters.correlation))
			}
		case "EnablePartitioning":
			add("EntityAvailabilityStatus", "Available")
		}
	}
	e := c.newEntry(s.path, s.path, document.Description("TopicDescription", list))
	e.Published, e.Updated = s.created, s.updated
	return e
}

// getTopic answers with a topic.
func (c *call) getTopic(e *lookup.Entity) error {
	if err := c.begin(getTopicAttributes, e.Name); err != nil {
		return err
	}
	return c.answerTopic(http.StatusOK, e)
}

// answerTopic answers with the present state of a topic.
func (c *call) answerTopic(status int, e *lookup.Entity) error {
	s, err := service.ReadValue(c.ctx, &c.Call, func(v queue.View) (topicState, *queue.Error) { return c.readTopic(v, e) })
	if isMissing(err) && status == http.StatusOK && c.r.Method == http.MethodGet {
		return c.writeNothing()
	}
	if err != nil {
		return err
	}
	return c.write(status, c.entryOfTopic(&s))
}

// topicOf returns the entity of a topic, whose name is qualified.
func topicOf(name string) *lookup.Entity {
	path, _ := entity.OfQueue(access.PlainName(name))
	return &lookup.Entity{Kind: lookup.Topic, Path: path, Name: name}
}

// createTopic creates a topic. taken reports that another entity has its name.
func (c *call) createTopic(name string, taken bool, given *document.Element) error {
	t := description.DefaultTopic()
	wrong := set(&description.Topics, &t, given)
	if err := c.begin(createTopic, name); err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if err := c.Read(c.ctx, func(v queue.View) error {
		if _, missing := v.TopicARN(name); taken || missing == nil {
			return conflict()
		}
		return checkWindow(v, t.WindowSeconds, description.DefaultTopic().WindowSeconds)
	}); err != nil {
		return err
	}
	cmd := &queue.CreateTopic{Topic: name, TopicARN: c.Backend.Names.TopicARN(name), Attributes: t.Attributes()}
	if _, err := c.Submit(c.ctx, cmd); err != nil {
		return err
	}
	return c.answerTopic(http.StatusCreated, topicOf(name))
}

func (c *call) updateTopic(name string, given *document.Element) error {
	if err := c.begin(setTopicAttributes, name); err != nil {
		return err
	}
	var changes []queue.Attribute
	if err := c.Read(c.ctx, func(v queue.View) error {
		current, refused := v.TypedTopic(name)
		if refused != nil {
			return refused
		}
		before := description.TopicOf(&current)
		t := before
		if err := set(&description.Topics, &t, given); err != nil {
			return err
		}
		changes = t.Changes(before)
		if err := description.Topics.CheckFixed(&t, &before); err != nil {
			return err
		}
		return checkWindow(v, t.WindowSeconds, before.WindowSeconds)
	}); err != nil {
		return err
	}
	if len(changes) > 0 {
		if _, err := c.Submit(c.ctx, &queue.SetTopicAttributes{Topic: name, Attributes: changes}); err != nil {
			return err
		}
	}
	return c.answerTopic(http.StatusOK, topicOf(name))
}

// deleteTopic deletes a topic and the queues of its subscriptions. The topic goes last, so that a repeated
// request finishes what a failed one began.
func (c *call) deleteTopic(e *lookup.Entity) error {
	if err := c.begin(deleteTopic, e.Name); err != nil {
		return err
	}
	var subscriptions []lookup.Entity
	if err := c.Read(c.ctx, func(v queue.View) error {
		subscriptions = c.in(v).Subscriptions(e.Name)
		return nil
	}); err != nil {
		return err
	}
	var names []string
	for i := range subscriptions {
		queues, err := c.deleted(subscriptions[i].Name)
		if err != nil && !isGone(err) {
			return err
		}
		names = append(names, queues...)
	}
	for _, name := range names {
		if err := c.removeQueues([]string{name}); err != nil && !isMissing(err) {
			return err
		}
	}
	if _, err := c.Submit(c.ctx, &queue.DeleteTopic{Topic: e.Name}); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}
