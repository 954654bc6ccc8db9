package lookup

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
)

const (
	account = "111111111111"
	region  = "us-east-1"
)

// world is a state with queues and topics.
type world struct {
	t *testing.T
	b *queue.Broker
}

func (w *world) do(cmd queue.Command) queue.Result {
	w.t.Helper()
	result, err := w.b.Apply(1, cmd)
	if err != nil {
		w.t.Fatalf("%T: %v", cmd, err)
	}
	return result
}

func (w *world) queue(owner, name string) {
	w.t.Helper()
	w.do(&queue.CreateQueue{Queue: access.Qualify(owner, name), Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
}

func (w *world) topic(owner, name string, queues ...string) {
	w.t.Helper()
	qualified := access.Qualify(owner, name)
	w.do(&queue.CreateTopic{Topic: qualified, TopicARN: arn.OfTopic(region, id(owner), name), Attributes: []queue.Attribute{
		{Name: "FifoTopic", Value: "true"}}})
	for _, q := range queues {
		w.do(&queue.Subscribe{Topic: qualified, Endpoint: arn.OfQueue(region, id(owner), q), Queue: access.Qualify(owner, q)})
	}
}

func id(owner string) string {
	if owner == "" {
		return "000000000000"
	}
	return owner
}

func newWorld(t *testing.T) *world {
	w := &world{t, queue.New()}
	w.do(&access.CreateAccount{Account: account})
	for _, owner := range []string{"", account} {
		for _, name := range []string{
			"Orders.fifo", "ORDERS.fifo", "eu_2Fjobs.fifo", "both.fifo", "News_2FSubscriptions_2FAll.fifo",
			"News_2Fsubscriptions_2Fall.fifo", "News_2FSubscriptions_2Falone.fifo", "orders-dlq.fifo",
		} {
			w.queue(owner, name)
		}
		w.topic(owner, "News.fifo", "News_2FSubscriptions_2FAll.fifo", "News_2Fsubscriptions_2Fall.fifo", "eu_2Fjobs.fifo",
			"News_2FSubscriptions_2Fgone.fifo", "other_2FSubscriptions_2Fs.fifo")
		w.topic(owner, "both.fifo")
		w.topic(owner, "BOTH.fifo")
	}
	w.queue("", "own.fifo")
	w.topic("", "owntopic.fifo")
	return w
}

func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, want := range map[string]string{
		"Orders": "1 Orders.fifo", "orders": "1 ORDERS.fifo", "EU/Jobs": "1 eu_2Fjobs.fifo", "news": "2 News.fifo", "both": "1 both.fifo",
		"BOTH": "2 BOTH.fifo", "Both": "1 both.fifo", "none": "", "orders-dlq": "", "own": "", "owntopic": "", "a//b": "",
		"News/Subscriptions/All": "3 News_2FSubscriptions_2FAll.fifo", "news/subscriptions/all": "3 News_2Fsubscriptions_2Fall.fifo",
		"NEWS/SUBSCRIPTIONS/ALL": "3 News_2FSubscriptions_2FAll.fifo", "News/Subscriptions/gone": "3 News_2FSubscriptions_2Fgone.fifo",
		"News/Subscriptions/alone": "", "other/Subscriptions/s": "", "Orders/Subscriptions/All": "", "News/Subscriptions/eu": "",
	} {
		e, ok := In{w.b.View(), account}.Find(path)
		kind, name, _ := strings.Cut(want, " ")
		if ok != (want != "") || ok && (string(rune('0'+e.Kind)) != kind || e.Name != access.Qualify(account, name) ||
			!strings.EqualFold(e.Path, path)) {
			t.Errorf("%s is %+v, %v, want %s", path, e, ok, want)
		}
		if ok && e.Kind == Subscription && (e.Topic != account+"/News.fifo" || w.b.View().SubscribedQueue(e.ARN) != e.Name) {
			t.Errorf("%s is %+v", path, e)
		}
	}
	for path, want := range map[string]Kind{
		"own": Queue, "owntopic": Topic, "OwnTopic": Topic, "OWN": Queue, "News/Subscriptions/all": Subscription,
	} {
		if e, ok := (In{w.b.View(), ""}).Find(path); !ok || e.Kind != want || access.OwnerOf(e.Name) != "" {
			t.Errorf("%s is %+v", path, e)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, owner := range []string{"", account} {
		in := In{w.b.View(), owner}
		list := func(scan func(func(Entity) bool), most int) (paths []string) {
			scan(func(e Entity) bool {
				if access.OwnerOf(e.Name) != owner {
					t.Errorf("%s is listed in %q", e.Name, owner)
				}
				paths = append(paths, e.Path)
				return len(paths) < most
			})
			return paths
		}
		queues, topics := []string{"ORDERS", "Orders", "both", "eu/jobs"}, []string{"BOTH", "News", "both"}
		if owner == "" {
			queues, topics = append(queues, "own"), append(topics, "owntopic")
		}
		if got := list(in.Queues, 100); !slices.Equal(got, queues) {
			t.Errorf("queues %v", got)
		}
		if got := list(in.Topics, 100); !slices.Equal(got, topics) {
			t.Errorf("topics %v", got)
		}
		if got := list(in.Queues, 2); !slices.Equal(got, queues[:2]) {
			t.Errorf("the first queues are %v", got)
		}
		var paths []string
		for _, e := range in.Subscriptions(access.Qualify(owner, "News.fifo")) {
			paths = append(paths, e.Path)
		}
		want := []string{"News/Subscriptions/All", "News/subscriptions/all", "News/Subscriptions/gone"}
		if !slices.Equal(paths, want) || len(in.Subscriptions(access.Qualify(owner, "none.fifo"))) != 0 {
			t.Errorf("subscriptions %v", paths)
		}
	}
}
