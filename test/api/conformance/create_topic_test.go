package conformance

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
)

// invalid is the code of most errors of SNS.
const invalid = "InvalidParameter"

func topicTag(key, value string) snstypes.Tag { return snstypes.Tag{Key: &key, Value: &value} }

func TestCreateTopicName(t *testing.T) {
	const text = "Invalid parameter: Topic Name"
	fifo := attrs{"FifoTopic": "true"}
	onTopics(t, func(t *testing.T, c *client) {
		for _, test := range []struct {
			name, topic string
			attributes  attrs
		}{
			{"fifo name without FifoTopic", unique(t) + ".fifo", nil},
			{"fifo name with FifoTopic false", unique(t) + ".fifo", attrs{"FifoTopic": "false"}},
			{"FifoTopic without fifo name", unique(t), fifo},
			{"empty", "", nil},
			{"suffix only", ".fifo", fifo},
			{"257 characters", strings.Repeat("t", 257), nil},
			{"fifo name of 257 characters", strings.Repeat("t", 252) + ".fifo", fifo},
			{"bad character", unique(t) + "$", nil},
			{"dot", "a.b", nil},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.tryCreateTopic(t, test.topic, test.attributes)
				refused(t, got, invalid, text)
			})
		}
		t.Run("256 characters", func(t *testing.T) {
			name := unique(t)
			for _, suffix := range []string{"", ".fifo"} {
				name := name + strings.Repeat("t", 256-len(name)-len(suffix)) + suffix
				if got := c.createTopic(t, name,
					attrs{"FifoTopic": map[string]string{"": "false", ".fifo": "TRUE"}[suffix]}); got != topicARN(name) {
					t.Errorf("ARN %s", got)
				}
			}
		})
		t.Run("missing", func(t *testing.T) {
			_, got := call(t, c.sns.CreateTopic, &sns.CreateTopicInput{}, nil)
			refused(t, got, invalid, "Invalid parameter: Name Reason: no value for required parameter")
		})
	})
}

func TestCreateTopicThatExists(t *testing.T) {
	const differs = "Invalid parameter: Attributes Reason: Topic already exists with different attributes"
	onTopics(t, func(t *testing.T, c *client) {
		name := unique(t) + ".fifo"
		given := attrs{"FifoTopic": "true", "DisplayName": "A"}
		topic := c.createTopic(t, name, given)
		t.Run("without attributes", func(t *testing.T) {
			for _, given := range []attrs{nil, {"FifoTopic": "true"}} {
				if again := c.createTopic(t, name, given); again != topic {
					t.Errorf("ARN %s, was %s", again, topic)
				}
			}
		})
		t.Run("equal attributes", func(t *testing.T) {
			if again := c.createTopic(t, name, given); again != topic {
				t.Errorf("ARN %s, was %s", again, topic)
			}
		})
		t.Run("another value", func(t *testing.T) {
			_, got := c.tryCreateTopic(t, name, attrs{"FifoTopic": "true", "DisplayName": "B"})
			refused(t, got, invalid, differs)
		})
		t.Run("FifoTopic false on a standard topic", func(t *testing.T) {
			standard := c.stdTopic(t, nil)
			if again := c.createTopic(t, standard[strings.LastIndex(standard, ":")+1:], attrs{"FifoTopic": "false"}); again != standard {
				t.Errorf("ARN %s, was %s", again, standard)
			}
		})
	})
}

func TestCreateTopicTags(t *testing.T) {
	const differs = "Invalid parameter: Tags Reason: Topic already exists with different tags"
	onTopics(t, func(t *testing.T, c *client) {
		name := unique(t)
		if _, got := c.tryCreateTopic(t, name, nil, topicTag("a", "1"), topicTag("b", "2")); got != nil {
			t.Fatal(got)
		}
		for _, tags := range [][]snstypes.Tag{nil, {topicTag("a", "1")}, {topicTag("b", "2"), topicTag("a", "1")}} {
			if _, got := c.tryCreateTopic(t, name, nil, tags...); got != nil {
				t.Errorf("with %d of the tags: %v", len(tags), got)
			}
		}
		for _, tags := range [][]snstypes.Tag{{topicTag("a", "2")}, {topicTag("c", "3")}} {
			_, got := c.tryCreateTopic(t, name, nil, tags...)
			refused(t, got, invalid, differs)
		}
		_, got := c.tryCreateTopic(t, unique(t), nil, topicTag("a", "1"), topicTag("a", "2"))
		refused(t, got, invalid, "Invalid parameter: Duplicated keys are not allowed.")
		_, got = c.tryCreateTopic(t, unique(t), nil, snstypes.Tag{Key: aws.String("a")})
		refused(t, got, "ValidationError",
			"1 validation error detected: Value null at 'tags.1.member.value' failed to satisfy constraint: Member must not be null")
	})
}

