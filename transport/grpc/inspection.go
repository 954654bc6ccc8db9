package grpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// inspection implements the service Inspection. Safe for concurrent use.
type inspection struct {
	seriatimpb.UnimplementedInspectionServer
	server *Server
}

// scopes has the values of the attribute DeduplicationScope.
var scopes = [deduplication.Scopes]string{
	deduplication.ScopeQueue: "queue", deduplication.ScopeMessageGroup: "messageGroup", deduplication.ScopePartitionKey: "partitionKey",
}

// LookUpDeduplication finds an id that a queue remembers.
func (i *inspection) LookUpDeduplication(ctx context.Context,
	in *seriatimpb.LookUpDeduplicationRequest) (*seriatimpb.LookUpDeduplicationResponse, error) {
	c := callOf(ctx)
	return service.ReadValue(ctx, &c.Call, func(v queue.View) (*seriatimpb.LookUpDeduplicationResponse, *queue.Error) {
		known, found, refused := v.KnownID(c.queue, queue.DeduplicationID{
			ID: in.GetDeduplicationId(), GroupID: in.GetGroupId(), PartitionKey: in.GetPartitionKey(),
		})
		if !found {
			return &seriatimpb.LookUpDeduplicationResponse{}, refused
		}
		return &seriatimpb.LookUpDeduplicationResponse{
			Known: true, MessageId: known.MessageID.String(), SequenceNumber: known.Sequence.Number(), Scope: scopes[known.Scope],
			AcceptedAtMs: int64(known.AcceptedAt), ForgottenAtMs: int64(known.ForgottenAt), State: known.State,
		}, refused
	})
}

// GetDeduplicationStats counts the ids that a queue remembers.
func (i *inspection) GetDeduplicationStats(ctx context.Context,
	in *seriatimpb.GetDeduplicationStatsRequest) (*seriatimpb.GetDeduplicationStatsResponse, error) {
	c := callOf(ctx)
	s, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (queue.DeduplicationStats, *queue.Error) {
		return v.DeduplicationStats(c.queue)
	})
	out := &seriatimpb.GetDeduplicationStatsResponse{
		Live: s.Live, Kept: s.Kept, ByScope: make(map[string]int64), OldestAtMs: int64(s.OldestAt),
		WindowSeconds: s.WindowSeconds, EntriesMax: s.EntriesMax, Bytes: s.Bytes,
	}
	for scope, n := range s.ByScope {
		if n > 0 {
			out.ByScope[scopes[scope]] = n
		}
	}
	return out, err
}

// ForgetDeduplication ends the window of an id.
func (i *inspection) ForgetDeduplication(ctx context.Context,
	in *seriatimpb.ForgetDeduplicationRequest) (*seriatimpb.ForgetDeduplicationResponse, error) {
	c := callOf(ctx)
	_, err := c.Submit(ctx, &queue.ForgetDeduplication{Queue: c.queue, DeduplicationID: queue.DeduplicationID{
		ID: in.GetDeduplicationId(), GroupID: in.GetGroupId(), PartitionKey: in.GetPartitionKey(),
	}})
	return &seriatimpb.ForgetDeduplicationResponse{}, err
}

// ListGroups lists the message groups that have messages.
func (i *inspection) ListGroups(ctx context.Context, in *seriatimpb.ListGroupsRequest) (*seriatimpb.ListGroupsResponse, error) {
	c := callOf(ctx)
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.GroupInfo, *queue.Error) {
		return v.Groups(c.queue, in.GetPrefix(), p.after, p.size+1)
	})
	found, token := cut(p, found, func(g queue.GroupInfo) string { return g.Name })
	out := &seriatimpb.ListGroupsResponse{NextPageToken: token}
	for n := range found {
		out.Groups = append(out.Groups, wireGroup(&found[n]))
	}
	return out, err
}

// GetGroup describes one message group.
func (i *inspection) GetGroup(ctx context.Context, in *seriatimpb.GetGroupRequest) (*seriatimpb.MessageGroup, error) {
	c := callOf(ctx)
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (queue.GroupInfo, *queue.Error) {
		return v.Group(c.queue, in.GetGroupId())
	})
	if err != nil {
		return nil, err
	}
	out := wireGroup(&found)
	switch {
	case found.State != queue.GroupInFlight && found.State != queue.GroupInSession:
	case c.Scope.Foreign(c.queue):
		out.Explanation += " Only callers of the queue's account see the receiver."
	default:
		c.addHolder(ctx, &found, out)
	}
	return out, nil
}

