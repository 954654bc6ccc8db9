//go:build faults

package oncall

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestQueueFaults prepares the faults of queues and topics.
func TestQueueFaults(t *testing.T) {
	d, _ := newDesk(t, harness.Options{Args: []string{"--sns-allow-endpoints", "127.0.0.0/8"}})
	for name, fault := range map[string]func(*desk){
		"stuck group": stuckGroup, "dropped duplicate": droppedDuplicate, "poison message": poisonMessage,
		"filter that drops": filterThatDrops, "quota": quota, "paused queue": pausedQueue, "slow subscriber": slowSubscriber,
	} {
		t.Run(name, func(t *testing.T) {
			here := *d
			here.t = t
			fault(&here)
		})
	}
}

func stuckGroup(d *desk) {
	d.create("orders.fifo", map[string]string{"VisibilityTimeout": "3600"})
	d.send("orders.fifo", "customer-7", "1", "first")
	d.send("orders.fifo", "customer-7", "2", "second")
	d.receive("orders.fifo")
	d.sees("/", "Held groups", "orders.fifo")
	d.sees("/queues/orders.fifo/groups?state=blocked", "customer-7")
	d.sees("/queues/orders.fifo/group?id=customer-7", "127.0.0.1", "grpc-go")
	d.reads("group list orders.fifo", "customer-7", "in-flight")
	d.reads("group explain orders.fifo customer-7", "127.0.0.1", "group release")
}

func droppedDuplicate(d *desk) {
	d.create("payments.fifo", nil)
	d.send("payments.fifo", "g", "payment-9", "once")
	d.send("payments.fifo", "g", "payment-9", "twice")
	d.sees("/queues/payments.fifo/dedup?id=payment-9", "duplicate", "payment-9")
	d.reads("dedup lookup payments.fifo payment-9", "duplicate")
}

func poisonMessage(d *desk) {
	d.create("mails-dead.fifo", nil)
	d.create("mails.fifo", map[string]string{"VisibilityTimeout": "0",
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:mails-dead.fifo","maxReceiveCount":2}`})
	d.send("mails.fifo", "g", "1", "poison")
	d.receive("mails.fifo")
	d.receive("mails.fifo")
	d.send("mails.fifo", "g", "2", "next")
	d.receive("mails.fifo") // the poison moves
	d.sees("/", "Dead letters", "mails-dead.fifo")
	d.sees("/queues/mails-dead.fifo/dlq", "mails.fifo", "received 2 times", "poison")
	d.reads("dlq list", "mails-dead.fifo")
	d.reads("dlq show mails-dead.fifo", "mails.fifo", "poison")
}

func filterThatDrops(d *desk) {
	d.create("abroad.fifo", nil)
	harness.Must(d.t, harness.Err(d.conn.CreateTopic(d.t.Context(), "sales.fifo", map[string]string{"FifoTopic": "true"}, nil)))
	harness.Must(d.t, harness.Err(d.conn.Subscribe(d.t.Context(), "sales.fifo", "abroad.fifo", map[string]string{
		"FilterPolicy": `{"country":["fr"]}`,
	})))
	d.sees("/topics/sales.fifo", "abroad.fifo", `{"country":["fr"]}`)
	d.sees(`/topics/sales.fifo?message=x&attributes={"country":"de"}`, "0 subscriptions get", "does not match")
	d.reads("topic subscription show sales.fifo abroad.fifo", `{"country":["fr"]}`)
	d.reads("topic subscription test sales.fifo abroad.fifo x --attribute country=de", "filter")
}

func quota(d *desk) {
	d.reads("account create 222222222222 --messages 1", "222222222222")
	d.command("queue create --account 222222222222 small")
	d.command("msg send --account 222222222222 small one")
	d.reads("msg send --account 222222222222 small two", "quota")
	d.sees("/access", "222222222222", "1 / 1")
	d.reads("account list", "222222222222", "1/1")
	d.reads("check quota", "222222222222")
}

func pausedQueue(d *desk) {
	d.create("held.fifo", map[string]string{"DeliveryPaused": "true"})
	d.send("held.fifo", "g", "1", "waits")
	d.sees("/queues", "held.fifo paused")
	d.sees("/queues/held.fifo", "paused", "seriatim queue resume held.fifo")
	d.reads("queue explain held.fifo", "paused", "seriatim queue resume held.fifo")
}

// slowSubscriber confirms its subscription, and then accepts no message.
func slowSubscriber(d *desk) {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Sns-Message-Type") != "SubscriptionConfirmation" {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		var in struct{ SubscribeURL string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			d.t.Error(err)
		}
		confirmed, err := http.Get(in.SubscribeURL) //nolint:gosec,noctx // the server of this test
		if err != nil || confirmed.Body.Close() != nil {
			d.t.Error(err)
		}
	}))
	defer endpoint.Close()
	harness.Must(d.t, harness.Err(d.conn.CreateTopic(d.t.Context(), "news", map[string]string{}, nil)))
	d.reads("topic subscribe news "+endpoint.URL+" --protocol http", "arn:")
	d.sees("/topics/news", "The topic delivers to "+endpoint.URL)
	d.reads("topic publish news hello", "-")
	d.sees("/topics/news", "waiting for "+endpoint.URL, "failed attempt", "next attempt is due")
	d.reads("check posts", "posts")
	arn := regexp.MustCompile(`arn:aws:sns:\S+`).FindString(d.command("topic subscription show news " + endpoint.URL))
	d.reads("topic subscription explain "+arn, "waiting for "+endpoint.URL, "failed attempt")
}
