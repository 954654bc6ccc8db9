package console

import (
	"sort"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// tailPage shows the newest messages of a queue while they arrive.
type tailPage struct {
	queueHead
	Rows   []messageRow
	Bodies bool
}

const (
	tailShown    = 40 // messages of the tail
	tailRead     = 8  // calls for one page
	sequenceBits = 62 // of the largest sequence number
)

// tail shows the newest stored messages, the newest first.
func (p *page) tail() {
	h, ok := p.queue("messages")
	if !ok {
		return
	}
	q := p.r.URL.Query()
	data := tailPage{queueHead: h, Bodies: q.Get("bodies") == "1"}
	p.crumbs = append(p.crumbs, crumb{"Messages", h.URL("/messages")})
	from := p.console.tailStart(h.Name)
	for read := 0; read < tailRead; read++ {
		out, err := p.messagesAPI(h.Name).Peek(p.r.Context(), &seriatimpb.PeekRequest{
			Queue: p.called(h.Name), FromSequenceNumber: from.Number(), MaxMessages: 100,
		})
		if err != nil {
			p.fail(err)
			return
		}
		for _, m := range out.GetMessages() {
			row := messageOf(h.Name, m)
			if !data.Bodies {
				row.Preview, row.Body = "", ""
			}
			data.Rows = append(data.Rows, row)
			data.Rows = data.Rows[max(0, len(data.Rows)-tailShown):]
		}
		next, ok := identifier.SequenceNumberOf(out.GetNextSequenceNumber())
		if !ok || next == 0 {
			break
		}
		from = next
	}
	for i, j := 0, len(data.Rows)-1; i < j; i, j = i+1, j-1 {
		data.Rows[i], data.Rows[j] = data.Rows[j], data.Rows[i]
	}
	p.render("tail", "Live tail", data)
}

// tailStart returns a sequence number from which a queue has about as many messages as a tail shows.
func (c *Console) tailStart(name string) (from queue.SequenceNumber) {
	c.Node.ReadLocal(func(v queue.View) {
		count := func(from uint64, most int) (n int) {
			found, _ := v.Peek(name, queue.SequenceNumber(from), "", most) // a missing queue has none
			return len(found)
		}
		last := uint64(sort.Search(sequenceBits, func(bits int) bool { return count(1<<bits, 1) == 0 }))
		low, high := uint64(0), uint64(1)<<last // the number of the last message is below high
		for low+1 < high {
			middle := low + (high-low)/2
			if count(middle, 1) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
		for window := uint64(tailShown); ; window *= 4 {
			if window >= low {
				from = 0
				return
			}
			if count(low-window, tailShown) >= tailShown {
				from = queue.SequenceNumber(low - window)
				return
			}
		}
	})
	return from
}
