package grpc

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	transportlimits "github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	// scanMessages and scanBytes bound the messages, and the bytes of their bodies, that one call of
	// FindMessages reads.
	scanMessages = 5000
	scanBytes    = 8 << 20
	// scanStep bounds the messages that are read under one lock of the state.
	scanStep = 500
)

// found is the message of a selector, or the reason why there is none.
type found struct {
	sequence queue.SequenceNumber
	refused  *queue.Error
}

// sequencesOf lists the messages that were found.
func sequencesOf(list []found) (numbers []queue.SequenceNumber) {
	for _, f := range list {
		if f.refused == nil {
			numbers = append(numbers, f.sequence)
		}
	}
	return numbers
}

// resolve finds the messages of selectors. Neither the number of a message nor its id ever changes,
// so the command that follows needs only the number.
func (c *call) resolve(ctx context.Context, selectors []*seriatimpb.MessageSelector) ([]found, error) {
	if n := len(selectors); n == 0 || n > limits.StoredEntriesMax {
		return nil, c.refuse(ctx, refusal.InvalidParameter("Name 1 to ", strconv.Itoa(limits.StoredEntriesMax),
			" messages. You have named ", strconv.Itoa(n), "."))
	}
	out, wanted := make([]found, len(selectors)), map[string][]int{}
	for i, s := range selectors {
		switch {
		case s.GetSequenceNumber() == 0 && s.GetMessageId() == "":
			return nil, c.refuse(ctx, refusal.InvalidParameter("A message needs its sequence_number or its message_id."))
		case s.GetSequenceNumber() == 0:
			wanted[strings.ToLower(s.GetMessageId())] = append(wanted[strings.ToLower(s.GetMessageId())], i)
			out[i].refused = refusal.New(refusal.MessageNotFound, "There is no message with the id ", refusal.Echo(s.GetMessageId()), ".")
		default:
			numbers, err := c.sequences(ctx, []uint64{s.GetSequenceNumber()})
			if err != nil {
				return nil, err
			}
			out[i].sequence = numbers[0]
		}
	}
	if err := c.checkIDs(ctx, selectors, out); err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return out, c.distinct(ctx, out)
	}
	scan := scanner{call: c}
	for len(wanted) > 0 && !scan.ended {
		page, err := scan.next(ctx, scanStep)
		if err != nil {
			return nil, err
		}
		for i := range page {
			id := page[i].MessageID.String()
			for _, at := range wanted[id] {
				out[at] = found{sequence: page[i].Sequence}
			}
			delete(wanted, id)
		}
	}
	return out, c.distinct(ctx, out)
}

// checkIDs compares the ids of selectors that have a number, too.
func (c *call) checkIDs(ctx context.Context, selectors []*seriatimpb.MessageSelector, out []found) error {
	return c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.queue) {
			return refusal.NoSuchQueue()
		}
		for i, s := range selectors {
			if s.GetMessageId() == "" || s.GetSequenceNumber() == 0 {
				continue
			}
			m, refused := v.Stored(c.queue, out[i].sequence)
			if refused == nil && !strings.EqualFold(m.MessageID.String(), s.GetMessageId()) {
				refused = refusal.New(refusal.MessageNotFound, "The message with the sequence number ", out[i].sequence.String(),
					" has another id.")
			}
			out[i].refused = refused
		}
		return nil
	})
}

// distinct refuses selectors of the same message.
func (c *call) distinct(ctx context.Context, list []found) error {
	numbers := sequencesOf(list)
	slices.Sort(numbers)
	if len(slices.Compact(slices.Clone(numbers))) != len(numbers) {
		return c.refuse(ctx, refusal.InvalidParameter("Two selectors name the same message."))
	}
	return nil
}

// scanner reads the messages of a queue by sequence number, a step at a time. The first step reads a
// state with all acknowledged changes, and the others at least this state.
type scanner struct {
	call   *call
	from   queue.SequenceNumber
	group  string // of a FIFO queue, empty: all
	bodies message.Reader
	begun  bool
	ended  bool
}

// next returns the next messages, at most limit.
func (s *scanner) next(ctx context.Context, limit int) (page []queue.PeekedMessage, err error) {
	read := func(v queue.View) error {
		var refused *queue.Error
		s.bodies = v.Bodies()
		if page, refused = v.Peek(s.call.queue, s.from, s.group, limit+1); refused != nil {
			return refused
		}
		return nil
	}
	if !s.begun {
		s.begun = true
		err = s.call.Read(ctx, read)
	} else if err = ctx.Err(); err == nil {
		s.call.server.Node.ReadLocal(func(v queue.View) { err = read(v) })
	}
	if err != nil {
		return nil, err
	}
	if s.ended = len(page) <= limit; !s.ended {
		s.from = page[limit].Sequence
		page = page[:limit]
	}
	return page, nil
}

