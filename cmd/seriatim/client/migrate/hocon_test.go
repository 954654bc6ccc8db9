package migrate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const elasticConfig = `include classpath("application.conf")
node-address { protocol = http, host = "*", port = 9324, context-path = "" }
# the queues
queues {
  orders {
    defaultVisibilityTimeout = 10 seconds
    delay = 5 minutes, receiveMessageWait = 1500 millis
    deadLettersQueue { name = "orders-dead", maxReceiveCount = 3 // from 1 to 1000
    }
    copyTo = "audit"
    tags { team = "web shop", "stage#" = test }
  }
  orders-dead { }
  audit { fifo = true, contentBasedDeduplication = true }
  "kept.fifo" { fifo = true }
}
`

// The queues of a configuration become definitions, and settings without a counterpart are named.
func TestReadElasticMQ(t *testing.T) {
	t.Parallel()
	d, notes, err := ReadElasticMQ(strings.NewReader(elasticConfig))
	clustertest.Must(t, err)
	want := []definitions.Queue{
		{Name: "audit.fifo", Attributes: map[string]string{"ContentBasedDeduplication": "true"}},
		{Name: "kept.fifo", Attributes: map[string]string{}},
		{Name: "orders", Attributes: map[string]string{
			"VisibilityTimeout": "10", "DelaySeconds": "300", "ReceiveMessageWaitTimeSeconds": "1",
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:{region}:{account}:orders-dead","maxReceiveCount":3}`,
		}, Tags: map[string]string{"team": "web shop", "stage#": "test"}},
		{Name: "orders-dead", Attributes: map[string]string{}},
	}
	if diff := cmp.Diff(want, d.Queues); diff != "" {
		t.Error(diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "orders has the setting copyTo") {
		t.Errorf("notes: %q", notes)
	}
}

// A configuration that cannot be read is refused with its line.
func TestReadElasticMQErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "has no queues",
		"queues = 5":                       "has no queues",
		"queues {\n a {":                   "line 2: a closing } is missing",
		"}":                                "unexpected }",
		"queues { a = 5 }":                 "a is not an object",
		"queues { a { delay = soon } }":    "delay has a value",
		"queues { a { delay = 5 weeks } }": "delay has a value",
		"queues { a { deadLettersQueue { name = b } } }": "needs a name and a maxReceiveCount",
		"queues { a { deadLettersQueue = b } }":          "needs a name",
		"queues { a { tags { b = \"c } } }":              "line 1: literal not terminated",
	} {
		_, _, err := ReadElasticMQ(strings.NewReader(text))
		if exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Durations of a configuration become whole seconds.
func TestSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10 seconds": "10", "1 second": "1", "5s": "5", "500 millis": "0", "2000": "2", "2000ms": "2", "3 minutes": "180", "3m": "180",
		"2 hours": "7200", "2h": "7200",
	} {
		if got, err := seconds(text); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
}
