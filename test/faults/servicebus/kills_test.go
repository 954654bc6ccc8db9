package servicebus

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sys/unix"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var (
	duration = flag.Duration("time", 0, "time of the kills; 0: no test with clients")
	python   = flag.String("python", "", "interpreter with the SDK for Python")
	java     = flag.String("java", "", "class path of the client in Java with its SDK; empty: only Python")
	bug      = flag.Int("bug", 0, "only this planted bug")
)

const (
	// period is the time from one kill to the next.
	period = 10 * time.Second
	// recoveryTimeout is the time for what must happen after the last kill.
	recoveryTimeout = 3 * time.Minute
)

var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	if *duration == 0 {
		os.Exit(m.Run())
	}
	os.Exit(harness.WithBinary(&binary, m.Run))
}

func languages() (list []Language) {
	list = append(list, Language{"python", []string{*python, "python/client.py"}})
	if *java != "" {
		list = append(list, javaClient())
	}
	return list
}

func javaClient() Language {
	return Language{"java", []string{"java", "-Xmx200m", "-cp", *java, "Client"}}
}

// run is a cluster with clients.
type run struct {
	t       *testing.T
	cluster *harness.Cluster
	queues  *sqs.Client
	events  map[string]*recorder // by queue
}

func newRun(t *testing.T, o harness.Options) *run {
	t.Helper()
	o.Binary = binary
	r := &run{t: t, cluster: harness.New(t, o), events: map[string]*recorder{}}
	r.queues = r.cluster.NewSQS(r.cluster.Rotate())
	r.create("plain", nil)
	r.create("sessions", map[string]string{"MessageGroupIdMode": "Required"})
	if *java != "" {
		r.create("source", nil)
		r.create("moved", map[string]string{"DeduplicationEnabled": "false"}) // transactions alone prevent copies
	}
	return r
}

func (r *run) create(name string, more map[string]string) {
	r.t.Helper()
	attributes := map[string]string{
		"FifoQueue": "true", "CompatibilityProfile": "servicebus", "VisibilityTimeout": "10", "MessageGroupIdMode": "Optional",
	}
	maps.Copy(attributes, more)
	_, err := r.queues.CreateQueue(r.t.Context(), &sqs.CreateQueueInput{QueueName: new(name + ".fifo"), Attributes: attributes})
	harness.Must(r.t, err)
	r.events[name] = newRecorder()
}

// newFront returns one address for all nodes, with TLS if there is a configuration.
func newFront(t *testing.T, c *harness.Cluster, secure *tls.Config) (address string) {
	t.Helper()
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Client)
	}
	b, err := newBalancer(addresses, secure)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Check(t, b.close()) })
	return b.address()
}

// play runs the clients while leaders are killed, and judges what they saw.
func (r *run) play(within time.Duration) (found []Violation) {
	front := newFront(r.t, r.cluster, nil)
	var producers, consumers []*client
	start := func(l Language, role, queue string) *client {
		c, err := r.events[queue].start(r.t.Context(), l, role, front, queue)
		harness.Must(r.t, err)
		return c
	}
	for _, l := range languages() {
		producers = append(producers, start(l, "producer", "plain"), start(l, "producer", "sessions"))
		consumers = append(consumers, start(l, "consumer", "plain"), start(l, "sessions", "sessions"))
		for range 3 {
			consumers = append(consumers, start(l, "sessions", "sessions"))
		}
	}
	if *java != "" { // the only SDK here with transactions
		l := javaClient()
		producers = append(producers, start(l, "producer", "source"))
		consumers = append(consumers, start(l, "transactions", "source"), start(l, "transactions", "source"), start(l, "consumer", "moved"))
	}
	kills := r.kill(within)
	harness.Must(r.t, r.cluster.WaitReady(r.t.Context(), recoveryTimeout))
	for _, c := range producers {
		harness.Check(r.t, c.end())
	}
	found = r.awaitEmpty()
	for _, c := range consumers {
		harness.Check(r.t, c.end())
	}
	if from := r.events["source"]; from != nil {
		for _, e := range from.events { // what was sent there must have come to the other queue
			if e.Event == Accepted {
				r.events["moved"].add(e)
			}
		}
	}
	for name, events := range r.events {
		r.t.Logf("%s: %d leaders killed; %s", name, len(kills), events.summary())
		violations := Check(events.events, kills)
		if len(violations) > 0 {
			r.t.Log("the events are in ", events.keep(r.t, name))
		}
		found = append(found, violations...)
	}
	return found
}