// FindMessages returns stored messages that match a filter.
func (o *operations) FindMessages(ctx context.Context, in *seriatimpb.FindMessagesRequest) (*seriatimpb.FindMessagesResponse, error) {
	c := callOf(ctx)
	size := int(in.GetPageSize())
	if size == 0 {
		size = peekDefault
	}
	if size < 1 || size > peekMax {
		return nil, c.refuse(ctx, refusal.InvalidValue(strconv.Itoa(size), "page_size", "Must be between 1 and 100, if provided."))
	}
	after, ok := service.ReadPageToken(in.GetPageToken())
	from, err := strconv.ParseUint(after, 10, 64)
	if !ok || err != nil && after != "" {
		return nil, c.refuse(ctx, badPageToken(in.GetPageToken()))
	}
	f := &finding{call: c, filter: in.GetFilter(), size: size}
	f.scan = scanner{call: c, from: queue.SequenceNumber(from)}
	if strings.HasSuffix(c.queue, ".fifo") {
		f.scan.group = in.GetFilter().GetGroupId()
	}
	out, err := f.run(ctx)
	if err != nil {
		return nil, err
	}
	if f.bytes > transportlimits.FreeBytes {
		if err := c.in.account.acquire(ctx, f.bytes); err != nil {
			return nil, errBudget
		}
	}
	return out, nil
}

// finding is one call of FindMessages.
type finding struct {
	call   *call
	filter *seriatimpb.MessageFilter
	size   int
	scan   scanner
	read   int64 // bytes of bodies that were read
	bytes  int64 // of the answer
}

// run scans until a page is full, a bound is reached or the queue ends.
func (f *finding) run(ctx context.Context) (*seriatimpb.FindMessagesResponse, error) {
	out := &seriatimpb.FindMessagesResponse{}
	stopAt := func(m *queue.PeekedMessage) {
		out.NextPageToken = service.PageToken(strconv.FormatUint(uint64(m.Sequence), 10))
	}
	for !f.scan.ended {
		page, err := f.scan.next(ctx, scanStep)
		if err != nil {
			return nil, err
		}
		for i := range page {
			m := &page[i]
			if len(out.Messages) == f.size || out.Scanned == scanMessages || f.read > scanBytes {
				stopAt(m)
				return out, nil
			}
			matches, err := f.matches(m)
			if err != nil {
				return nil, err
			}
			if matches {
				one, size := wireMessages([]queue.ReceivedMessage{m.ReceivedMessage})
				if f.bytes += size; f.bytes > peekBytes && len(out.Messages) > 0 {
					stopAt(m)
					return out, nil
				}
				out.Messages = append(out.Messages, &seriatimpb.PeekedMessage{
					Message: one[0], State: states[m.State], VisibleAtMs: int64(m.VisibleAt),
				})
			}
			out.Scanned++
		}
	}
	return out, nil
}

// matches reports whether a message passes the filter. It reads the body of one that passes all
// other conditions.
func (f *finding) matches(m *queue.PeekedMessage) (bool, error) {
	want := f.filter
	if want.GetGroupId() != "" && m.GroupID != want.GetGroupId() ||
		want.GetMessageId() != "" && !strings.EqualFold(m.MessageID.String(), want.GetMessageId()) ||
		want.GetDeduplicationId() != "" && m.DeduplicationID != want.GetDeduplicationId() ||
		want.GetSentBeforeMs() != 0 && int64(m.SentAt) >= want.GetSentBeforeMs() ||
		want.GetSentAfterMs() != 0 && int64(m.SentAt) <= want.GetSentAfterMs() ||
		len(want.GetStates()) > 0 && !slices.Contains(want.GetStates(), states[m.State]) {
		return false, nil
	}
	content := rendition.Message{Attributes: m.Attributes, Encoded: m.Encoded}
	attributes := content.All()
	for name, value := range want.GetAttributes() {
		if !slices.ContainsFunc(attributes, func(a queue.MessageAttribute) bool { return a.Name == name && a.Value == value }) {
			return false, nil
		}
	}
	body, err := f.scan.bodies.Read(m.Body)
	if err != nil {
		return false, fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
	}
	m.Body = body
	f.read += int64(body.Len())
	content.Body = body.String()
	payload, _ := content.Payload()
	return strings.Contains(payload, want.GetBodyContains()), nil
}
