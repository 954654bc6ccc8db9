package conformance

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

// serviceBus creates a FIFO queue with the profile of Azure Service Bus.
func (c *client) serviceBus(t *testing.T, attributes attrs) string {
	t.Helper()
	all := attrs{"CompatibilityProfile": "servicebus"}
	maps.Copy(all, attributes)
	return c.fifo(t, all)
}

func TestDeduplicationWindowAttribute(t *testing.T) {
	const name = "DeduplicationWindowSeconds"
	each(t, func(t *testing.T, c *client) {
		t.Run("within and after", func(t *testing.T) {
			queue := c.fifo(t, attrs{name: "4"})
			start := time.Now()
			first := c.send(t, queue, "m", group("g"), dedup("A"))
			second := c.send(t, queue, "m", group("g"), dedup("A"))
			if before(t, start, 4*time.Second) {
				sameMessage(t, first, second)
				c.counts(t, queue, 1, 0, 0)
			}
			c.pass(t, 5)
			anotherMessage(t, first, c.send(t, queue, "n", group("g"), dedup("A")))
		})
		t.Run("bad values", func(t *testing.T) {
			queue := c.fifo(t, nil)
			for _, bad := range []string{"abc", "0", "604801", "-1", ""} {
				refused(t, c.trySet(t, queue, attrs{name: bad}), "InvalidAttributeValue", "")
			}
		})
		t.Run("not listed unless set", func(t *testing.T) {
			queue := c.fifo(t, nil)
			if got, found := c.attributes(t, queue, "All")[name]; found {
				t.Errorf("%s is listed as %q", name, got)
			}
			if got := c.attributes(t, queue, name); len(got) != 0 {
				t.Errorf("asked for by name: %v", got)
			}
		})
		t.Run("profile default", func(t *testing.T) {
			if got := c.attributes(t, c.serviceBus(t, nil), "All")[name]; got != "600" {
				t.Errorf("the window is %q, want 600", got)
			}
			if got := c.attributes(t, c.serviceBus(t, attrs{name: "60"}), "All")[name]; got != "60" {
				t.Errorf("the window is %q, want 60", got)
			}
		})
		t.Run("live change", func(t *testing.T) {
			queue := c.fifo(t, attrs{name: "300"})
			c.set(t, queue, attrs{name: "600"})
			if got := c.attributes(t, queue, "All")[name]; got != "600" {
				t.Errorf("the window is %q, want 600", got)
			}
		})
		t.Run("shrinking acts at once and growing brings nothing back", func(t *testing.T) {
			queue := c.fifo(t, nil)
			first := c.send(t, queue, "m", group("g"), dedup("A"))
			c.pass(t, 2)
			c.set(t, queue, attrs{name: "1"})
			c.set(t, queue, attrs{name: "300"})
			anotherMessage(t, first, c.send(t, queue, "n", group("g"), dedup("A")))
		})
	})
}

func TestServiceBusDuplicateAfterSettlement(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("completed", func(t *testing.T) {
			queue := c.serviceBus(t, nil)
			first := c.send(t, queue, "m", group("g"), dedup("A"))
			c.delete(t, queue, c.one(t, queue))
			sameMessage(t, first, c.send(t, queue, "m", group("g"), dedup("A")))
		})
		t.Run("dead-lettered", func(t *testing.T) {
			target := c.serviceBus(t, nil)
			queue := c.serviceBus(t, attrs{"RedrivePolicy": redrive(target, 3), "VisibilityTimeout": "0"})
			first := c.send(t, queue, "m", group("g"), dedup("A"))
			for range 3 {
				c.one(t, queue)
			}
			c.empty(t, queue)
			if moved := c.one(t, target, everything); moved.Attributes["MessageDeduplicationId"] != "A" {
				t.Errorf("the copy has deduplication id %q", moved.Attributes["MessageDeduplicationId"])
			}
			sameMessage(t, first, c.send(t, queue, "m", group("g"), dedup("A")))
			// The move did not add the id to those remembered by the target.
			c.send(t, target, "direct", group("h"), dedup("A"))
			c.counts(t, target, 1, 1, 0)
		})
	})
}

