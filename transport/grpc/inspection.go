package grpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// inspection implements the service Inspection. Safe for concurrent use.
type inspection struct {
	seriatimpb.UnimplementedInspectionServer
	server *Server
}

// scopes are the names of DeduplicationScope.
var scopes = [deduplication.Scopes]string{
	deduplication.ScopeQueue: "queue", deduplication.ScopeMessageGroup: "messageGroup", deduplication.ScopePartitionKey: "partitionKey",
}

// LookUpDeduplication tells what a queue remembers of an id.
func (i *inspection) LookUpDeduplication(ctx context.Context, in *seriatimpb.LookUpDeduplicationRequest) (*seriatimpb.LookUpDeduplicationResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	out := &seriatimpb.LookUpDeduplicationResponse{}
	err := c.Read(ctx, func(v queue.View) error {
		known, found, refused := v.KnownID(c.queue, queue.DeduplicationID{
			ID: in.GetDeduplicationId(), GroupID: in.GetGroupId(), PartitionKey: in.GetPartitionKey(),
		})
		if refused != nil {
			return refused
		}
		if found {
			out = &seriatimpb.LookUpDeduplicationResponse{
				Known: true, MessageId: known.MessageID.String(), SequenceNumber: known.Sequence.Number(), Scope: scopes[known.Scope],
				AcceptedAtMs: int64(known.AcceptedAt), ForgottenAtMs: int64(known.ForgottenAt), State: known.State,
			}
		}
		return nil
	})
	return out, err
}