// topicDefaults has the attributes of a new topic that do not depend on its name.
var topicDefaults = attrs{
	"DisplayName": "", "Owner": account, "SubscriptionsConfirmed": "0", "SubscriptionsDeleted": "0", "SubscriptionsPending": "0",
	"EffectiveDeliveryPolicy": `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,` +
		`"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},` +
		`"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`,
}

func checkNewTopic(t *testing.T, topic string, got, besides attrs) {
	t.Helper()
	want := maps.Clone(topicDefaults)
	maps.Copy(want, besides)
	want["TopicArn"], want["Policy"] = topic, got["Policy"]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	for _, part := range []string{`"Id":"__default_policy_ID"`, `"Sid":"__default_statement_ID"`, `"Resource":"` + topic + `"`} {
		if !strings.Contains(got["Policy"], part) {
			t.Errorf("no %s in the policy %s", part, got["Policy"])
		}
	}
}

func TestCreateTopicDefaults(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		t.Run("fifo", func(t *testing.T) {
			topic := c.fifoTopic(t, nil)
			checkNewTopic(t, topic, c.topicAttributes(t, topic),
				attrs{"FifoTopic": "true", "ContentBasedDeduplication": "false", "FifoThroughputScope": "Topic"})
		})
		t.Run("standard", func(t *testing.T) {
			topic := c.stdTopic(t, nil)
			checkNewTopic(t, topic, c.topicAttributes(t, topic), nil)
		})
	})
}

// TestCreateTopicAttributes checks that a topic returns the given attributes, and that errors about
// a value begin with the prefix for creation.
func TestCreateTopicAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		given := attrs{
			"DisplayName": "A", "ContentBasedDeduplication": "true", "FifoThroughputScope": "MessageGroup", "KmsMasterKeyId": "alias/key",
			"SignatureVersion": "2", "TracingConfig": "PassThrough", "DeduplicationWindowSeconds": "600",
			"ContentDeduplicationMode": "IdAndContent", "Policy": `{"Version":"2012-10-17","Statement":[]}`,
			"DeliveryPolicy": `{"http":{}}`,
		}
		got := c.topicAttributes(t, c.fifoTopic(t, given))
		for name, want := range given {
			if got[name] != want {
				t.Errorf("%s is %q, want %q", name, got[name], want)
			}
		}
		for _, test := range []struct{ name, value, text string }{
			{"Foo", "1", "AttributeName"},
			{"Owner", account, "AttributeName"},
			{"DataProtectionPolicy", "{}", "AttributeName"},
			{"ContentBasedDeduplication", "maybe", "ContentBasedDeduplication: Invalid value [maybe]. Must be true or false."},
			{"FifoThroughputScope", "Queue", "FifoThroughputScope: Invalid value [Queue]. Please use either Topic or MessageGroup"},
			{"TracingConfig", "Active", "TracingConfig: Invalid value [Active]. A FIFO topic can only have PassThrough."},
			{"SignatureVersion", "3", "SignatureVersion: Invalid value [3]. Please use either 1 or 2"},
			{"Policy", "no JSON", "Policy Error: null"},
			{"ArchivePolicy", "no JSON", "ArchivePolicy: Unable to parse JSON"},
			{"DeduplicationWindowSeconds", "604801", "DeduplicationWindowSeconds: Invalid value [604801]. Must be between 1 and 604800."},
		} {
			_, got := c.tryCreateTopic(t, unique(t)+".fifo", attrs{"FifoTopic": "true", test.name: test.value})
			refused(t, got, invalid, "Invalid parameter: Attributes Reason: "+test.text)
		}
		for _, name := range []string{"ContentBasedDeduplication", "FifoThroughputScope", "ArchivePolicy", "DeduplicationWindowSeconds"} {
			_, got := c.tryCreateTopic(t, unique(t), attrs{name: "true"})
			refused(t, got, invalid, "Invalid parameter: Attributes Reason: AttributeName")
		}
	})
}
