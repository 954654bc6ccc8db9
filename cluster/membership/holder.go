package membership

import (
	"context"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
)

// Holder is a client that holds a message group, and the node that served it.
type Holder struct {
	holders.Found
	Node string // its name
}

// holderAsksMax bounds the calls of HolderOf that ask other nodes at the same time.
const holderAsksMax = 2

// HolderOf finds the client that holds a message group of a queue. Each node remembers the
// clients that it served, so this one asks the others if it does not find the client. missing
// names the members without an answer. An empty address means that the client is unknown.
func (c *Coordinator) HolderOf(ctx context.Context, name string, g *queue.GroupInfo) (h Holder, missing []string) {
	hold := holders.Hold{Queue: name, Group: g.Name, Lock: g.Lock}
	if g.Lock == 0 {
		hold.Sequence, hold.ReceivedAt = uint64(g.First.Sequence), g.ReceivedAt
	}
	if found, ok := c.node.Holders.Find(hold); ok {
		return Holder{found, c.node.NodeName}, nil
	}
	select {
	case c.holderAsks <- struct{}{}:
		defer func() { <-c.holderAsks }()
	case <-ctx.Done():
		return Holder{}, nil
	}
	answers := c.askNodes(ctx, c.OtherMembers(), Request{Op: OpHolder, Hold: &hold})
	list := c.memberList()
	for i := range list.Members {
		m := &list.Members[i]
		a, asked := answers[m.NodeID]
		switch {
		case !asked:
		case a.err != nil || a.answer.Verdict != Done: // it is gone, or its program refuses the request
			missing = append(missing, list.label(m))
		case a.answer.Holder != nil && a.answer.Holder.Since >= h.Since:
			h = Holder{*a.answer.Holder, list.label(m)}
		}
	}
	return h, missing
}

// answerHolder answers an OpHolder of another node.
func (c *Coordinator) answerHolder(hold *holders.Hold) Answer {
	answer := answerOf(nil)
	if hold != nil {
		if found, ok := c.node.Holders.Find(*hold); ok {
			answer.Holder = &found
		}
	}
	return answer
}