func TestDeduplicationSwitchedOff(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"DeduplicationEnabled": "false"})
		c.send(t, queue, "1", group("g"), dedup("A"))
		c.send(t, queue, "2", group("g"), dedup("A"))
		c.send(t, queue, "3", group("g"))
		got := c.expect(t, queue, "1", "2", "3")
		if id := got[0].Attributes["MessageDeduplicationId"]; id != "A" {
			t.Errorf("MessageDeduplicationId %q", id)
		}
		refused(t, c.trySet(t, queue, attrs{"DeduplicationEnabled": "true"}), "InvalidAttributeValue",
			"Invalid value for the parameter DeduplicationEnabled. Reason: the attribute cannot be changed after creation.")
		if now := c.attributes(t, queue, "DeduplicationEnabled")["DeduplicationEnabled"]; now != "false" {
			t.Errorf("DeduplicationEnabled is %q", now)
		}
	})
}

func TestDeduplicationIDLetterCase(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.serviceBus(t, nil)
		anotherMessage(t, c.send(t, queue, "1", group("g"), dedup("id")), c.send(t, queue, "2", group("g"), dedup("ID")))
		_, got := c.trySend(t, queue, "m", group("g"), dedup(strings.Repeat("x", 129)))
		refused(t, got, "InvalidParameterValue", "")
		c.send(t, queue, "3", group("g"), dedup(strings.Repeat("x", 128)))
	})
}

func reserved(t *testing.T, c *client) string {
	return c.fifo(t, attrs{"ReservedAttributesEnabled": "true", "DeduplicationScope": "partitionKey"})
}

func due(at time.Time) sending {
	return text("seriatim.ScheduledEnqueueTime", "Number", strconv.FormatInt(at.UnixMilli(), 10))
}

func TestScheduledMessages(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("due later", func(t *testing.T) {
			queue := reserved(t, c)
			start := time.Now()
			c.send(t, queue, "m", group("g"), dedup("A"), due(start.Add(4*time.Second)))
			got := c.receive(t, queue, wait(0))
			if before(t, start, 3*time.Second) {
				if len(got) != 0 {
					t.Errorf("received %q before it is due", bodies(got))
				}
				c.counts(t, queue, 0, 0, 1)
			}
			c.expect(t, queue, "m")
		})
		t.Run("as text", func(t *testing.T) {
			queue := reserved(t, c)
			at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			c.send(t, queue, "m", group("g"), dedup("A"), text("seriatim.ScheduledEnqueueTime", "String", at))
			c.counts(t, queue, 0, 0, 1)
		})
		t.Run("in the past", func(t *testing.T) {
			queue := reserved(t, c)
			c.send(t, queue, "m", group("g"), dedup("A"), due(time.Now().Add(-time.Hour)))
			got := c.expect(t, queue, "m")
			if len(got) == 1 && len(got[0].MessageAttributes) != 0 {
				t.Errorf("the reserved attribute came out: %v", got[0].MessageAttributes)
			}
		})
		t.Run("takes part in deduplication", func(t *testing.T) {
			queue := reserved(t, c)
			first := c.send(t, queue, "scheduled", group("g"), dedup("A"), due(time.Now().Add(time.Hour)))
			sameMessage(t, first, c.send(t, queue, "plain", group("g"), dedup("A")))
			plain := c.send(t, queue, "plain", group("h"), dedup("B"))
			sameMessage(t, plain, c.send(t, queue, "scheduled", group("h"), dedup("B"), due(time.Now().Add(time.Hour))))
			c.expect(t, queue, "plain")
		})
		t.Run("same instant", func(t *testing.T) {
			queue := reserved(t, c)
			at := time.Now().Add(3 * time.Second)
			for i := range 3 {
				c.send(t, queue, fmt.Sprint(i), group("g"), dedup(fmt.Sprint(i)), due(at))
			}
			var got []string
			for len(got) < 3 {
				more := c.receive(t, queue, wait(20), atMost(10))
				if len(more) == 0 {
					break
				}
				got = append(got, bodies(more)...)
				c.delete(t, queue, more...)
			}
			if diff := cmp.Diff([]string{"0", "1", "2"}, got); diff != "" {
				t.Errorf("received (-want +got):\n%s", diff)
			}
		})
	})
}

