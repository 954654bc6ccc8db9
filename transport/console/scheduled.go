package console

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// scheduledRow is a message that a topic publishes later.
type scheduledRow struct {
	ID, Sequence, Group, Preview string
	At                           int64
}

// scheduledShown is the number of scheduled messages that the page of a topic lists.
const scheduledShown = 50

// scheduledOf lists scheduled messages of a topic, none if the caller may not see them.
func (p *page) scheduledOf(topic string) (rows []scheduledRow) {
	out, err := p.topicsAPI(topic).ListScheduledPublishes(p.r.Context(), &seriatimpb.ListScheduledPublishesRequest{
		Topic: p.called(topic), MaxMessages: scheduledShown,
	})
	if err != nil {
		return nil
	}
	for _, m := range out.GetMessages() {
		in := m.GetMessage()
		rows = append(rows, scheduledRow{
			ID: m.GetMessageId(), Sequence: strconv.FormatUint(m.GetSequenceNumber(), 10), Group: in.GetGroupId(), At: in.GetEnqueueAtMs(),
			Preview: line(previewLength, cmp.Or(in.GetMessage(), string(in.GetBodyBytes()), string(in.GetAmqp().GetBody()))),
		})
	}
	return rows
}

func (p *page) cancelScheduled() {
	name, sequence := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("seq")
	if !p.confirmed(sequence, topicURL(name)) {
		return
	}
	number, err := strconv.ParseUint(sequence, 10, 64)
	if err == nil {
		var out *seriatimpb.CancelScheduledPublishesResponse
		out, err = p.topicsAPI(name).CancelScheduledPublishes(p.r.Context(), &seriatimpb.CancelScheduledPublishesRequest{
			Topic: p.called(name), SequenceNumbers: []uint64{number},
		})
		for _, o := range out.GetOutcomes() {
			if f := o.GetFailure(); f != nil {
				err = errors.New(f.GetMessage())
			}
		}
	}
	p.done(err, topicURL(name), "The message is not published.", command("topic", "cancel", name, sequence))
}