// addHolder adds the client that holds a group.
func (c *call) addHolder(ctx context.Context, g *queue.GroupInfo, out *seriatimpb.MessageGroup) {
	h, missing := c.server.Node.HolderOf(ctx, c.queue, g)
	switch {
	case h.Address != "":
		key := "without an access key"
		if h.AccessKey != "" {
			key = "with the access key " + h.AccessKey
		}
		if h.UserAgent != "" {
			key += fmt.Sprintf(", user agent %q", h.UserAgent)
		}
		out.Holder = &seriatimpb.GroupHolder{
			Address: h.Address, AccessKey: h.AccessKey, Node: h.Node, SinceMs: int64(h.Since), Protocol: h.Protocol, UserAgent: h.UserAgent,
		}
		out.Explanation += fmt.Sprintf(" The receiver is the client at %s, %s; the node %s served it at %s.", h.Address, key, h.Node,
			clock(h.Since))
	case len(missing) > 0:
		out.Explanation += " The receiver is unknown, because these nodes did not answer: " + strings.Join(missing, ", ") + "."
	default:
		out.Explanation += " The receiver is unknown: its node has restarted, has served many other groups since, or did not get the " +
			"answer."
	}
}

var groupStates = map[queue.GroupState]seriatimpb.GroupState{
	queue.GroupEmpty:      seriatimpb.GroupState_GROUP_STATE_EMPTY,
	queue.GroupReady:      seriatimpb.GroupState_GROUP_STATE_READY,
	queue.GroupInSession:  seriatimpb.GroupState_GROUP_STATE_SESSION,
	queue.GroupInFlight:   seriatimpb.GroupState_GROUP_STATE_IN_FLIGHT,
	queue.GroupDelayed:    seriatimpb.GroupState_GROUP_STATE_DELAYED,
	queue.GroupDeadLetter: seriatimpb.GroupState_GROUP_STATE_DEAD_LETTER,
	queue.GroupAtLimit:    seriatimpb.GroupState_GROUP_STATE_LIMIT,
}

func wireGroup(g *queue.GroupInfo) *seriatimpb.MessageGroup {
	out := &seriatimpb.MessageGroup{
		GroupId: g.Name, Messages: g.Messages, InFlight: g.InFlight, State: groupStates[g.State], UntilMs: int64(g.Until),
		Explanation: explain(g),
	}
	if g.First.Sequence != 0 {
		out.FirstSequenceNumber, out.FirstMessageId = g.First.Sequence.Number(), g.First.MessageID.String()
		out.FirstSentAtMs, out.FirstReceiveCount = int64(g.First.SentAt), g.First.ReceiveCount
	}
	return out
}

// explain describes the state of a group in a sentence.
func explain(g *queue.GroupInfo) string {
	first, until := fmt.Sprintf("its first message, number %s,", g.First.Sequence), clock(g.Until)
	switch g.State {
	case queue.GroupInSession:
		return fmt.Sprintf("A receiver has locked the group as a session, until %s unless it renews the lock. It has %d of %d messages "+
			"in flight, "+
			"and no other client receives from the group. Release the group to end the lock.", until, g.InFlight, g.Messages)
	case queue.GroupInFlight:
		return fmt.Sprintf("A receiver has %s since %s (receive number %d), until %s unless it is deleted or extended. "+
			"Later messages of the group wait for it. Release the group to make it visible.", first, clock(g.ReceivedAt),
			g.First.ReceiveCount, until)
	case queue.GroupDelayed:
		return fmt.Sprintf("DelaySeconds of the queue hides %s until %s.", first, until)
	case queue.GroupDeadLetter:
		return fmt.Sprintf("The next receive moves %s to the dead-letter queue: it was received %d times.", first, g.First.ReceiveCount)
	case queue.GroupAtLimit:
		return "The queue has reached its limit of messages in flight. Messages of the group are delivered when others are deleted or " +
			"become visible."
	case queue.GroupReady:
		return fmt.Sprintf("Nothing holds the group: the next receive can get %s", first) + " unless other groups come first."
	default:
		return "The group has no messages to receive and no receiver. Scheduled and deferred messages are not part of their group."
	}
}

// clock formats a log time.
func clock(at queue.Timestamp) string {
	return time.UnixMilli(int64(at)).UTC().Format(time.RFC3339)
}

// ReleaseGroup ends the session lock of a group, and makes its messages in flight visible.
func (i *inspection) ReleaseGroup(ctx context.Context, in *seriatimpb.ReleaseGroupRequest) (*seriatimpb.ReleaseGroupResponse, error) {
	c := callOf(ctx)
	released, err := service.Submit[queue.GroupReleased](ctx, &c.Call, &queue.ReleaseGroup{Queue: c.queue, Group: in.GetGroupId()})
	return &seriatimpb.ReleaseGroupResponse{Messages: released.Messages, Session: released.Session}, err
}
