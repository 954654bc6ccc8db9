package failover

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// webSubscriber is an HTTP server for the posts of a topic. It answers once open is closed.
type webSubscriber struct {
	server    *httptest.Server
	token     chan string // of the confirmation request; capacity 1
	waits     chan struct{}
	open      chan struct{}
	delivered chan string // bodies; capacity for all
	// refuseEvery makes the subscriber refuse every refuseEvery-th notification; 0: none. Set
	// before the first notification.
	refuseEvery int64
	refused     atomic.Int64
	connections atomic.Int64
}

func newWebSubscriber(t *testing.T) *webSubscriber {
	t.Helper()
	s := &webSubscriber{
		token: make(chan string, 1), waits: make(chan struct{}), open: make(chan struct{}), delivered: make(chan string, 10_000),
	}
	var once sync.Once
	var posts atomic.Int64
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the leader was killed
		}
		if r.Header.Get("X-Amz-Sns-Message-Type") == "SubscriptionConfirmation" {
			var request struct{ Token string }
			harness.Check(t, json.Unmarshal(body, &request))
			select {
			case s.token <- request.Token:
			default: // repeated request
			}
			return
		}
		once.Do(func() { close(s.waits) })
		if s.refuseEvery != 0 && posts.Add(1)%s.refuseEvery == 0 {
			s.refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		select {
		case <-s.open:
			s.delivered <- string(body)
		case <-r.Context().Done():
		}
	}))
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// webTopic creates a standard topic with a confirmed URL subscription with raw delivery.
func (p *persistent) webTopic(t *testing.T, s *webSubscriber, attributes map[string]string) (topicARN *string) {
	t.Helper()
	created, err := persist(t.Context(), p.sns.CreateTopic, &sns.CreateTopicInput{Name: aws.String("web")}, nil)
	harness.Must(t, err)
	all := map[string]string{"RawMessageDelivery": "true"}
	maps.Copy(all, attributes)
	in := &sns.SubscribeInput{TopicArn: created.TopicArn, Protocol: aws.String("http"), Endpoint: &s.server.URL, Attributes: all}
	harness.Must(t, harness.Err(persist(t.Context(), p.sns.Subscribe, in, nil)))
	token := <-s.token
	if _, err := persist(t.Context(), p.sns.ConfirmSubscription, &sns.ConfirmSubscriptionInput{TopicArn: created.TopicArn, Token: &token},
		nil); err != nil {
		t.Fatal(err)
	}
	return created.TopicArn
}

// publishBatch publishes ten messages that contain the number of the batch.
func (p *persistent) publishBatch(t *testing.T, topicARN *string, number int) (texts []string) {
	t.Helper()
	in := &sns.PublishBatchInput{TopicArn: topicARN}
	for i := range 10 {
		text := fmt.Sprint(number, "-", i)
		texts = append(texts, text)
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, types.PublishBatchRequestEntry{Id: &text, Message: &text})
	}
	harness.Must(t, harness.Err(persist(t.Context(), p.sns.PublishBatch, in, nil)))
	return texts
}

// wantAll waits until a subscriber has got each of the messages at least once.
func (s *webSubscriber) wantAll(t *testing.T, missing map[string]bool) {
	t.Helper()
	for len(missing) > 0 {
		select {
		case text := <-s.delivered:
			delete(missing, text)
		case <-t.Context().Done():
			t.Fatalf("%d messages are missing", len(missing))
		}
	}
}

// wantNothingLeft waits until no delivery is pending, and compares the replicas.
func wantNothingLeft(t *testing.T, c *harness.Cluster) {
	t.Helper()
	waitFor(t, "an empty outbox", func() bool { return metric(t, c.Nodes, "seriatim_topic_posts_waiting") == 0 })
	agree(t, c)
}

// TestWebDeliveriesSurviveTheLeader kills the leader while a subscriber does not answer its post
// and more messages wait. The next leader delivers all of them.
func TestWebDeliveriesSurviveTheLeader(t *testing.T) {
	c := cluster(t, "--sns-allow-endpoints", "127.0.0.0/8")
	p, s := newPersistent(c, c.Rotate()), newWebSubscriber(t)
	topic := p.webTopic(t, s, nil)
	missing := map[string]bool{}
	for i := range 10 {
		for _, text := range p.publishBatch(t, topic, i) {
			missing[text] = true
		}
	}
	<-s.waits
	victim := leader(t, c)
	kill(t, victim)
	close(s.open)
	s.wantAll(t, missing)
	start(t, victim)
	wantNothingLeft(t, c)
}

