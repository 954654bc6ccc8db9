package console

import (
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// dedupPage looks up deduplication ids.
type dedupPage struct {
	queueHead
	Stats    *seriatimpb.GetDeduplicationStatsResponse
	ID       string
	Group    string
	Asked    bool
	Found    *seriatimpb.LookUpDeduplicationResponse
	FirstURL string
}

// Share returns the live ids as a percentage of the cap.
func (d dedupPage) Share() int64 {
	if most := d.Stats.GetEntriesMax(); most > 0 {
		return 100 * d.Stats.GetKept() / most
	}
	return 0
}

func (p *page) queueDeduplication() {
	h, ok := p.queue("dedup")
	if !ok {
		return
	}
	q := p.r.URL.Query()
	data := dedupPage{queueHead: h, ID: q.Get("id"), Group: q.Get("group"), Asked: q.Get("id") != ""}
	if !h.FIFO() {
		p.render("queue-dedup", h.Name, data)
		return
	}
	var err error
	api := p.inspection(h.Name)
	data.Stats, err = api.GetDeduplicationStats(p.r.Context(), &seriatimpb.GetDeduplicationStatsRequest{Queue: p.called(h.Name)})
	if err == nil && data.Asked {
		data.Found, err = api.LookUpDeduplication(p.r.Context(), &seriatimpb.LookUpDeduplicationRequest{
			Queue: p.called(h.Name), DeduplicationId: data.ID, GroupId: data.Group, PartitionKey: data.Group,
		})
		if n := data.Found.GetSequenceNumber(); n != 0 && data.Found.GetState() != "gone" {
			data.FirstURL = messageURL(h.Name, n)
		}
	}
	if err != nil {
		p.fail(err)
		return
	}
	p.render("queue-dedup", h.Name, data)
}

func (p *page) forgetDeduplication() {
	name, id, group := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("id"), p.r.PostFormValue("group")
	to := queueURL(name) + "/dedup"
	if !p.confirmed(id, to) {
		return
	}
	_, err := p.inspection(name).ForgetDeduplication(p.r.Context(), &seriatimpb.ForgetDeduplicationRequest{
		Queue: p.called(name), DeduplicationId: id, GroupId: group, PartitionKey: group,
	})
	words := []string{"dedup", "forget", name, id}
	if group != "" {
		words = append(words, "--group", group)
	}
	p.done(err, to, "The queue no longer remembers the id: the next send with it is accepted.", command(words...))
}
