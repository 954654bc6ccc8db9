package top

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// Source asks the nodes of a cluster.
type Source struct {
	Native  *native.Conn
	Address string // of the cluster, for the title
	// Get reads a document of the admin port.
	Get func(ctx context.Context, path string, query url.Values, out any) error
	// Queues returns the table of seriatim queue list -o wide.
	Queues func(ctx context.Context) (output.Grid, error)
	// Qualified returns the name of a queue for the admin port.
	Qualified func(name string) string

	mu     sync.Mutex
	recent map[string]recentAnswer // by path and query
}

// groupsMax bounds the groups of one page.
const groupsMax = 1000

// ask answers a question with the content of a page.
func (s *Source) ask(ctx context.Context, q question) (content, error) {
	switch q.kind {
	case queuesPage:
		grid, err := s.Queues(ctx)
		return queuesOf(grid), err
	case groupsPage:
		return s.groups(ctx, q)
	case consumersPage:
		list, err := s.connections(ctx)
		return consumersOf(list, time.Now()), err
	case nodesPage:
		list, err := s.members(ctx)
		return nodesOf(list), err
	case queueDetail, groupDetail:
		return s.explain(ctx, q)
	case consumerDetail:
		return s.consumer(ctx, q.subject)
	default:
		return s.node(ctx, q.subject)
	}
}

func (s *Source) groups(ctx context.Context, q question) (content, error) {
	var list []api.Group
	more := false
	err := s.Native.Do(ctx, 0, func(ctx context.Context, c *api.Client) error {
		for g, err := range c.Groups(ctx, q.queue, q.prefix) {
			if err != nil {
				return err
			}
			if more = len(list) == groupsMax; more {
				break
			}
			list = append(list, g)
		}
		return nil
	})
	return groupsOf(list, more, time.Now()), err
}

// connections lists the connections to the client port of all nodes.
func (s *Source) connections(ctx context.Context) (list document.Connections, err error) {
	err = s.Get(ctx, "/v1/connections", url.Values{"port": {"client"}}, &list)
	return list, err
}

// members lists the nodes, without a leader as the asked node sees them.
func (s *Source) members(ctx context.Context) (list cluster.MemberList, err error) {
	const path = "/v1/cluster/members"
	if err = s.Get(ctx, path, nil, &list); err == nil || ctx.Err() != nil {
		return list, err
	}
	if err = s.Get(ctx, path, url.Values{"local": {"true"}}, &list); err == nil && list.LeaderID == "" {
		list.Summary = "No leader. " + list.Summary
	}
	return list, err
}

// explain explains a queue or a group, and adds the clients that hold messages of a queue.
func (s *Source) explain(ctx context.Context, q question) (content, error) {
	in := &api.ExplainRequest{Queue: q.queue}
	if q.kind == groupDetail {
		in.Subject = &api.ExplainGroup{GroupId: q.subject}
	}
	found, err := native.Get(ctx, s.Native, func(ctx context.Context, c *api.Client) (*api.Explanation, error) {
		return c.Explain(ctx, in)
	})
	if err != nil {
		return content{}, err
	}
	now := time.Now()
	c := explanationOf(found, now)
	if q.kind == groupDetail {
		return c, nil
	}
	name := s.Qualified(q.queue)
	c.lines = append(append(c.lines, holdersOf(s.holders(ctx, name), now)...), queueCharts(s.past(ctx, name))...)
	return c, ctx.Err()
}

// consumer describes a connection and the messages that its client holds.
func (s *Source) consumer(ctx context.Context, key string) (content, error) {
	list, err := s.connections(ctx)
	if err != nil {
		return content{}, err
	}
	i := slices.IndexFunc(list.Connections, func(c document.Connection) bool { return connectionKey(&c) == key })
	if i < 0 {
		return content{lines: []line{{text: "The connection has ended."}}}, nil
	}
	of, now := &list.Connections[i], time.Now()
	c := content{lines: connectionLines(of, now)}
	if of.Queue != "" {
		held := slices.Clone(s.holders(ctx, of.Queue)) // of all clients
		held = slices.DeleteFunc(held, func(h document.Holding) bool { return h.Address != of.Address })
		c.lines = append(c.lines, holdersOf(held, now)...)
	}
	return c, ctx.Err()
}

// node describes a node, with the findings about it and its last measurements.
func (s *Source) node(ctx context.Context, id string) (content, error) {
	list, err := s.members(ctx)
	if err != nil {
		return content{}, err
	}
	c := content{lines: nodeLines(&list, id)}
	h := s.past(ctx, "")
	for _, n := range h.Nodes {
		if n.NodeID == id {
			c.lines = append(c.lines, nodeCharts(n.Series, h.StepMs)...)
		}
	}
	return c, ctx.Err()
}

// recentAnswer is an answer of the admin port, and the time at which it was read.
type recentAnswer struct {
	at       time.Time
	document any
}

const (
	// seldomPause is the time between two reads of answers that cost the nodes more than the lists. A
	// history has a new sample as often.
	seldomPause = 10 * time.Second
	recentMax   = 8
)

// seldom reads a document of the admin port, at most once in seldomPause. Without an answer it returns
// an empty one: the rest of the page does not need it, and a user may lack access to the port.
func seldom[T any](ctx context.Context, s *Source, path string, query url.Values) (out T) {
	key := path + "?" + query.Encode()
	s.mu.Lock()
	last, known := s.recent[key]
	s.mu.Unlock()
	if known && time.Since(last.at) < seldomPause {
		return last.document.(T)
	}
	_ = s.Get(ctx, path, query, &out) // such as for a queue that is not used, or a topic
	if ctx.Err() == nil {
		s.mu.Lock()
		if s.recent == nil || len(s.recent) == recentMax {
			s.recent = make(map[string]recentAnswer, recentMax)
		}
		s.recent[key] = recentAnswer{time.Now(), out}
		s.mu.Unlock()
	}
	return out
}

// holders lists the clients that hold messages of a queue.
func (s *Source) holders(ctx context.Context, queue string) []document.Holding {
	return seldom[document.HolderList](ctx, s, "/v1/holders", url.Values{"queue": {queue}}).Holders
}

// past returns the last 15 minutes of a queue, or of the nodes for an empty name.
func (s *Source) past(ctx context.Context, queue string) document.History {
	query := url.Values{"since": {"15m"}}
	if queue != "" {
		query.Set("queue", queue)
	}
	return seldom[document.History](ctx, s, "/v1/history", query)
}
