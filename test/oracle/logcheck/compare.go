package logcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// askedOtherwise compares a call with the command that has its id.
func askedOtherwise(e *history.Event, command queue.Command) string {
	name, ids := "", []string(nil)
	switch c := command.(type) {
	case *queue.SendMessages:
		if e.Action != history.Send && e.Action != history.SendBatch && e.Action != history.Schedule {
			return "a send"
		}
		name = c.Queue
		if text := sentOtherwise(e, c); text != "" {
			return text
		}
	case *queue.ReceiveMessages:
		if e.Action != history.Receive {
			return "a receive"
		}
		name = c.Queue
		if c.AttemptID != e.Attempt {
			return fmt.Sprintf("attempt id %q", c.AttemptID)
		}
		if c.Options != nil && c.Options.Session.Token != e.Session {
			return fmt.Sprintf("session %+v", c.Options.Session)
		}
	case *queue.DeleteMessages:
		if e.Action != history.Delete && e.Action != history.DeleteBatch {
			return "a delete"
		}
		name, ids = c.Queue, c.Handles
		if c.Options != nil && c.Options.Session.Token != e.Session {
			return fmt.Sprintf("session %+v", c.Options.Session)
		}
	case *queue.ChangeMessageVisibility:
		if e.Action != history.Visibility && e.Action != history.VisibilityBatch && e.Action != history.Abandon {
			return "a change of visibility"
		}
		name = c.Queue
		for _, x := range c.Entries {
			ids = append(ids, x.Handle)
		}
	default:
		return extensionAskedOtherwise(e, command)
	}
	if name != e.Queue {
		return "queue " + name
	}
	if want := handles(e); len(want) > 0 && ids != nil && !slices.Equal(want, ids) {
		return fmt.Sprintf("handles %q", ids)
	}
	return ""
}

func handles(e *history.Event) []string {
	if e.Handle != "" {
		return []string{e.Handle}
	}
	var list []string
	for _, x := range e.Entries {
		list = append(list, x.Handle)
	}
	return list
}

// entries returns the messages of a send like entries of a batch.
func entries(e *history.Event) []history.Entry {
	if e.Action != history.SendBatch {
		return []history.Entry{{
			Group: e.Group, Dedup: e.Dedup, Body: e.Body, Extra: e.Extra, Message: e.Message, Sequence: e.Sequence, Error: e.Error,
		}}
	}
	return e.Entries
}

// sentOtherwise allows missing entries: a node refuses some entries of a batch before the log.
func sentOtherwise(e *history.Event, c *queue.SendMessages) string {
	asked := entries(e)
	for i := range c.Entries {
		x := &c.Entries[i]
		if contentless(x) && refusable(e, asked, i) {
			continue
		}
		if !slices.ContainsFunc(asked, func(a history.Entry) bool {
			return a.Body == x.Body && a.Group == x.GroupID && a.Dedup == x.DeduplicationID && a.Extra == extra(x.Attributes) &&
				e.Due == due(x)
		}) {
			return fmt.Sprintf("body %.40q, group %q, deduplication id %q", x.Body, x.GroupID, x.DeduplicationID)
		}
	}
	return ""
}

// contentless reports whether an entry of a batch was refused before the log. The command then
// contains the entry without its contents, so that limits on the whole batch apply.
func contentless(x *queue.SendEntry) bool {
	return x.Body == "" && x.GroupID == "" && x.DeduplicationID == "" && len(x.Attributes) == 0
}

// refusable reports that the answer refuses entry i of the batch, or that the batch has no
// answer.
func refusable(e *history.Event, asked []history.Entry, i int) bool {
	return e.Action == history.SendBatch && i < len(asked) && (asked[i].Error != "" || e.Result != history.OK)
}

// answerDiffers compares the answer of a client with the one in the log. It returns an empty text
// if they are equal.
func answerDiffers(e *history.Event, a applied) string {
	if a.refusal != nil {
		return errorDiffers(e.Error, a.refusal)
	}
	switch r := a.result.(type) {
	case queue.MessagesSent:
		return sendDiffers(e, a.command.(*queue.SendMessages), r)
	case queue.MessagesReceived:
		if e.Error != "" {
			return fmt.Sprintf("the client was told %s, the log says %d messages", e.Error, len(r.Messages))
		}
		return receiveDiffers(e.Messages, r.Messages)
	case queue.EntriesDone:
		return doneDiffers(e, r)
	case queue.Published:
		return publishDiffers(e, r)
	case queue.SessionLocked:
		return lockDiffers(e, r)
	}
	if e.Error != "" {
		return fmt.Sprintf("the client was told %s, the log says it was done", e.Error)
	}
	return ""
}