func TestPartitionKey(t *testing.T) {
	key := func(value string) sending { return text("seriatim.PartitionKey", "String", value) }
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"ReservedAttributesEnabled": "true", "DeduplicationScope": "partitionKey",
			"MessageGroupIdMode": "Optional"})
		first := c.send(t, queue, "1", dedup("A"), key("p"))
		anotherMessage(t, first, c.send(t, queue, "2", dedup("A"), key("q")))
		sameMessage(t, first, c.send(t, queue, "3", dedup("A"), key("p")))
		// If there is a group, the partition key must equal it.
		_, got := c.trySend(t, queue, "4", group("g"), dedup("B"), key("other"))
		refused(t, got, "InvalidParameterValue", "")
		c.send(t, queue, "5", group("g"), dedup("B"), key("g"))
	})
}

// TestReservedAttributesAreOffByDefault: an AWS client sees AWS.
func TestReservedAttributesAreOffByDefault(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		c.send(t, queue, "m", group("g"), dedup("A"), due(time.Now().Add(time.Hour)))
		m := c.one(t, queue, everything)
		if _, found := m.MessageAttributes["seriatim.ScheduledEnqueueTime"]; !found {
			t.Errorf("attributes %v", m.MessageAttributes)
		}
	})
}

func TestMessageGroupIDMode(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		t.Run("required", func(t *testing.T) {
			_, got := c.trySend(t, c.serviceBus(t, attrs{"MessageGroupIdMode": "Required"}), "m", dedup("A"))
			refused(t, got, "MissingParameter", "The request must contain the parameter MessageGroupId.")
		})
		t.Run("optional", func(t *testing.T) {
			queue := c.serviceBus(t, attrs{"MessageGroupIdMode": "Optional"})
			var want []string
			for i := range 10 {
				want = append(want, fmt.Sprint(i))
				c.send(t, queue, fmt.Sprint(i), dedup(fmt.Sprint(i)))
			}
			var got []string
			for range want {
				got = append(got, bodies(c.receive(t, queue, atMost(1)))...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ten receives of one (-want +got):\n%s", diff)
			}
			c.counts(t, queue, 0, 10, 0)
		})
	})
}

func TestMaxDeduplicationEntries(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"MaxDeduplicationEntries": "3"})
		var first string
		for i := range 3 {
			sent := c.send(t, queue, "m", group("g"), dedup(fmt.Sprint(i)))
			if i == 0 {
				first = aws.ToString(sent.MessageId)
			}
		}
		_, got := c.trySend(t, queue, "m", group("g"), dedup("new"))
		refused(t, got, "OverLimit", "")
		if again := aws.ToString(c.send(t, queue, "m", group("g"), dedup("0")).MessageId); again != first {
			t.Error("a known id is not recognised while the history is full")
		}
		c.counts(t, queue, 3, 0, 0)
	})
}

func TestContentDeduplicationModeIDAndContent(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"ContentBasedDeduplication": "true", "ContentDeduplicationMode": "IdAndContent"})
		first := c.send(t, queue, "body", group("g"), dedup("A"))
		sameMessage(t, first, c.send(t, queue, "body", group("g"), dedup("B")))
		sameMessage(t, first, c.send(t, queue, "body", group("g")))
		sameMessage(t, first, c.send(t, queue, "other", group("g"), dedup("A")))
		c.counts(t, queue, 1, 0, 0)
	})
}

func TestImplicitDeadLetterQueue(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, attrs{"ImplicitDeadLetterQueue": "true", "VisibilityTimeout": "0"})
		c.send(t, queue, "m", group("g"), dedup("A"))
		received := 0
		for range 20 {
			if len(c.receive(t, queue, wait(0))) == 0 {
				break
			}
			received++
		}
		if received != 10 {
			t.Errorf("delivered %d times, want 10", received)
		}
		name := strings.TrimSuffix(queueName(queue), ".fifo") + "-dlq.fifo"
		c.expect(t, c.cluster.Endpoint()+"/"+account+"/"+name, "m")
	})
}
