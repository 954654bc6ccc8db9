package ops

import (
	"context"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// holding finds the clients that hold messages; *cluster.Node is one.
type holding interface {
	HoldersOf(ctx context.Context, holds []holders.Hold) (list []cluster.Holder, missing []string)
}

var _ holding = (*cluster.Node)(nil)

const (
	holdersShownMax = 1000
	// heldScanMax bounds the groups or messages in which one answer looks for held ones.
	heldScanMax = 20_000
	// heldPerRead bounds the groups or messages in one read, because commands wait for it.
	heldPerRead = 200
)

// held is a hold in the state.
type held struct {
	hold  holders.Hold
	shown document.Holding
}

// holders answers GET /v1/holders.
func (a *Admin) holders(w http.ResponseWriter, r *http.Request, node holding) {
	parameters := r.URL.Query()
	limit, ok := a.page(w, parameters, 100, holdersShownMax)
	if !ok {
		return
	}
	name := parameters.Get("queue")
	if name == "" {
		a.fail(w, http.StatusBadRequest, "queue is missing: the name of a queue")
		return
	}
	out := document.HolderList{Queue: name, Holders: []document.Holding{}, Missing: []string{}}
	list, truncated, err := a.heldIn(r.Context(), name, limit)
	if err == nil && len(list) > 0 {
		holds := make([]holders.Hold, len(list))
		for i := range list {
			holds[i] = list[i].hold
		}
		found, missing := node.HoldersOf(r.Context(), holds)
		out.Missing, out.Truncated = listed(missing), truncated
		for i := range list {
			shown := list[i].shown
			if i < len(found) && found[i].Address != "" {
				f := &found[i]
				shown.Node, shown.Address, shown.AccessKey, shown.Protocol, shown.UserAgent, shown.SinceMs =
					f.Node, f.Address, f.AccessKey, f.Protocol, f.UserAgent, int64(f.Since)
			}
			out.Holders = append(out.Holders, shown)
		}
	}
	a.answerRead(w, r, err, out)
}

// heldIn lists what clients hold of a queue: groups and sessions of a FIFO queue, or messages of a
// standard one.
func (a *Admin) heldIn(ctx context.Context, name string, limit int) (list []held, truncated bool, err error) {
	page := heldMessages
	if strings.HasSuffix(name, ".fifo") {
		page = heldGroups
	}
	position, scanned := heldPosition{}, 0
	for more := true; more; {
		_, err = a.Node.Read(ctx, func(v queue.View) error {
			found, n, refused := page(v, name, &position)
			if refused != nil {
				return refused
			}
			list, scanned, more = append(list, found...), scanned+n, n == heldPerRead
			return nil
		})
		if err != nil {
			return nil, false, err
		}
		if len(list) > limit || more && scanned >= heldScanMax {
			return list[:min(limit, len(list))], true, nil
		}
	}
	return list, false, nil
}

// heldPosition is the place after which a page begins.
type heldPosition struct {
	group    string
	sequence queue.SequenceNumber
}

// heldGroups returns the groups of one page that a client holds, and the size of the page.
func heldGroups(v queue.View, name string, after *heldPosition) (list []held, size int, refused *queue.Error) {
	groups, refused := v.Groups(name, "", after.group, heldPerRead)
	if refused != nil {
		return nil, 0, refused
	}
	for i := range groups {
		g := &groups[i]
		after.group = g.Name
		h := held{holders.Hold{Queue: name, Group: g.Name}, document.Holding{Group: g.Name, UntilMs: int64(g.Until)}}
		if g.First.MessageID != (queue.MessageID{}) {
			h.shown.MessageID, h.shown.SequenceNumber = g.First.MessageID.String(), g.First.Sequence.String()
		}
		switch g.State {
		case queue.GroupInSession:
			h.hold.Lock, h.shown.Session = g.Lock, true
		case queue.GroupInFlight:
			h.hold.Sequence, h.hold.ReceivedAt, h.shown.SinceMs = uint64(g.First.Sequence), g.ReceivedAt, int64(g.ReceivedAt)
		default:
			continue
		}
		list = append(list, h)
	}
	return list, len(groups), nil
}

// heldMessages returns the messages of one page that a client holds, and the size of the page.
func heldMessages(v queue.View, name string, after *heldPosition) (list []held, size int, refused *queue.Error) {
	messages, refused := v.Peek(name, after.sequence, "", heldPerRead)
	if refused != nil {
		return nil, 0, refused
	}
	for i := range messages {
		m := &messages[i]
		after.sequence = m.Sequence + 1
		if m.State == "in flight" {
			list = append(list, held{
				holders.Hold{Queue: name, MessageID: m.MessageID[:], Receives: m.ReceiveCount},
				document.Holding{MessageID: m.MessageID.String(), UntilMs: int64(m.VisibleAt)},
			})
		}
	}
	return list, len(messages), nil
}
