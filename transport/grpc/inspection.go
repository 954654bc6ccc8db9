package grpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/explain"
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
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (list []explainedGroup, _ *queue.Error) {
		groups, refused := v.Groups(c.queue, in.GetPrefix(), p.after, p.size+1)
		for i := range groups {
			list = append(list, explainGroup(v, c.queue, &groups[i]))
		}
		return list, refused
	})
	found, token := cut(p, found, func(g explainedGroup) string { return g.Name })
	out := &seriatimpb.ListGroupsResponse{NextPageToken: token}
	for n := range found {
		out.Groups = append(out.Groups, wireGroup(&found[n]))
	}
	return out, err
}

// GetGroup describes one message group.
func (i *inspection) GetGroup(ctx context.Context, in *seriatimpb.GetGroupRequest) (*seriatimpb.MessageGroup, error) {
	c := callOf(ctx)
	found, err := service.ReadValue(ctx, &c.Call, func(v queue.View) (explainedGroup, *queue.Error) {
		g, refused := v.Group(c.queue, in.GetGroupId())
		if refused != nil {
			return explainedGroup{}, refused
		}
		return explainGroup(v, c.queue, &g), nil
	})
	if err != nil {
		return nil, err
	}
	out := wireGroup(&found)
	if found.State == queue.GroupInFlight || found.State == queue.GroupInSession {
		holder, text := c.holderOf(ctx, &found.GroupInfo)
		out.Holder = holder
		out.Explanation += " " + text
	}
	return out, nil
}

// holderOf finds the client that holds a group, nil if it is unknown, and describes it.
func (c *call) holderOf(ctx context.Context, g *queue.GroupInfo) (*seriatimpb.GroupHolder, string) {
	if c.Scope.Foreign(c.queue) {
		return nil, "Only callers of the queue's account see the receiver."
	}
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
		holder := &seriatimpb.GroupHolder{
			Address: h.Address, AccessKey: h.AccessKey, Node: h.Node, SinceMs: int64(h.Since), Protocol: h.Protocol, UserAgent: h.UserAgent,
		}
		return holder, fmt.Sprintf("The receiver is the client at %s, %s; the node %s served it at %s.", h.Address, key, h.Node,
			clock(h.Since))
	case len(missing) > 0:
		return nil, "The receiver is unknown, because these nodes did not answer: " + strings.Join(missing, ", ") + "."
	default:
		return nil, "The receiver is unknown: its node has restarted, has served many other groups since, or did not get the answer."
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
	queue.GroupPaused:     seriatimpb.GroupState_GROUP_STATE_PAUSED,
}

// explainedGroup is a group with its explanation, from one state.
type explainedGroup struct {
	queue.GroupInfo
	text string
}

func explainGroup(v queue.View, name string, g *queue.GroupInfo) explainedGroup {
	e := explain.OfGroup(v, name, g)
	return explainedGroup{*g, e.Text()}
}

func wireGroup(g *explainedGroup) *seriatimpb.MessageGroup {
	out := &seriatimpb.MessageGroup{
		GroupId: g.Name, Messages: g.Messages, InFlight: g.InFlight, State: groupStates[g.State], UntilMs: int64(g.Until),
		Explanation: g.text,
	}
	if g.First.Sequence != 0 {
		out.FirstSequenceNumber, out.FirstMessageId = g.First.Sequence.Number(), g.First.MessageID.String()
		out.FirstSentAtMs, out.FirstReceiveCount = int64(g.First.SentAt), g.First.ReceiveCount
	}
	return out
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
