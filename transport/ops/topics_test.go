package ops

import (
	"encoding/json"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

func TestDeduplicationOfATopic(t *testing.T) {
	t.Parallel()
	n := newNode(t, &queue.CreateTopic{Topic: "news.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:news.fifo",
		Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}})
	a := newAdmin(n)
	var out document.DeduplicationID
	code, body := get(a, "/v1/topics/news.fifo/deduplication?id=x")
	if err := json.Unmarshal([]byte(body), &out); err != nil || code != 200 || out != (document.DeduplicationID{DeduplicationID: "x"}) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get(a, "/v1/topics/none/deduplication?id=x"); code != 404 {
		t.Errorf("no topic: %d %s", code, body)
	}
	n.fail = cluster.ErrUnavailable
	if code, body := get(a, "/v1/topics/news.fifo/deduplication?id=x"); code != 503 {
		t.Errorf("no leader: %d %s", code, body)
	}
}
