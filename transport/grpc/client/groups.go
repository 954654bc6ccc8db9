package client

import (
	"context"
	"iter"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// GroupState says what the messages of a group wait for.
type GroupState string

// States of message groups.
const (
	GroupEmpty      GroupState = "empty"       // it has no messages and no holder
	GroupReady      GroupState = "ready"       // the next receive can get its first message
	GroupSession    GroupState = "session"     // a receiver has locked it as a session
	GroupInFlight   GroupState = "in-flight"   // its first message is with a receiver
	GroupDelayed    GroupState = "delayed"     // the queue's DelaySeconds hides its first message
	GroupDeadLetter GroupState = "dead-letter" // the next receive moves its first message to the dead-letter queue
	GroupLimit      GroupState = "limit"       // the queue has as many messages in flight as it may
)

// Group is one message group of a FIFO queue.
type Group struct {
	ID          string
	Messages    int64 // without scheduled and deferred ones
	InFlight    int64
	State       GroupState
	Until       time.Time    // when the state ends by itself; zero: never
	First       FirstMessage // zero: there is none
	Explanation string       // why its messages are not handed out, or that they are
	Holder      GroupHolder  // as Client.Group finds it; zero: not known, or there is none
}

// GroupHolder is the client that holds a group.
type GroupHolder struct {
	Address   string // of its connection, with the port
	AccessKey string // id; empty: it used none
	Node      string // that served it
	Since     time.Time
}

// FirstMessage is the message of a group that is handed out before all others.
type FirstMessage struct {
	MessageID      string
	SequenceNumber uint64
	SentAt         time.Time
	ReceiveCount   int64
}

// Groups visits the message groups that have messages and whose ids begin with prefix, by
// id. It stops at an error, which it returns with an empty group.
func (c *Client) Groups(ctx context.Context, queue, prefix string) iter.Seq2[Group, error] {
	return pages(func(token string) (groups []Group, next string, err error) {
		in := &seriatimpb.ListGroupsRequest{Queue: queue, Prefix: prefix, PageToken: token}
		var out *seriatimpb.ListGroupsResponse
		err = c.inspect(ctx, true, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) (err error) {
			out, err = on.ListGroups(ctx, in, o...)
			return err
		})
		for _, g := range out.GetGroups() {
			groups = append(groups, groupOf(g))
		}
		return groups, out.GetNextPageToken(), err
	})
}

// pages visits the entries of a list that is read page by page.
func pages[T any](read func(token string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			page, next, err := read(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}

// Group describes one message group, also one without messages.
func (c *Client) Group(ctx context.Context, queue, id string) (Group, error) {
	var out *seriatimpb.MessageGroup
	err := c.inspect(ctx, true, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) (err error) {
		out, err = on.GetGroup(ctx, &seriatimpb.GetGroupRequest{Queue: queue, GroupId: id}, o...)
		return err
	})
	if err != nil {
		return Group{}, err
	}
	return groupOf(out), nil
}

func groupOf(g *seriatimpb.MessageGroup) Group {
	state := strings.ToLower(strings.TrimPrefix(g.GetState().String(), "GROUP_STATE_"))
	return Group{
		ID: g.GetGroupId(), Messages: g.GetMessages(), InFlight: g.GetInFlight(),
		State: GroupState(strings.ReplaceAll(state, "_", "-")), Until: timeOf(g.GetUntilMs()), Explanation: g.GetExplanation(),
		First: FirstMessage{
			MessageID: g.GetFirstMessageId(), SequenceNumber: g.GetFirstSequenceNumber(),
			SentAt: timeOf(g.GetFirstSentAtMs()), ReceiveCount: g.GetFirstReceiveCount(),
		},
		Holder: GroupHolder{
			Address: g.GetHolder().GetAddress(), AccessKey: g.GetHolder().GetAccessKey(), Node: g.GetHolder().GetNode(), Since: timeOf(g.GetHolder().GetSinceMs()),
		},
	}
}

// ReleasedGroup describes the released messages and locks of a group.
type ReleasedGroup struct {
	Messages int64 // that were in flight
	Session  bool  // a session lock was in force
}

// ReleaseGroup takes a group away from whoever holds it: a session lock ends, and messages
// in flight come back. It is made once: a second attempt could take it from the next
// receiver.
func (c *Client) ReleaseGroup(ctx context.Context, queue, id string) (ReleasedGroup, error) {
	var out *seriatimpb.ReleaseGroupResponse
	err := c.inspect(ctx, false, func(ctx context.Context, on seriatimpb.InspectionClient, o ...grpc.CallOption) (err error) {
		out, err = on.ReleaseGroup(ctx, &seriatimpb.ReleaseGroupRequest{Queue: queue, GroupId: id}, o...)
		return err
	})
	return ReleasedGroup{Messages: out.GetMessages(), Session: out.GetSession()}, err
}