// GetDeduplicationStats counts what a queue remembers.
func (i *inspection) GetDeduplicationStats(ctx context.Context, in *seriatimpb.GetDeduplicationStatsRequest) (*seriatimpb.GetDeduplicationStatsResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	var s queue.DeduplicationStats
	err := c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if s, refused = v.DeduplicationStats(c.queue); refused != nil {
			return refused
		}
		return nil
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

// ForgetDeduplication lets an id be sent again.
func (i *inspection) ForgetDeduplication(ctx context.Context, in *seriatimpb.ForgetDeduplicationRequest) (*seriatimpb.ForgetDeduplicationResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	_, err := c.Submit(ctx, &queue.ForgetDeduplication{Queue: c.queue, DeduplicationID: queue.DeduplicationID{
		ID: in.GetDeduplicationId(), GroupID: in.GetGroupId(), PartitionKey: in.GetPartitionKey(),
	}})
	return &seriatimpb.ForgetDeduplicationResponse{}, err
}

// ListGroups lists the message groups that have messages.
func (i *inspection) ListGroups(ctx context.Context, in *seriatimpb.ListGroupsRequest) (*seriatimpb.ListGroupsResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	p, refused := readPage(in.GetPageSize(), in.GetPageToken())
	if refused != nil {
		return nil, c.refuse(ctx, refused)
	}
	var found []queue.GroupInfo
	err := c.Read(ctx, func(v queue.View) error {
		if found, refused = v.Groups(c.queue, in.GetPrefix(), p.after, p.size+1); refused != nil {
			return refused
		}
		return nil
	})
	out := &seriatimpb.ListGroupsResponse{}
	for n := range found {
		if n == p.size {
			out.NextPageToken = pageToken(found[n-1].Name)
			break
		}
		out.Groups = append(out.Groups, wireGroup(&found[n]))
	}
	return out, err
}

// GetGroup describes one message group.
func (i *inspection) GetGroup(ctx context.Context, in *seriatimpb.GetGroupRequest) (*seriatimpb.MessageGroup, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	var found queue.GroupInfo
	err := c.Read(ctx, func(v queue.View) error {
		var refused *queue.Error
		if found, refused = v.Group(c.queue, in.GetGroupId()); refused != nil {
			return refused
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := wireGroup(&found)
	switch {
	case found.State != queue.GroupInFlight && found.State != queue.GroupInSession:
	case c.Scope.Foreign(c.queue):
		out.Explanation += " Which client it is, only callers of the account of the queue are told."
	default:
		c.addHolder(ctx, &found, out)
	}
	return out, nil
}

// addHolder adds the client that holds a group to what is said about it.
func (c *call) addHolder(ctx context.Context, g *queue.GroupInfo, out *seriatimpb.MessageGroup) {
	h, missing := c.server.Node.HolderOf(ctx, c.queue, g)
	switch {
	case h.Address != "":
		key := "without an access key"
		if h.AccessKey != "" {
			key = "with the access key " + h.AccessKey
		}
		out.Holder = &seriatimpb.GroupHolder{Address: h.Address, AccessKey: h.AccessKey, Node: h.Node, SinceMs: int64(h.Since)}
		out.Explanation += fmt.Sprintf(" The receiver is the client at %s, %s; the node %s served it at %s.", h.Address, key, h.Node, clock(h.Since))
	case len(missing) > 0:
		out.Explanation += " Which client the receiver is, is not known: of the nodes that may have served it, these did not tell: " + strings.Join(missing, ", ") + "."
	default:
		out.Explanation += " Which client the receiver is, is not known: the node that served it has restarted, has served many other groups since, or did not get the answer."
	}
}

// groupStates are those of groups.
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
		GroupId: g.Name, Messages: g.Messages, InFlight: g.InFlight, State: groupStates[g.State], UntilMs: int64(g.Until), Explanation: explain(g),
	}
	if g.First.Sequence != 0 {
		out.FirstSequenceNumber, out.FirstMessageId = g.First.Sequence.Number(), g.First.MessageID.String()
		out.FirstSentAtMs, out.FirstReceiveCount = int64(g.First.SentAt), g.First.ReceiveCount
	}
	return out
}

// explain says why the messages of a group are not handed out, or that they are.
func explain(g *queue.GroupInfo) string {
	first, until := fmt.Sprintf("its first message, number %s,", g.First.Sequence), clock(g.Until)
	switch g.State {
	case queue.GroupInSession:
		return fmt.Sprintf("A receiver has locked the group as a session, until %s unless it renews the lock. It has %d of %d messages in flight, "+
			"and nobody else receives from the group. Release the group to take it away.", until, g.InFlight, g.Messages)
	case queue.GroupInFlight:
		return fmt.Sprintf("A receiver has %s since %s (receive number %d), until %s unless it is deleted or extended. "+
			"Nothing behind it is handed out before. Release the group to take it away.", first, clock(g.ReceivedAt), g.First.ReceiveCount, until)
	case queue.GroupDelayed:
		return fmt.Sprintf("DelaySeconds of the queue hides %s until %s.", first, until)
	case queue.GroupDeadLetter:
		return fmt.Sprintf("The next receive moves %s to the dead-letter queue: it was received %d times.", first, g.First.ReceiveCount)
	case queue.GroupAtLimit:
		return "The queue has as many messages in flight as it may. Messages of the group are handed out when some are deleted or visible again."
	case queue.GroupReady:
		return fmt.Sprintf("Nothing holds the group: the next receive can get %s", first) + " unless other groups come first."
	default:
		return "The group has no messages that wait to be received, and nobody holds it. Scheduled and deferred messages are not in their group."
	}
}

// clock is a log time for people.
func clock(at queue.Timestamp) string {
	return time.UnixMilli(int64(at)).UTC().Format(time.RFC3339)
}

// ReleaseGroup ends the hold of a group.
func (i *inspection) ReleaseGroup(ctx context.Context, in *seriatimpb.ReleaseGroupRequest) (*seriatimpb.ReleaseGroupResponse, error) {
	c := callOf(ctx)
	if err := c.on(in.GetQueue()); err != nil {
		return nil, err
	}
	released, err := resultOf[queue.GroupReleased](c.Submit(ctx, &queue.ReleaseGroup{Queue: c.queue, Group: in.GetGroupId()}))
	return &seriatimpb.ReleaseGroupResponse{Messages: released.Messages, Session: released.Session}, err
}
