package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// standardDefaults are the settable attributes of a fresh standard queue.
var standardDefaults = attrs{
	"DelaySeconds":                  "0",
	"MaximumMessageSize":            "1048576",
	"MessageRetentionPeriod":        "345600",
	"ReceiveMessageWaitTimeSeconds": "0",
	"SqsManagedSseEnabled":          "false", // nothing is encrypted at rest here
	"VisibilityTimeout":             "30",

	"ApproximateNumberOfMessages":           "0",
	"ApproximateNumberOfMessagesDelayed":    "0",
	"ApproximateNumberOfMessagesNotVisible": "0",
}

func checkFresh(t *testing.T, queue string, got, want attrs) {
	t.Helper()
	want = maps.Clone(want)
	want["QueueArn"] = arn(queue)
	for _, name := range []string{"CreatedTimestamp", "LastModifiedTimestamp"} {
		if !isEpochSeconds(got[name]) {
			t.Errorf("%s is %q", name, got[name])
		}
		want[name] = got[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestCreateQueueStandardDefaults(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		checkFresh(t, queue, c.attributes(t, queue, "All"), standardDefaults)
	})
}

func TestCreateQueueFIFODefaults(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		want := maps.Clone(standardDefaults)
		maps.Copy(want, attrs{
			"FifoQueue": "true", "ContentBasedDeduplication": "false",
			"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue",
		})
		queue := c.fifo(t, nil)
		checkFresh(t, queue, c.attributes(t, queue, "All"), want)
	})
}

func TestCreateQueueBooleanLetterCase(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.create(t, unique(t)+".fifo", attrs{"FifoQueue": "True", "ContentBasedDeduplication": "TRUE"})
		want := attrs{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
		if diff := cmp.Diff(want, c.attributes(t, queue, "FifoQueue", "ContentBasedDeduplication")); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
	})
}

func TestCreateQueueRefusals(t *testing.T) {
	const (
		nameText     = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
		fifoNameText = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
			"must end with .fifo suffix and be 1 to 80 in length."
		parameter = "InvalidParameterValue"
	)
	cases := []struct {
		name       string
		queue      string // a unique name is put before a text that begins with +
		attributes attrs
		code, text string
	}{
		{"fifo name without FifoQueue", "+x.fifo", nil, parameter, nameText},
		{"FifoQueue without fifo name", "+x", attrs{"FifoQueue": "true"}, parameter, fifoNameText},
		{"81 characters", strings.Repeat("q", 81), nil, parameter, nameText},
		{"fifo name of 81 characters", strings.Repeat("q", 76) + ".fifo", attrs{"FifoQueue": "true"}, parameter, fifoNameText},
		{"dot in name", "in.fo", nil, parameter, nameText},
		{"blank in name", "in fo", nil, parameter, nameText},
		{"FifoQueue false", "+x", attrs{"FifoQueue": "false"}, "InvalidAttributeName", "Unknown Attribute FifoQueue."},
		{"content deduplication on standard", "+x", attrs{"ContentBasedDeduplication": "false"}, "InvalidAttributeName",
			"Unknown Attribute ContentBasedDeduplication."},
		{"scope on standard", "+x", attrs{"DeduplicationScope": "queue"}, "InvalidAttributeName",
			"You can specify the DeduplicationScope only when FifoQueue is set to true."},
		{"throughput limit on standard", "+x", attrs{"FifoThroughputLimit": "perQueue"}, "InvalidAttributeName",
			"You can specify the FifoThroughputLimit only when FifoQueue is set to true."},
		{"throughput limit without group scope", "+x.fifo", attrs{"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId"},
			"InvalidAttributeValue", "Invalid value for the parameter FifoThroughputLimit."},
		{"unknown attribute", "+x", attrs{"Foo": "1"}, "InvalidAttributeName", "Unknown Attribute Foo."},
		{"read-only attribute", "+x", attrs{"QueueArn": "x"}, "InvalidAttributeName", "Unknown Attribute QueueArn."},
		{"empty name", "", nil, parameter, nameText}, // one that is absent is missing
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				queue := test.queue
				if rest, ok := strings.CutPrefix(queue, "+"); ok {
					queue = "n-" + runID + rest
				}
				_, got := c.tryCreate(t, queue, test.attributes)
				refused(t, got, test.code, test.text)
			})
		}
	})
}

func TestCreateQueueNameOf80Characters(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		pad := func(name string, length int) string { return name + strings.Repeat("q", length-len(name)) }
		c.create(t, pad(c.protocol+"-"+runID+"-", 80), nil)
		c.create(t, pad(c.protocol+"-"+runID+"-", 75)+".fifo", attrs{"FifoQueue": "true"})
	})
}

