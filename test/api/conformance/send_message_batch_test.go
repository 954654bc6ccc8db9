package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

const (
	batchIDText = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long."
	badBatchID  = "AWS.SimpleQueueService.InvalidBatchEntryId"
)

func TestSendMessageBatchSucceeds(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		out := c.sendBatch(t, queue, entry("a", "message", text("k", "String", "x")), entry("b", "test", trace(traced)))
		if len(out.Failed) != 0 || len(out.Successful) != 2 {
			t.Fatalf("%d succeeded, %d failed", len(out.Successful), len(out.Failed))
		}
		first, second := out.Successful[0], out.Successful[1]
		got := []string{
			aws.ToString(first.Id), aws.ToString(first.MD5OfMessageBody), aws.ToString(first.MD5OfMessageAttributes),
			aws.ToString(second.Id), aws.ToString(second.MD5OfMessageBody), aws.ToString(second.MD5OfMessageSystemAttributes),
		}
		want := []string{
			"a", "78e731027d8fd50ed642340b7c9a63b3", "a45daa70926828a2f0a1db3418e6feb4",
			"b", "098f6bcd4621d373cade4e832627b4f6", tracedDigest,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
	})
}

func TestSendMessageBatchRefusals(t *testing.T) {
	var twenty []types.SendMessageBatchRequestEntry
	for i := range 20 {
		twenty = append(twenty, entry(fmt.Sprint(i), "m"))
	}
	half := strings.Repeat("a", 1<<19)
	cases := []struct {
		name       string
		entries    []types.SendMessageBatchRequestEntry
		code, text string
	}{
		{"no entries", nil, "AWS.SimpleQueueService.EmptyBatchRequest",
			"There should be at least one SendMessageBatchRequestEntry in the request."},
		{"20 entries", twenty, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent 20."},
		{"empty id", []types.SendMessageBatchRequestEntry{entry("", "m")}, badBatchID, batchIDText},
		{"id of 81", []types.SendMessageBatchRequestEntry{entry(strings.Repeat("i", 81), "m")}, badBatchID, batchIDText},
		{"id with signs", []types.SendMessageBatchRequestEntry{entry(".!@#", "m")}, badBatchID, batchIDText},
		{"repeated ids", []types.SendMessageBatchRequestEntry{entry("id_1", "m"), entry("id_2", "m"), entry("id_2", "m"),
			entry("id_1", "m")}, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id id_2 repeated."},
		{"too long together", []types.SendMessageBatchRequestEntry{entry("a", half), entry("b", half+"a")},
			"AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."},
		{"one too long", []types.SendMessageBatchRequestEntry{entry("a", half+half+"a")}, "AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.trySendBatch(t, queue, test.entries...)
				refused(t, got, test.code, test.text)
			})
		}
		c.counts(t, queue, 0, 0, 0)
		c.sendBatch(t, queue, entry(strings.Repeat("i", 80), "m"), entry("A-z_9", "m"))
	})
}

func TestSendMessageBatchMaximumMessageSize(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, attrs{"MaximumMessageSize": "2048"})
		out := c.sendBatch(t, queue, entry("a", strings.Repeat("a", 2048)), entry("b", "b"))
		if len(out.Successful) != 2 {
			t.Errorf("%d succeeded, want 2", len(out.Successful))
		}
		c.set(t, queue, attrs{"MaximumMessageSize": "1024"})
		out = c.sendBatch(t, queue, entry("good", "g"), entry("bad", strings.Repeat("a", 1025)))
		want := []types.BatchResultErrorEntry{{
			Id: aws.String("bad"), SenderFault: true, Code: aws.String("InvalidParameterValue"),
			Message: aws.String("One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."),
		}}
		checkFailed(t, want, out.Failed)
		if len(out.Successful) != 1 || aws.ToString(out.Successful[0].Id) != "good" {
			t.Errorf("succeeded: %v", out.Successful)
		}
	})
}

// checkFailed compares failed entries. A nil Message is not compared.
func checkFailed(t *testing.T, want, got []types.BatchResultErrorEntry) {
	t.Helper()
	type flat struct {
		ID, Code, Message string
		SenderFault       bool
	}
	flatten := func(entries []types.BatchResultErrorEntry) []flat {
		var out []flat
		for i, e := range entries {
			f := flat{aws.ToString(e.Id), aws.ToString(e.Code), aws.ToString(e.Message), e.SenderFault}
			if i < len(want) && want[i].Message == nil {
				f.Message = ""
			}
			out = append(out, f)
		}
		return out
	}
	if diff := cmp.Diff(flatten(want), flatten(got)); diff != "" {
		t.Errorf("failed entries (-want +got):\n%s", diff)
	}
}

func TestSendMessageBatchPartlyBad(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.std(t, nil)
		var entries []types.SendMessageBatchRequestEntry
		var want []string
		for i := range 10 {
			body := fmt.Sprint("m", i)
			if i == 4 {
				body = "\x01"
			} else {
				want = append(want, body)
			}
			entries = append(entries, entry(fmt.Sprint("id", i), body))
		}
		out := c.sendBatch(t, queue, entries...)
		checkFailed(t, []types.BatchResultErrorEntry{{Id: aws.String("id4"), SenderFault: true,
			Code: aws.String("InvalidMessageContents")}}, out.Failed)
		if len(out.Successful) != 9 {
			t.Errorf("%d succeeded, want 9", len(out.Successful))
		}
		c.expectSet(t, queue, want...)
	})
}

func TestSendMessageBatchFIFOWholeRequest(t *testing.T) {
	cases := []struct {
		name string
		bad  types.SendMessageBatchRequestEntry
		text string
	}{
		{"without deduplication id", entry("b", "2", group("g")), noDeduplicationText},
		{"without group", entry("b", "2", dedup("2")), "The request must contain the parameter MessageGroupId."},
		{"without both", entry("b", "2"), "The request must contain the parameter MessageGroupId."},
	}
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		for _, test := range cases {
			t.Run(test.name, func(t *testing.T) {
				_, got := c.trySendBatch(t, queue, entry("a", "1", group("g"), dedup("1")), test.bad)
				refused(t, got, "InvalidParameterValue", test.text)
			})
		}
		c.counts(t, queue, 0, 0, 0)
	})
}

func TestSendMessageBatchFIFOOrder(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		queue := c.fifo(t, nil)
		var entries []types.SendMessageBatchRequestEntry
		var want []string
		for i := range 5 {
			want = append(want, fmt.Sprint("m", i))
			entries = append(entries, entry(fmt.Sprint("id", i), fmt.Sprint("m", i), group("g"), dedup(fmt.Sprint(i))))
		}
		out := c.sendBatch(t, queue, entries...)
		last := ""
		for _, e := range out.Successful {
			// All have 20 digits, so they can be compared as texts.
			if number := aws.ToString(e.SequenceNumber); number <= last {
				t.Errorf("sequence number %q after %q", number, last)
			} else {
				last = number
			}
		}
		c.expect(t, queue, want...)
	})
}
