package membership

import (
	"context"
	"encoding/json"
	"errors"
)

// asksMax bounds the questions of this node to all others at the same time. Further ones wait.
const asksMax = 8

// answerContentMax bounds the content of an answer, which peernet sends as one value.
const answerContentMax = 900 << 10

// Provider answers questions about one subject. The answer is encoded as JSON.
type Provider func(ctx context.Context, query json.RawMessage) (any, error)

// NodeAnswer is the answer of one node to a question.
type NodeAnswer struct {
	NodeID  string
	Node    string // its name, or its id if another member has the same name
	Content json.RawMessage
}

// Provide answers questions of all nodes about a subject, also those of this node. A later call
// for the same subject replaces the provider.
func (c *Coordinator) Provide(subject string, answer Provider) { c.providers.Store(subject, answer) }

// AskAll asks all members about a subject, this node included, and waits for their answers for a
// bounded time. missing names the members without an answer. The error is that of the query or
// of this node's own provider.
func (c *Coordinator) AskAll(ctx context.Context, subject string, query any) (answers []NodeAnswer, missing []string, err error) {
	return c.ask(ctx, subject, query, append([]string{c.node.NodeID}, c.OtherMembers()...))
}

// AskOne asks one member, by its node id or its name.
func (c *Coordinator) AskOne(ctx context.Context, node, subject string, query any) (NodeAnswer, error) {
	target, err := c.memberNamed(node)
	if err != nil {
		return NodeAnswer{}, err
	}
	answers, missing, err := c.ask(ctx, subject, query, []string{target})
	switch {
	case err != nil:
		return NodeAnswer{}, err
	case len(missing) > 0 || len(answers) == 0:
		return NodeAnswer{}, errors.New("node " + node + " does not answer")
	}
	return answers[0], nil
}

// memberNamed returns the id of a member. An empty node is this one.
func (c *Coordinator) memberNamed(node string) (string, error) {
	if node == "" {
		return c.node.NodeID, nil
	}
	list := c.memberList()
	found := ""
	for i := range list.Members {
		m := &list.Members[i]
		if m.NodeID == node {
			return m.NodeID, nil
		}
		if m.Name == node {
			if found != "" {
				return "", refused(RefusedUnknownNode, "use the node id", "several members are called %s", node)
			}
			found = m.NodeID
		}
	}
	if found == "" {
		return "", refused(RefusedUnknownNode, "seriatim cluster status lists the members", "no member is called %s", node)
	}
	return found, nil
}

func (c *Coordinator) ask(ctx context.Context, subject string, query any, nodes []string) (
	answers []NodeAnswer, missing []string, err error,
) {
	text, err := json.Marshal(query)
	if err != nil {
		return nil, nil, err
	}
	list := c.memberList()
	var others []string
	for _, id := range nodes {
		if id != c.node.NodeID {
			others = append(others, id)
			continue
		}
		content, err := c.provide(ctx, subject, text)
		if err != nil {
			return nil, nil, err
		}
		answers = append(answers, NodeAnswer{NodeID: id, Node: c.node.NodeName, Content: content})
	}
	if len(others) == 0 {
		return answers, nil, nil
	}
	select {
	case c.asks <- struct{}{}:
		defer func() { <-c.asks }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	found := c.askNodes(ctx, others, Request{Op: OpAsk, Subject: subject, Query: text})
	for i := range list.Members {
		m := &list.Members[i]
		p, asked := found[m.NodeID]
		switch {
		case m.NodeID == c.node.NodeID && len(answers) > 0:
			answers[0].Node = list.label(m)
		case !asked:
		case p.err != nil || p.answer.Verdict != Done: // it is gone, or its program refuses the subject
			missing = append(missing, list.label(m))
		default:
			answers = append(answers, NodeAnswer{NodeID: m.NodeID, Node: list.label(m), Content: p.answer.Content})
		}
	}
	return answers, missing, nil
}

// provide returns this node's own answer.
func (c *Coordinator) provide(ctx context.Context, subject string, query json.RawMessage) (json.RawMessage, error) {
	provider, known := c.providers.Load(subject)
	if !known {
		return nil, errors.New("this node answers no questions about " + subject)
	}
	value, err := provider.(Provider)(ctx, query)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(value)
	if err == nil && len(content) > answerContentMax {
		err = errors.New("the answer about " + subject + " is too long")
	}
	return content, err
}

// answerAsk answers an OpAsk of another node.
func (c *Coordinator) answerAsk(ctx context.Context, r Request) Answer {
	content, err := c.provide(ctx, r.Subject, r.Query)
	if err != nil {
		return answerOf(refused(RefusedPolicy, "", "%v", err))
	}
	return Answer{Verdict: Done, Content: content}
}