// errorDiffers compares codes. On the wire a code may have a suffix.
func errorDiffers(reported string, refusal *queue.Error) string {
	switch {
	case refusal == nil && reported != "":
		return fmt.Sprintf("the client was told %s, the log says it was done", reported)
	case refusal != nil && reported == "":
		return "the client was told it was done, the log says " + refusal.Message
	case refusal != nil && strings.TrimSuffix(reported, "Exception") != oracle.CodeName(refusal.Code):
		return fmt.Sprintf("the client was told %s, the log says %s", reported, oracle.Describe(refusal))
	}
	return ""
}

func sendDiffers(e *history.Event, c *queue.SendMessages, r queue.MessagesSent) string {
	if len(r.Entries) != len(c.Entries) {
		return fmt.Sprintf("%d answers to %d messages", len(r.Entries), len(c.Entries))
	}
	asked := entries(e)
	for i := range r.Entries {
		x, got := &c.Entries[i], &r.Entries[i]
		if contentless(x) && refusable(e, asked, i) {
			continue // refused by the node that accepted the batch
		}
		// If two entries of a batch are equal, so are their answers.
		n := slices.IndexFunc(asked, func(a history.Entry) bool { return a.Body == x.Body && a.Dedup == x.DeduplicationID })
		if n < 0 {
			return fmt.Sprintf("a message nobody asked for: %.40q", x.Body)
		}
		reported := asked[n]
		if text := errorDiffers(reported.Error, got.Err); text != "" || got.Err != nil {
			if text != "" {
				return text
			}
			continue
		}
		if reported.Message != got.MessageID.String() || reported.Sequence != got.Sequence.String() {
			return fmt.Sprintf("the client was told message %s, number %s, the log says %s, %s", reported.Message, reported.Sequence,
				got.MessageID, got.Sequence)
		}
	}
	return ""
}

func receiveDiffers(reported []history.Message, r []queue.ReceivedMessage) string {
	if len(reported) != len(r) {
		return fmt.Sprintf("the client was told %d messages, the log says %d", len(reported), len(r))
	}
	for i := range r {
		got := &r[i]
		want := history.Message{
			ID: got.MessageID.String(), Body: got.Body.String(), Group: got.GroupID, Dedup: got.DeduplicationID,
			Sequence: got.Sequence.String(), Handle: got.Handle.String(), Count: int(got.ReceiveCount), Sent: int64(got.SentAt),
			Extra: extra(got.Attributes),
		}
		if reported[i] != want {
			return fmt.Sprintf("message %d: the client was told %+v, the log says %+v", i, shorten(reported[i]), shorten(want))
		}
	}
	return ""
}

// extra returns the text of message attributes.
func extra(attributes []queue.MessageAttribute) string {
	var list []history.Attribute
	for _, a := range attributes {
		list = append(list, history.Attribute{Name: a.Name, Type: a.DataType, Value: a.Value})
	}
	return history.AttributesText(list)
}

func shorten(m history.Message) history.Message {
	if len(m.Body) > 40 {
		m.Body = m.Body[:40] + "..."
	}
	return m
}

func doneDiffers(e *history.Event, r queue.EntriesDone) string {
	if len(e.Entries) == 0 {
		if len(r.Errs) != 1 {
			return fmt.Sprintf("%d answers to one entry", len(r.Errs))
		}
		return errorDiffers(e.Error, r.Errs[0])
	}
	if len(e.Entries) != len(r.Errs) {
		return "" // some were refused before the log
	}
	var texts []string
	for i, x := range e.Entries {
		if text := errorDiffers(x.Error, r.Errs[i]); text != "" {
			texts = append(texts, fmt.Sprintf("entry %d: %s", i, text))
		}
	}
	return strings.Join(texts, "; ")
}
