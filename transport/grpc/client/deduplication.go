package client

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// DeduplicationID is what a queue compares when a message is sent. GroupID and
// PartitionKey matter only if the queue's DeduplicationScope says so.
type DeduplicationID struct {
	ID           string // made from content: the SHA-256 of the body in lower-case hexadecimal digits
	GroupID      string
	PartitionKey string
}

// KnownID is what a queue remembers of a deduplication id.
type KnownID struct {
	MessageID      string // of the first message
	SequenceNumber uint64 // under which it was accepted
	Scope          string // queue, messageGroup or partitionKey
	AcceptedAt     time.Time
	ForgottenAt    time.Time // from then on the id can be sent again
	State          string    // scheduled, stored, or gone: deleted, moved, or enqueued under a new number
}

// LookUpDeduplication tells what a queue remembers of an id. known is false if a send of
// it would be accepted.
func (c *Client) LookUpDeduplication(ctx context.Context, queue string, id DeduplicationID) (found KnownID, known bool, err error) {
	in := &seriatimpb.LookUpDeduplicationRequest{Queue: queue, DeduplicationId: id.ID, GroupId: id.GroupID, PartitionKey: id.PartitionKey}
	var out *seriatimpb.LookUpDeduplicationResponse
	err = c.inspect(ctx, true, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) (err error) {
		out, err = on.LookUpDeduplication(ctx, in, o...)
		return err
	})
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
	Live       int64            // ids that a send is compared with
	Kept       int64            // and those that are over, but still in memory
	ByScope    map[string]int64 // of Kept
	OldestAt   time.Time        // acceptance of the oldest id in memory; zero: there is none
	Window     time.Duration
	EntriesMax int64 // the queue's MaxDeduplicationEntries; 0: no cap
	Bytes      int64 // estimated memory
}

// DeduplicationStats counts what a queue remembers.
func (c *Client) DeduplicationStats(ctx context.Context, queue string) (DeduplicationStats, error) {
	var out *seriatimpb.GetDeduplicationStatsResponse
	err := c.inspect(ctx, true, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) (err error) {
		out, err = on.GetDeduplicationStats(ctx, &seriatimpb.GetDeduplicationStatsRequest{Queue: queue}, o...)
		return err
	})
	if err != nil {
		return DeduplicationStats{}, err
	}
	return DeduplicationStats{
		Live: out.GetLive(), Kept: out.GetKept(), ByScope: out.GetByScope(), OldestAt: timeOf(out.GetOldestAtMs()),
		Window: time.Duration(out.GetWindowSeconds()) * time.Second, EntriesMax: out.GetEntriesMax(), Bytes: out.GetBytes(),
	}, nil
}

// ForgetDeduplication lets an id be sent again before its window is over. It fails with
// DeduplicationIdUnknown if the queue does not remember the id. It is made once: a
// second attempt could forget a message that was sent in between.
func (c *Client) ForgetDeduplication(ctx context.Context, queue string, id DeduplicationID) error {
	in := &seriatimpb.ForgetDeduplicationRequest{Queue: queue, DeduplicationId: id.ID, GroupId: id.GroupID, PartitionKey: id.PartitionKey}
	return c.inspect(ctx, false, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) error {
		_, err := on.ForgetDeduplication(ctx, in, o...)
		return err
	})
}

// SetDeduplicationWindow changes for how long a queue remembers ids, in whole seconds. A
// shorter window frees ids at once; a longer one does not bring back what was free.
func (c *Client) SetDeduplicationWindow(ctx context.Context, queue string, window time.Duration) error {
	seconds := strconv.FormatInt(int64(window/time.Second), 10)
	return c.SetQueueAttributes(ctx, queue, map[string]string{"DeduplicationWindowSeconds": seconds})
}

// inspect is Call for the service Inspection.
func (c *Client) inspect(ctx context.Context, repeatable bool, call func(context.Context, seriatimpb.InspectionClient, ...grpc.CallOption) error) error {
	return c.CallOn(ctx, repeatable, func(ctx context.Context, on grpc.ClientConnInterface, o ...grpc.CallOption) error {
		return call(ctx, seriatimpb.NewInspectionClient(on), o...)
	})
}

// timeOf is a time of the API, in milliseconds since 1970; 0 is none.
func timeOf(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}