// keep writes the events to a file.
func (r *recorder) keep(t *testing.T, name string) (path string) {
	t.Helper()
	file, err := os.CreateTemp("", "servicebus-"+name+"-*.jsonl")
	harness.Must(t, err)
	lines := json.NewEncoder(file)
	for _, e := range r.events {
		harness.Must(t, lines.Encode(struct {
			Event
			Client string `json:"client"`
		}{e, e.client}))
	}
	harness.Must(t, file.Close())
	return file.Name()
}

// kill kills the leader again and again, and starts it.
func (r *run) kill(within time.Duration) (kills []int64) {
	ctx, cancel := context.WithTimeout(r.t.Context(), within)
	defer cancel()
	for next := time.NewTicker(period); ; {
		select {
		case <-ctx.Done():
			return kills
		case <-next.C:
		}
		var now unix.Timespec // the clock of the clients
		harness.Must(r.t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
		kills = append(kills, now.Nano())
		killLeader(r.t, r.cluster)
	}
}

// killLeader kills the leader, when there is one, and starts it.
func killLeader(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	leader, err := cluster.WaitLeader(t.Context(), recoveryTimeout)
	harness.Must(t, err)
	harness.Must(t, leader.Kill())
	harness.Must(t, leader.Start())
}

// awaitEmpty waits until the consumers have emptied the queues, as long as they complete messages.
func (r *run) awaitEmpty() (found []Violation) {
	end := time.NewTimer(recoveryTimeout)
	defer end.Stop()
	for _, name := range []string{"source", "moved", "plain", "sessions"} { // source first: its messages go to moved
		events := r.events[name]
		if events == nil {
			continue
		}
		for left, least := r.left(name), math.MaxInt; left > 0 && found == nil; left = r.left(name) {
			if left < least {
				least = left
				end.Reset(recoveryTimeout)
			}
			select {
			case <-events.changed: // a client may have completed the last message
			case <-end.C:
				found = append(found, Violation{Left, fmt.Sprintf("%s still has %d messages", name, left)})
			}
		}
	}
	return found
}

// left returns the number of messages in a queue.
func (r *run) left(queue string) (left int) {
	counts, err := r.queues.GetQueueAttributes(r.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl:       new(r.cluster.Endpoint() + "/000000000000/" + queue + ".fifo"),
		AttributeNames: []types.QueueAttributeName{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"},
	})
	harness.Must(r.t, err)
	for _, n := range counts.Attributes {
		count, err := strconv.Atoi(n)
		harness.Must(r.t, err)
		left += count
	}
	return left
}

// Leaders are killed under producers and consumers of all kinds.
func TestLeaderKills(t *testing.T) {
	if *duration == 0 || *bug != 0 {
		t.Skip("it needs the SDKs of Azure: run make faults-servicebus")
	}
	r := newRun(t, harness.Options{})
	for _, v := range r.play(*duration) {
		t.Errorf("%s: %s", v.Checker, v.Text)
	}
	for name, events := range r.events {
		for _, kind := range []string{Accepted, Completed, Abandoned} {
			if events.counts[kind] == 0 && (name != "source" || kind != Abandoned) {
				t.Errorf("%s: nothing was %s, so the run proves nothing", name, kind)
			}
		}
	}
}

// planted are the bugs that a checker must find, two for each.
var planted = []struct {
	bug     int
	checker string
	text    string
}{
	{40, Loss, "one message in 64 is accepted and not stored"},
	{42, Loss, "a message that a receiver gives back is gone"},
	{5, Duplicate, "the deletion of a message forgets its id"},
	{43, Duplicate, "the ids of some messages are not remembered"},
	{45, Order, "a session delivers new messages before those that came back"},
	{46, Order, "a session begins with its newest message"},
	{29, Holders, "a session is accepted though it is held"},
	{41, Holders, "the lock of a session ends before its time"},
	{47, Return, "a message that came back is not deleted, though the answer says so"},
	{44, Return, "one message in 64 is not deleted, though the answer says so"},
}

func TestPlantedBugs(t *testing.T) {
	if *bug == 0 {
		t.Skip("it needs a fault build and the SDKs of Azure: run make faults-servicebus-selftest")
	}
	for _, p := range planted {
		if *bug > 0 && *bug != p.bug {
			continue
		}
		t.Run(fmt.Sprint(p.bug), func(t *testing.T) {
			r := newRun(t, harness.Options{Env: func(string) []string { return []string{fmt.Sprintf("SERIATIM_PLANT=%d", p.bug)} }})
			found, texts := false, []string{}
			for _, v := range r.play(*duration) {
				found = found || v.Checker == p.checker
				texts = append(texts, v.Checker+": "+v.Text)
			}
			t.Logf("%s: %d violations, %s", p.text, len(texts), strings.Join(texts[:min(3, len(texts))], "; "))
			if !found {
				t.Errorf("no violation of the checker %q", p.checker)
			}
		})
	}
}
