package client

import (
	"context"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// DeduplicationID names a message for deduplication. GroupID and PartitionKey count only if
// they are part of the queue's DeduplicationScope.
type DeduplicationID struct {
	ID           string // with content-based deduplication: the SHA-256 of the body in lower-case hexadecimal digits
	GroupID      string
	PartitionKey string
}

// KnownID describes a deduplication id that a queue remembers.
type KnownID struct {
	MessageID      string // of the first message
	SequenceNumber uint64 // of the first message
	Scope          string // queue, messageGroup or partitionKey
	AcceptedAt     time.Time
	ForgottenAt    time.Time // end of the window
	State          string    // scheduled, stored, or gone: deleted, moved, or enqueued under a new number
}

// LookUpDeduplication finds an id that a queue remembers. known is false if the queue would
// accept a message with the id.
func (c *Client) LookUpDeduplication(ctx context.Context, queue string, id DeduplicationID) (found KnownID, known bool, err error) {
	in := &seriatimpb.LookUpDeduplicationRequest{Queue: queue, DeduplicationId: id.ID, GroupId: id.GroupID, PartitionKey: id.PartitionKey}
	out, err := Call(ctx, c, true, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.LookUpDeduplication, in)
	if err != nil || !out.GetKnown() {
		return KnownID{}, false, err
	}
	return KnownID{
		MessageID: out.GetMessageId(), SequenceNumber: out.GetSequenceNumber(), Scope: out.GetScope(),
		AcceptedAt: timeOf(out.GetAcceptedAtMs()), ForgottenAt: timeOf(out.GetForgottenAtMs()), State: out.GetState(),
	}, true, nil
}

// DeduplicationStats counts what a queue remembers of the messages sent to it.
type DeduplicationStats struct {
	Live       int64            // ids inside their window
	Kept       int64            // ids in memory, also those past their window
	ByScope    map[string]int64 // of Kept
	OldestAt   time.Time        // acceptance of the oldest id in memory; zero: none
	Window     time.Duration
	EntriesMax int64 // the queue's MaxDeduplicationEntries; 0: no cap
	Bytes      int64 // estimated memory
}

// DeduplicationStats counts what a queue remembers.
func (c *Client) DeduplicationStats(ctx context.Context, queue string) (DeduplicationStats, error) {
	in := &seriatimpb.GetDeduplicationStatsRequest{Queue: queue}
	out, err := Call(ctx, c, true, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.GetDeduplicationStats, in)
	if err != nil {
		return DeduplicationStats{}, err
	}
	return DeduplicationStats{
		Live: out.GetLive(), Kept: out.GetKept(), ByScope: out.GetByScope(), OldestAt: timeOf(out.GetOldestAtMs()),
		Window: time.Duration(out.GetWindowSeconds()) * time.Second, EntriesMax: out.GetEntriesMax(), Bytes: out.GetBytes(),
	}, nil
}

// ForgetDeduplication ends the window of an id, so that it can be sent again. It fails with
// DeduplicationIdUnknown if the queue does not remember the id. The call is made once: a
// second attempt could forget a message that was sent in between.
func (c *Client) ForgetDeduplication(ctx context.Context, queue string, id DeduplicationID) error {
	in := &seriatimpb.ForgetDeduplicationRequest{Queue: queue, DeduplicationId: id.ID, GroupId: id.GroupID, PartitionKey: id.PartitionKey}
	_, err := Call(ctx, c, false, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.ForgetDeduplication, in)
	return err
}

// SetDeduplicationWindow sets the deduplication window of a queue, in whole seconds. A
// shorter window frees ids at once; a longer one does not bring back freed ids.
func (c *Client) SetDeduplicationWindow(ctx context.Context, queue string, window time.Duration) error {
	seconds := strconv.FormatInt(int64(window/time.Second), 10)
	return c.SetQueueAttributes(ctx, queue, map[string]string{"DeduplicationWindowSeconds": seconds})
}

// timeOf converts milliseconds since 1970; 0 is the zero time.
func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}
