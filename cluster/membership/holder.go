package membership

import (
	"context"
	"encoding/json"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
)

// Holder is a client that holds a message group, and the node that served it.
type Holder struct {
	holders.Found
	Node string // its name
}

// subjectHolders is the subject of questions about the clients that hold something.
const subjectHolders = "holders"

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
	found, missing := c.HoldersOf(ctx, []holders.Hold{hold})
	if len(found) == 0 {
		return Holder{}, missing
	}
	return found[0], missing
}

// HoldersOf finds the clients of several holds, in the same order. A zero Holder is unknown.
func (c *Coordinator) HoldersOf(ctx context.Context, holds []holders.Hold) (list []Holder, missing []string) {
	answers, missing, err := c.AskAll(ctx, subjectHolders, holds)
	if err != nil {
		return nil, missing
	}
	list = make([]Holder, len(holds))
	for _, a := range answers {
		var found []*holders.Found
		if json.Unmarshal(a.Content, &found) != nil || len(found) != len(holds) {
			missing = append(missing, a.Node)
			continue
		}
		for i, f := range found {
			if f != nil && f.Since >= list[i].Since {
				list[i] = Holder{*f, a.Node}
			}
		}
	}
	return list, missing
}

// findHolders answers a question of HoldersOf.
func (c *Coordinator) findHolders(_ context.Context, query json.RawMessage) (any, error) {
	var holds []holders.Hold
	if err := json.Unmarshal(query, &holds); err != nil {
		return nil, err
	}
	list := make([]*holders.Found, len(holds))
	for i, hold := range holds {
		if found, ok := c.node.Holders.Find(hold); ok {
			list[i] = &found
		}
	}
	return list, nil
}
