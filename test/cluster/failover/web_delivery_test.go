package failover

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
)

// webSubscriber is an HTTP server that takes what a topic posts, from when open is closed.
type webSubscriber struct {
	server    *httptest.Server
	token     chan string // of the request to confirm; capacity 1
	waits     chan struct{}
	open      chan struct{}
	delivered chan string // bodies; capacity: more than there are
}

func newWebSubscriber(t *testing.T) *webSubscriber {
	t.Helper()
	s := &webSubscriber{
		token: make(chan string, 1), waits: make(chan struct{}), open: make(chan struct{}), delivered: make(chan string, 10_000),
	}
	var once sync.Once
	s.server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the leader was killed
		}
		if r.Header.Get("X-Amz-Sns-Message-Type") == "SubscriptionConfirmation" {
			var request struct{ Token string }
			if err := json.Unmarshal(body, &request); err != nil {
				t.Error(err)
			}
			select {
			case s.token <- request.Token:
			default: // it was asked again
			}
			return
		}
		once.Do(func() { close(s.waits) })
		select {
		case <-s.open:
			s.delivered <- string(body)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.server.Close)
	return s
}

// TestWebDeliveriesSurviveTheLeader: the leader is killed while it posts to a subscriber
// that does not answer, with more messages behind. The next leader delivers all of them.
func TestWebDeliveriesSurviveTheLeader(t *testing.T) {
	const batches = 10
	c := cluster(t, "--sns-allow-endpoints", "127.0.0.0/8")
	p, s := newPersistent(c, c.Rotate()), newWebSubscriber(t)
	created, err := persist(t.Context(), p.sns.CreateTopic, &sns.CreateTopicInput{Name: aws.String("web")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	topic := created.TopicArn
	in := &sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("http"), Endpoint: &s.server.URL, Attributes: map[string]string{"RawMessageDelivery": "true"}}
	if _, err := persist(t.Context(), p.sns.Subscribe, in, nil); err != nil {
		t.Fatal(err)
	}
	token := <-s.token
	if _, err := persist(t.Context(), p.sns.ConfirmSubscription, &sns.ConfirmSubscriptionInput{TopicArn: topic, Token: &token}, nil); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for i := range batches {
		in := &sns.PublishBatchInput{TopicArn: topic}
		for j := range 10 {
			text := fmt.Sprint(i, "-", j)
			missing[text] = true
			in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, types.PublishBatchRequestEntry{Id: &text, Message: &text})
		}
		if _, err := persist(t.Context(), p.sns.PublishBatch, in, nil); err != nil {
			t.Fatal(err)
		}
	}
	<-s.waits
	victim := leader(t, c)
	kill(t, victim)
	close(s.open)
	for len(missing) > 0 {
		select {
		case text := <-s.delivered:
			delete(missing, text)
		case <-t.Context().Done():
			t.Fatalf("%d messages are missing", len(missing))
		}
	}
	start(t, victim)
	agree(t, c)
}
