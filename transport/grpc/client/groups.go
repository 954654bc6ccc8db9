package client

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// GroupState says why the messages of a group wait.
type GroupState string

// States of message groups.
const (
	GroupEmpty      GroupState = "empty"       // it has no messages and no holder
	GroupReady      GroupState = "ready"       // the next receive can get its first message
	GroupSession    GroupState = "session"     // a receiver has locked it as a session
	GroupInFlight   GroupState = "in-flight"   // its first message is with a receiver
	GroupDelayed    GroupState = "delayed"     // the queue's DelaySeconds hides its first message
	GroupDeadLetter GroupState = "dead-letter" // the next receive moves its first message to the dead-letter queue
	GroupPaused     GroupState = "paused"      // deliveries of the queue are paused
	GroupLimit      GroupState = "limit"       // the queue has as many messages in flight as it may
)

// Group is one message group of a FIFO queue.
type Group struct {
	ID          string
	Messages    int64 // without scheduled and deferred ones
	InFlight    int64
	State       GroupState
	Until       time.Time    // end of the state unless something else ends it; zero: none
	First       FirstMessage // zero: there is none
	Explanation string       // the state in words
	Holder      GroupHolder  // set by Client.Group; zero: none is known
}

// GroupHolder is the client that holds a group.
type GroupHolder struct {
	Address   string // of its connection, with the port
	AccessKey string // id; empty: it used none
	Node      string // the node that served it
	Since     time.Time
	Protocol  string // of the request: json, query or grpc
	UserAgent string // as the client names itself; empty: it does not
}

// FirstMessage is the message that the group delivers next.
type FirstMessage struct {
	MessageID      string
	SequenceNumber uint64
	SentAt         time.Time
	ReceiveCount   int64
}

// Groups lists the message groups with messages whose ids begin with prefix, sorted by id.
// It ends with the first error, which comes with an empty group.
func (c *Client) Groups(ctx context.Context, queue, prefix string) iter.Seq2[Group, error] {
	return pages(func(token string) (groups []Group, next string, err error) {
		in := &seriatimpb.ListGroupsRequest{Queue: queue, Prefix: prefix, PageToken: token}
		out, err := Call(ctx, c, true, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.ListGroups, in)
		for _, g := range out.GetGroups() {
			groups = append(groups, groupOf(g))
		}
		return groups, out.GetNextPageToken(), err
	})
}

// pages lists the entries of all pages.
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

// collect reads all pages of a list.
func collect[T any](read func(token string) (page []T, next string, err error)) (all []T, err error) {
	for entry, err := range pages(read) {
		if err != nil {
			return all, err
		}
		all = append(all, entry)
	}
	return all, nil
}

// Group describes one message group, also one without messages.
func (c *Client) Group(ctx context.Context, queue, id string) (Group, error) {
	in := &seriatimpb.GetGroupRequest{Queue: queue, GroupId: id}
	out, err := Call(ctx, c, true, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.GetGroup, in)
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
			Address: g.GetHolder().GetAddress(), AccessKey: g.GetHolder().GetAccessKey(), Node: g.GetHolder().GetNode(),
			Since: timeOf(g.GetHolder().GetSinceMs()), Protocol: g.GetHolder().GetProtocol(), UserAgent: g.GetHolder().GetUserAgent(),
		},
	}
}

// ReleasedGroup describes the released messages and locks of a group.
type ReleasedGroup struct {
	Messages int64 // that were in flight
	Session  bool  // the group was locked
}

// ReleaseGroup ends the session lock of a group, and makes its messages in flight visible.
// The call is made once: a second attempt could release the group from its next receiver.
func (c *Client) ReleaseGroup(ctx context.Context, queue, id string) (ReleasedGroup, error) {
	in := &seriatimpb.ReleaseGroupRequest{Queue: queue, GroupId: id}
	out, err := Call(ctx, c, false, seriatimpb.NewInspectionClient, seriatimpb.InspectionClient.ReleaseGroup, in)
	return ReleasedGroup{Messages: out.GetMessages(), Session: out.GetSession()}, err
}