func TestCreateQueueIntegerAttributes(t *testing.T) {
	cases := []struct {
		name      string
		bad, good []string
	}{
		{"VisibilityTimeout", []string{"43201", "-1", "3.5", " 6", ""}, []string{"0", "43200"}},
		{"MaximumMessageSize", []string{"1023", "1048577"}, []string{"1024", "1048576"}},
		{"MessageRetentionPeriod", []string{"59", "1209601"}, []string{"60", "1209600"}},
		{"DelaySeconds", []string{"-1", "901"}, []string{"0", "900"}},
		{"ReceiveMessageWaitTimeSeconds", []string{"-1", "21"}, []string{"0", "20"}},
		{"KmsDataKeyReusePeriodSeconds", []string{"59", "86401"}, []string{"60", "86400"}},
	}
	each(t, func(t *testing.T, c *client) {
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				for _, value := range test.bad {
					_, got := c.tryCreate(t, unique(t), attrs{test.name: value})
					refused(t, got, "InvalidAttributeValue", "Invalid value for the parameter "+test.name+".")
				}
				for _, value := range test.good {
					queue := c.std(t, attrs{test.name: value})
					if got := c.attributes(t, queue, "All")[test.name]; got != value {
						t.Errorf("%s reads %q, want %q", test.name, got, value)
					}
				}
			})
		}
	})
}

func TestCreateQueueThatExists(t *testing.T) {
	const differs = "A queue already exists with the same name and a different value for attribute "
	each(t, func(t *testing.T, c *client) {
		t.Run("without attributes", func(t *testing.T) {
			queue := c.std(t, attrs{"DelaySeconds": "1"})
			if got := c.create(t, queueName(queue), nil); got != queue {
				t.Errorf("URL %q, want %q", got, queue)
			}
			c.send(t, queue, "m")
			c.create(t, queueName(queue), nil)
		})
		t.Run("equal attributes", func(t *testing.T) {
			queue := c.std(t, attrs{"DelaySeconds": "1", "VisibilityTimeout": "7"})
			if got := c.create(t, queueName(queue), attrs{"DelaySeconds": "1"}); got != queue {
				t.Errorf("URL %q, want %q", got, queue)
			}
		})
		t.Run("another value", func(t *testing.T) {
			queue := c.std(t, attrs{"DelaySeconds": "1"})
			_, got := c.tryCreate(t, queueName(queue), attrs{"DelaySeconds": "2"})
			refused(t, got, "QueueAlreadyExists", differs+"DelaySeconds")
		})
		t.Run("after a change", func(t *testing.T) {
			queue := c.std(t, attrs{"DelaySeconds": "1"})
			c.set(t, queue, attrs{"DelaySeconds": "2"})
			c.create(t, queueName(queue), attrs{"DelaySeconds": "2"})
			_, got := c.tryCreate(t, queueName(queue), attrs{"DelaySeconds": "1"})
			refused(t, got, "QueueAlreadyExists", differs+"DelaySeconds")
		})
		t.Run("content deduplication differs", func(t *testing.T) {
			queue := c.fifo(t, attrs{"ContentBasedDeduplication": "true"})
			_, got := c.tryCreate(t, queueName(queue), attrs{"FifoQueue": "true", "ContentBasedDeduplication": "false"})
			refused(t, got, "QueueAlreadyExists", differs+"ContentBasedDeduplication")
		})
	})
}

func TestCreateQueueAgainWithoutCooldown(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		first := c.send(t, queue, "old", group("g"), dedup("d"))
		c.deleteQueue(t, queue)
		again := c.create(t, queueName(queue), attrs{"FifoQueue": "true"})
		c.empty(t, again)
		// Nothing of the old queue is left, neither deduplication records nor sequence numbers.
		second := c.send(t, again, "new", group("g"), dedup("d"))
		if aws.ToString(second.MessageId) == aws.ToString(first.MessageId) {
			t.Error("the new queue remembers the deduplication id of the old one")
		}
		c.expect(t, again, "new")
	})
}

// TestAWSCooldowns needs a node of its own, because it turns on the cool-offs of AWS.
func TestAWSCooldowns(t *testing.T) {
	t.Parallel()
	node := harness.New(t, harness.Options{Binary: shared.binary, Nodes: 1, Args: []string{"--aws-cooldowns"}})
	for _, protocol := range []string{protocolJSON, protocolQuery} {
		c := newClient(node, protocol)
		t.Run(protocol+" create after delete", func(t *testing.T) {
			start := time.Now()
			queue := c.std(t, nil)
			c.deleteQueue(t, queue)
			_, got := c.tryCreate(t, queueName(queue), nil)
			if before(t, start, time.Minute) {
				refused(t, got, "AWS.SimpleQueueService.QueueDeletedRecently",
					"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
			}
		})
		t.Run(protocol+" purge twice", func(t *testing.T) {
			start := time.Now()
			queue := c.std(t, nil)
			c.purge(t, queue)
			_, got := call(t, c.sqs.PurgeQueue, purgeInput(queue), nil)
			if before(t, start, time.Minute) {
				refused(t, got, "AWS.SimpleQueueService.PurgeQueueInProgress",
					"Only one PurgeQueue operation on "+queueName(queue)+" is allowed every 60 seconds.")
			}
		})
	}
}

func TestCreateQueueTags(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		name, tags := unique(t), map[string]string{"team": "payments", "empty": ""}
		queue := c.createTagged(t, name, tags)
		if diff := cmp.Diff(tags, c.tags(t, queue)); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		// Tags are not compared with those of an existing queue.
		if got := c.createTagged(t, name, map[string]string{"team": "other"}); got != queue {
			t.Errorf("URL %q, want %q", got, queue)
		}
	})
}

func isEpochSeconds(s string) bool {
	return len(s) == 10 && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < '0' || b > '9' })
}
