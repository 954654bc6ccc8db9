package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue"
)

// The leader counts the results of deliveries by topic and queue. The node that accepted a publish
// counts the publish.
func TestTopicMetrics(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	const topicARN, account = "arn:aws:sns:us-east-1:000000000000:t.fifo", "arn:aws:sqs:us-east-1:000000000000:"
	c.createTopic(0, "t.fifo")
	for name, dead := range map[string]string{"knows.fifo": "", "gone.fifo": "", "moved.fifo": "dead.fifo"} { // order does not matter
		var given []queue.Attribute
		if dead != "" {
			given = []queue.Attribute{{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"` + account + dead + `"}`}}
			c.create(0, dead)
		}
		c.submit(0, &queue.Subscribe{Topic: "t.fifo", Endpoint: account + name, Owner: "o", Attributes: given})
	}
	c.create(0, "knows.fifo")
	id := func(id string) queue.SendEntry {
		return queue.SendEntry{Body: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true}
	}
	c.submit(0, &queue.SendMessages{Queue: "knows.fifo", Entries: []queue.SendEntry{id("a")}})
	asked := (c.leader() + 1) % len(c.nodes)
	for range 2 { // the second is a duplicate for the topic
		c.submit(asked, &queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
			Message: "m", GroupID: "g", GroupIDGiven: true, DeduplicationID: "a", DeduplicationIDGiven: true,
		}}})
	}
	want := map[string]float64{
		"seriatim_topic_deliveries_deduplicated_by_queue_total t.fifo knows.fifo": 1,
		"seriatim_topic_deliveries_lost_total t.fifo gone.fifo":                   1,
		"seriatim_topic_deliveries_dead_lettered_total t.fifo moved.fifo":         1,
	}
	got := map[string]float64{}
	for _, m := range c.nodes[c.leader()].Metrics() {
		if len(m.Labels) == 2 && m.Labels[0].Name == "topic" && m.Labels[1].Name == "queue" {
			got[m.Name+" "+m.Labels[0].Value+" "+m.Labels[1].Value] = m.Value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	counts := map[string]float64{}
	for _, m := range c.nodes[asked].Metrics() {
		counts[m.Name] = m.Value
	}
	if counts["seriatim_topic_messages_published_total"] != 1 || counts["seriatim_topic_dedup_hits_total"] != 1 {
		t.Errorf("published %v, duplicates %v", counts["seriatim_topic_messages_published_total"],
			counts["seriatim_topic_dedup_hits_total"])
	}
}