// TestWebDeliveriesUnderKills kills leaders while messages are published, posted, acknowledged, and
// temporarily refused. All publications arrive, some perhaps twice.
func TestWebDeliveriesUnderKills(t *testing.T) {
	const batches, kills = 60, 2
	c := cluster(t, "--sns-allow-endpoints", "127.0.0.0/8")
	p, s := newPersistent(c, c.Rotate()), newWebSubscriber(t)
	s.refuseEvery = 7
	close(s.open)
	topic := p.webTopic(t, s, map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"numRetries":100,"numNoDelayRetries":1,"minDelayTarget":1,"maxDelayTarget":1}}`})
	missing, arrived := map[string]bool{}, 0
	for i := range batches {
		for _, text := range p.publishBatch(t, topic, i) {
			missing[text] = true
		}
		if i%(batches/kills) != batches/kills/2 {
			continue
		}
		// Some publications have arrived, and others are on their way.
		delete(missing, <-s.delivered)
		arrived++
		victim := leader(t, c)
		kill(t, victim)
		start(t, victim)
	}
	if arrived != kills {
		t.Fatalf("%d leaders were killed", arrived)
	}
	s.wantAll(t, missing)
	if n := s.refused.Load(); n == 0 {
		t.Error("the subscriber refused nothing")
	}
	wantNothingLeft(t, c)
}

// TestWebDeliveriesAreRestored checks that a backup contains pending deliveries, and that the
// restored cluster posts them.
func TestWebDeliveriesAreRestored(t *testing.T) {
	old := cluster(t, "--sns-allow-endpoints", "127.0.0.0/8")
	p, s := newPersistent(old, old.Rotate()), newWebSubscriber(t)
	topic := p.webTopic(t, s, nil)
	missing := map[string]bool{}
	for i := range 3 {
		for _, text := range p.publishBatch(t, topic, i) {
			missing[text] = true
		}
	}
	<-s.waits
	file := filepath.Join(t.TempDir(), "backup")
	run(t, "backup", "create", "--file", file, "--admin", old.Nodes[0].Admin)
	kill(t, old.Nodes...)
	fresh := cluster(t, "--sns-allow-endpoints", "127.0.0.0/8")
	run(t, "backup", "restore", file, "--admin", fresh.Nodes[0].Admin)
	close(s.open)
	s.wantAll(t, missing)
	wantNothingLeft(t, fresh)
}

// run runs the command-line tool.
func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// TestSubscribersOnTheMachineAreRefused checks that no connection to a loopback address is made, in
// whatever notation, unless the operator permits it.
func TestSubscribersOnTheMachineAreRefused(t *testing.T) {
	c := cluster(t)
	p, s := newPersistent(c, c.Rotate()), newWebSubscriber(t)
	port := strings.TrimPrefix(s.server.URL, "http://127.0.0.1:")
	hosts := []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"}
	created, err := persist(t.Context(), p.sns.CreateTopic, &sns.CreateTopicInput{Name: aws.String("web")}, nil)
	harness.Must(t, err)
	subscribe := func(host string) {
		in := &sns.SubscribeInput{TopicArn: created.TopicArn, Protocol: aws.String("http"),
			Endpoint: aws.String("http://" + host + ":" + port)}
		harness.Must(t, harness.Err(persist(t.Context(), p.sns.Subscribe, in, nil)))
	}
	for _, host := range hosts {
		subscribe(host)
	}
	waitFor(t, "all attempts", func() bool { return metric(t, c.Nodes, "seriatim_topic_posts_failed_total") >= float64(len(hosts)) })
	if n := s.connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}

	kill(t, c.Nodes...)
	for _, n := range c.Nodes {
		harness.Must(t, n.Start("--sns-allow-endpoints", "127.0.0.0/8"))
	}
	for _, host := range hosts[:1] {
		subscribe(host) // a new subscription sends a new confirmation request
	}
	<-s.token
}
