package atom

import (
	"encoding/xml"
	"math"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// never is the time of an event that did not happen, or that is not recorded.
const never = "0001-01-01T00:00:00"

// queueState is all that the description of a queue shows.
type queueState struct {
	path                string
	attributes          attributes.Queue
	created, updated    string
	active, scheduled   int64
	deadLetters, length int64 // length in bytes
	dropFaulty          bool  // of a subscription
	transferDeadLetters int64
}

// readQueue reads the state of a queue whose name is qualified.
func readQueue(v queue.View, qualified string) (queueState, *queue.Error) {
	listed, err := v.Attributes(qualified)
	if err != nil {
		return queueState{}, err
	}
	var s queueState
	s.path, _ = entity.OfQueue(access.PlainName(qualified))
	if s.attributes, err = v.Typed(qualified); err != nil {
		return queueState{}, err
	}
	stats, err := v.Stats(qualified)
	if err != nil {
		return queueState{}, err
	}
	s.created, s.updated = timeOf(listed, "CreatedTimestamp"), timeOf(listed, "LastModifiedTimestamp")
	s.active, s.scheduled, s.length = stats.Visible+stats.NotVisible+stats.Deferred, stats.Delayed, stats.Bytes
	if target := v.DeadLetterQueue(qualified); target != "" {
		s.deadLetters = s.count(v, target)
	}
	s.transferDeadLetters = s.count(v, queue.TransferDeadLetterName(qualified))
	return s, nil
}

// count adds the bytes of a dead-letter queue, which may be missing, and returns its messages.
func (s *queueState) count(v queue.View, name string) int64 {
	dead, missing := v.Stats(name)
	if missing != nil {
		return 0
	}
	s.length += dead.Bytes
	return dead.Visible + dead.NotVisible + dead.Deferred + dead.Delayed
}

// timeOf returns an attribute in seconds since 1970 as a time of XML.
func timeOf(listed []queue.Attribute, name string) string {
	text, _ := attributes.ValueOf(listed, name)
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return never
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}

// properties returns the elements of the description of a queue or a subscription, in the order of
// Service Bus. Targets of forwarding are URLs of a namespace.
func (s *queueState) properties(namespace string, of *description.Schema[description.Queue]) []document.Element {
	q := description.Of(&s.attributes)
	q.DropFaulty = s.dropFaulty
	isQueue := of == &description.Queues
	var list []document.Element
	add := func(name, value string) { list = append(list, document.Text(name, value)) }
	for _, p := range of.List(&q) {
		if p.Name == attributes.NameForwardTo || p.Name == attributes.NameForwardDeadLetters {
			p.Value = namespace + p.Value
		}
		add(p.Name, p.Value)
		switch p.Name {
		case "EnableBatchedOperations":
			if isQueue {
				add("SizeInBytes", strconv.FormatInt(s.length, 10))
			}
			add("MessageCount", strconv.FormatInt(s.active+s.scheduled+s.deadLetters+s.transferDeadLetters, 10))
		case "IsAnonymousAccessible":
			add("AuthorizationRules", "")
		case "Status":
			add("CreatedAt", s.created)
			add("UpdatedAt", s.updated)
			add("AccessedAt", never)
			if isQueue {
				add("SupportOrdering", "true")
			}
			list = append(list, countDetails(s.active, s.deadLetters, s.scheduled, s.transferDeadLetters))
		case "AutoDeleteOnIdle":
			if !isQueue {
				add("EntityAvailabilityStatus", "Available")
			}
		case "EnablePartitioning":
			add("EntityAvailabilityStatus", "Available")
		}
	}
	return list
}

func countDetails(active, deadLetters, scheduled, transferDeadLetters int64) document.Element {
	e := document.Text("CountDetails", "")
	e.Attrs = []xml.Attr{{Name: xml.Name{Local: "xmlns:d2p1"}, Value: countsSpace}}
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"ActiveMessageCount", active}, {"DeadLetterMessageCount", deadLetters}, {"ScheduledMessageCount", scheduled},
		{"TransferMessageCount", 0}, {"TransferDeadLetterMessageCount", transferDeadLetters},
	} {
		// SDKs read 32 bits.
		e.Children = append(e.Children, document.Text("d2p1:"+n.name, strconv.FormatInt(min(n.count, math.MaxInt32), 10)))
	}
	return e
}

// entryOf returns the entry of a queue.
func (c *call) entryOf(s *queueState) entry {
	e := c.newEntry(s.path, s.path, document.Description("QueueDescription", s.properties(c.namespace(), &description.Queues)))
	e.Published, e.Updated = s.created, s.updated
	return e
}

// namespace returns the URL of the namespace in the form that SDKs give it.
func (c *call) namespace() string { return "sb://" + c.r.Host + "/" }

// newEntry returns an entry for a path of the namespace.
func (c *call) newEntry(path, title string, about document.Element) entry {
	id := c.href(path, versionParameter+"="+c.query.Get(versionParameter))
	e := entry{
		ID: id, Title: text{"text", title}, Author: c.r.Host, Link: link{"self", id},
	}
	e.Content.Type, e.Content.Description = "application/xml", about
	return e
}

// href returns a URL as the client can reach it.
func (c *call) href(path, query string) string { return aws.BaseURL(c.r) + "/" + path + "?" + query }
