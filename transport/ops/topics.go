package ops

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const (
	// topicsMax bounds the topics in one answer.
	topicsMax = 1000
	// subscriptionsMax bounds the subscriptions in the answer for a topic.
	subscriptionsMax = 100
)

func (a *Admin) topics(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, topicsMax, topicsMax)
	if !ok {
		return
	}
	list := document.Topics{Topics: []document.TopicCounts{}} // a list in JSON, also when empty
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		names := a.topicNames(v, parameters, limit)
		for _, name := range names {
			subscriptions, refused := v.TopicSubscriptions(name)
			if refused != nil {
				return refused
			}
			list.Topics = append(list.Topics, document.TopicCounts{Name: name, Subscriptions: subscriptions})
		}
		if len(names) == limit {
			list.Next = names[limit-1]
		}
		return nil
	})
	a.answerRead(w, r, err, list)
}

func (a *Admin) topic(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, subscriptionsMax, subscriptionsMax)
	if !ok {
		return
	}
	after := uint64(0)
	if text := parameters.Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 63); err != nil {
			a.fail(w, http.StatusBadRequest, "after must be the number of a subscription")
			return
		}
	}
	out := document.Topic{Name: a.named(r), Subscriptions: []document.Subscription{}}
	_, err := a.Node.Read(r.Context(), func(v queue.View) error { return readTopic(&out, v, after, limit) })
	a.answerRead(w, r, err, out)
}

// readTopic reads a topic with some of its subscriptions.
func readTopic(t *document.Topic, v queue.View, after uint64, limit int) error {
	attributes, refused := v.TopicAttributes(t.Name)
	if refused != nil {
		return refused
	}
	t.Attributes, t.Tags = attributeMap(attributes), make(map[string]string)
	tags, refused := v.TopicTags(t.Name)
	if refused != nil {
		return refused
	}
	for _, tag := range tags {
		t.Tags[tag.Key] = tag.Value
	}
	list, refused := v.ListSubscriptionsByTopic(t.Name, after, limit)
	if refused != nil {
		return refused
	}
	for _, s := range list {
		attributes, refused := v.SubscriptionAttributes(s.SubscriptionARN)
		if refused != nil {
			return refused
		}
		t.Subscriptions = append(t.Subscriptions, document.Subscription{Number: s.Number, Attributes: attributeMap(attributes)})
	}
	if len(list) == limit {
		t.Next = list[limit-1].Number
	}
	return nil
}

// attributeMap returns attributes by name, without the passwords of URLs.
func attributeMap(list []queue.Attribute) map[string]string {
	out := make(map[string]string, len(list))
	for _, a := range list {
		if a.Name == "Endpoint" && strings.Contains(a.Value, "@") {
			if u, err := url.Parse(a.Value); err == nil {
				a.Value = u.Redacted()
			}
		}
		out[a.Name] = a.Value
	}
	return out
}

// topicDeduplication finds a deduplication id as a publish does. The parameters are id and group.
func (a *Admin) topicDeduplication(w http.ResponseWriter, r *http.Request) {
	parameters := r.URL.Query()
	id := queue.DeduplicationID{ID: parameters.Get("id"), GroupID: parameters.Get("group")}
	out := document.DeduplicationID{DeduplicationID: id.ID}
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		known, found, refused := v.KnownTopicID(a.named(r), id)
		if refused != nil {
			return refused
		}
		if found {
			out = document.DeduplicationID{
				DeduplicationID: id.ID, Known: true, MessageID: known.MessageID.String(), SequenceNumber: known.Sequence.String(),
				Scope: attributes.ScopeName(known.Scope), AcceptedAtMs: int64(known.AcceptedAt), ForgottenAtMs: int64(known.ForgottenAt),
			}
		}
		return nil
	})
	a.answerRead(w, r, err, out)
}

// topicNames is queueNames for topics.
func (a *Admin) topicNames(v queue.View, parameters url.Values, limit int) []string {
	switch owner := parameters.Get("account"); owner {
	case "":
		return v.ListTopics(parameters.Get("after"), limit)
	case a.Account:
		return v.TopicsOf("", parameters.Get("after"), limit)
	default:
		return v.TopicsOf(owner, parameters.Get("after"), limit)
	}
}
