package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// batchOf is a batch of entries with the ids 0, 1, ... in one group.
func batchOf(n int) []snstypes.PublishBatchRequestEntry {
	var entries []snstypes.PublishBatchRequestEntry
	for i := range n {
		id := fmt.Sprint(i)
		entries = append(entries, publication(id, "m"+id, toGroup("g"), withID(id)))
	}
	return entries
}

func TestPublishBatchOrder(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		out := c.publishBatch(t, topic, batchOf(3)...)
		if len(out.Successful) != 3 || len(out.Failed) != 0 {
			t.Fatalf("answer %+v", out)
		}
		before := ""
		for i, e := range out.Successful {
			number := aws.ToString(e.SequenceNumber)
			if aws.ToString(e.Id) != fmt.Sprint(i) || number <= before || !uuidForm.MatchString(aws.ToString(e.MessageId)) {
				t.Errorf("entry %d: %s, number %s after %s", i, *e.Id, number, before)
			}
			before = number
		}
		c.expect(t, queue, "m0", "m1", "m2")
	})
}

func TestPublishBatchAgain(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		first := c.publishBatch(t, topic, batchOf(3)...)
		again := c.publishBatch(t, topic, batchOf(3)...)
		if diff := cmp.Diff(first.Successful, again.Successful, cmpopts.IgnoreUnexported(snstypes.PublishBatchResultEntry{})); diff != "" {
			t.Errorf("answers (-first +second):\n%s", diff)
		}
		t.Run("inside one batch", func(t *testing.T) {
			out := c.publishBatch(t, topic, publication("a", "m3", toGroup("g"), withID("3")),
				publication("b", "other", toGroup("g"), withID("3")))
			if aws.ToString(out.Successful[0].MessageId) != aws.ToString(out.Successful[1].MessageId) {
				t.Errorf("answer %+v", out.Successful)
			}
		})
		c.expect(t, queue, "m0", "m1", "m2", "m3")
	})
}

func TestPublishBatchRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, raw)
		id := func(text string) []snstypes.PublishBatchRequestEntry {
			return []snstypes.PublishBatchRequestEntry{publication(text, "m", toGroup("g"), withID("x"))}
		}
		long := strings.Repeat("i", 81)
		big := func(n int) snstypes.PublishBatchRequestEntry {
			return publication(fmt.Sprint(n), strings.Repeat("x", n), toGroup("g"), withID(fmt.Sprint(n)))
		}
		for _, test := range []struct {
			name       string
			entries    []snstypes.PublishBatchRequestEntry
			code, text string
		}{
			{"11 entries", batchOf(11), "TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible."},
			{"none", nil, "EmptyBatchRequest", "The batch request doesn't contain any entries."},
			{"repeated id", slices.Concat(id("a"), id("a")), "BatchEntryIdsNotDistinct",
				"Two or more batch entries in the request have the same Id."},
			{"id of 81", id(long), "InvalidBatchEntryId", "The Id of a batch entry in the batch request is too long: " + long},
			{"id with a sign", id("a.b"), "InvalidBatchEntryId",
				"The Id of a batch entry in the batch request contains an impermissible character: a.b"},
			{"too long together", []snstypes.PublishBatchRequestEntry{big(262_144), big(1)}, "BatchRequestTooLong",
				"The length of all the messages put together is more than the limit."},
			{
				"without id",
				[]snstypes.PublishBatchRequestEntry{{Message: aws.String("m")}},
				"ValidationError",
				"1 validation error detected: Value null at 'publishBatchRequestEntries.1.member.id' failed to satisfy " +
					"constraint: Member must not be null",
			},
			{
				"without message",
				[]snstypes.PublishBatchRequestEntry{{Id: aws.String("a")}},
				"ValidationError",
				"1 validation error detected: Value null at 'publishBatchRequestEntries.1.member.message' failed to " +
					"satisfy constraint: Member must not be null",
			},
			// An error in one entry fails the whole request.
			{"one without group", append(batchOf(1), publication("x", "m", withID("x"))), invalid,
				"Invalid parameter: The MessageGroupId parameter is required for FIFO topics"},
			{
				"one without deduplication id", append(batchOf(1), publication("x", "m", toGroup("g"))), invalid,
				"Invalid parameter: The topic should either have ContentBasedDeduplication enabled or " +
					"MessageDeduplicationId provided explicitly",
			},
			{"one without default", append(batchOf(1), publication("x", "{}", toGroup("g"), withID("x"), structured)), invalid,
				"Invalid parameter: Message Structure - No default entry in JSON message body"},
			{"one too long", []snstypes.PublishBatchRequestEntry{big(1), big(262_145)}, invalid, "Invalid parameter: Message too long"},
		} {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.tryPublishBatch(t, topic, test.entries...)
				refused(t, got, test.code, test.text)
			})
		}
		t.Run("nothing was published", func(t *testing.T) { c.empty(t, queue) })
		t.Run("id of 80", func(t *testing.T) {
			c.publishBatch(t, topic, id(long[:80])...)
			c.publishBatch(t, topic, big(131_072), big(131_071))
		})
	})
}

// TestPublishBatchSubjects checks that an entry may have everything that a publish may have.
func TestPublishBatchSubjects(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.stdTopic(t, nil), c.std(t, nil)
		c.subscribe(t, topic, queue, nil)
		out := c.publishBatch(t, topic,
			publication("a", `{"default":"d","sqs":"for queues"}`, structured, subject("s"), topicText("n", "Number", "1")))
		if number := out.Successful[0].SequenceNumber; number != nil {
			t.Errorf("a standard topic has the sequence number %s", *number)
		}
		got := envelopeOf(t, c.one(t, queue))
		if got.Message != "for queues" || got.Subject != "s" || got.MessageAttributes["n"].Value != "1" || got.SequenceNumber != "" {
			t.Errorf("envelope %+v", got)
		}
	})
}
