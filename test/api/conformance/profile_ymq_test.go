package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// yandexRegion is the region with which clients of Yandex Message Queue sign.
const yandexRegion = "ru-central1"

// newYandexClient returns the unmodified SDK client that users have, except for its endpoint. It
// cannot send an explicit zero.
func newYandexClient(cluster *harness.Cluster, protocol string) *client {
	return &client{protocol: protocol, cluster: cluster, sqs: cluster.NewSQS(cluster.Rotate(), func(o *sqs.Options) {
		o.Region = yandexRegion
		o.HTTPClient = &http.Client{Transport: &wireCheck{next: harness.NewRoundTripper(cluster.Rotate())}}
		if protocol == protocolQuery {
			o.Protocol = awsquery.New(schemas.AmazonSQS)
		}
	})}
}

// ymqCase is one case of the profile of Yandex Message Queue.
type ymqCase struct {
	name string
	test func(t *testing.T, c *client)
}

// eachYMQ runs cases once per protocol.
func eachYMQ(t *testing.T, cases []ymqCase) {
	t.Helper()
	t.Parallel()
	for _, protocol := range []string{protocolJSON, protocolQuery} {
		for _, each := range cases {
			t.Run(protocol+"/"+each.name, func(t *testing.T) {
				t.Parallel()
				each.test(t, newYandexClient(shared.cluster, protocol))
			})
		}
	}
}

// ymq creates a FIFO queue with the profile of Yandex Message Queue.
func (c *client) ymq(t *testing.T, attributes attrs) string {
	t.Helper()
	all := attrs{"CompatibilityProfile": "ymq"}
	maps.Copy(all, attributes)
	return c.fifo(t, all)
}

// heads sends one message to each of several groups, and returns the bodies, which equal the
// groups.
func (c *client) heads(t *testing.T, queue string, groups int) (all []string) {
	t.Helper()
	for g := range groups {
		all = append(all, fmt.Sprintf("%02d-0", g))
	}
	c.load(t, queue, all...)
	return all
}

// TestProfilesPreset checks that the attributes set by a profile are listed, and that immutable
// ones cannot be changed.
func TestProfilesPreset(t *testing.T) {
	eachYMQ(t, []ymqCase{
		{"preset", func(t *testing.T, c *client) {
			want := attrs{
				"CompatibilityProfile": "ymq", "DeduplicationWindowSeconds": "300", "DeduplicationScope": "queue",
				"ContentDeduplicationMode":      "IdOverrides",
				"MaxMessagesPerGroupPerReceive": "1", "ReceiveCompatibility": "ymq", "PurgeClearsDeduplicationHistory": "false",
				"DeadLetterKeepsDeduplicationId": "true",
			}
			got := c.attributes(t, c.ymq(t, nil), "All")
			for name, value := range want {
				if got[name] != value {
					t.Errorf("ymq presets %s to %q, want %q", name, got[name], value)
				}
			}
		}},
		{"one of them given", func(t *testing.T, c *client) {
			got := c.attributes(t, c.ymq(t, attrs{"MaxMessagesPerGroupPerReceive": "10"}), "All")
			if got["MaxMessagesPerGroupPerReceive"] != "10" || got["ReceiveCompatibility"] != "ymq" {
				t.Errorf("%v", got)
			}
		}},
		{"immutable", func(t *testing.T, c *client) {
			queue := c.ymq(t, nil)
			for _, name := range []string{"CompatibilityProfile", "ReceiveCompatibility"} {
				refused(t, c.trySet(t, queue, attrs{name: "aws"}), "InvalidAttributeValue",
					"Invalid value for the parameter "+name+". Reason: the attribute cannot be changed after creation.")
				if got := c.attributes(t, queue, "All")[name]; got != "ymq" {
					t.Errorf("%s is %q", name, got)
				}
			}
		}},
	})
}
