package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

func peekCommand(o *options) *cobra.Command {
	var from, group string
	var limit int
	c := &cobra.Command{
		Use: "peek QUEUE", Short: "Look at messages in order without receiving them",
		Long: "Look at messages in order without receiving them: nothing changes, and no receive is counted.\n" +
			"The command needs the right to read messages on the admin port, not the right to receive.\n\n" +
			"A table shows the beginning of each body, -o json all of it. If there are more messages, continue with --from and the\n" +
			"value \"next\" of the JSON.",
		Example: "  seriatim msg peek orders.fifo --group customer-9 --limit 5\n" +
			"  seriatim msg peek orders.fifo --from 18446744073709551000 -o json | jq -r '.next // empty'",
		Args:              arguments.Exactly("QUEUE"),
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			if from != "" {
				query.Set("from", from)
			}
			if group != "" {
				query.Set("group", group)
			}
			var document json.RawMessage // JSON output is the server's, with fields that this tool may not know
			if err := w.get(cmd.Context(), "/v1/queues/"+url.PathEscape(w.qualified(args[0]))+"/messages", query, &document); err != nil {
				return noQueue(err)
			}
			return printPeeked(p, document)
		}),
	}
	f := c.Flags()
	f.StringVar(&from, "from", "", "sequence number to begin at")
	f.StringVarP(&group, "group", "g", "", "only this message group")
	f.IntVarP(&limit, "limit", "n", 10, "most messages to show")
	return c
}

// noQueue replaces the error of the admin port for a missing queue with the code and hint of the
// client port.
func noQueue(err error) error {
	e, ok := errors.AsType[*adminError](err)
	if !ok || e.status != http.StatusNotFound {
		return err
	}
	return exit.New(exit.NotFound, fmt.Errorf("QueueDoesNotExist: %w", e), native.QueuesHint)
}

// shownRunesMax bounds the body in a table.
const shownRunesMax = 60

// shortened returns the beginning of a body.
func shortened(body string) string {
	n := 0
	for i := range body {
		if n++; n > shownRunesMax {
			return body[:i] + "..."
		}
	}
	return body
}

func printPeeked(p *printer, text json.RawMessage) error {
	var answer document.Peek
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("unreadable answer: %w", err)
	}
	if answer.Next != "" && p.format.ForPeople() {
		p.say("there are more: continue with --from %s", answer.Next)
	}
	if len(answer.Messages) == 0 && p.format.ForPeople() {
		p.say("no message")
		return nil
	}
	return p.print(text, func() table {
		t := table{heading: []string{"SEQUENCE", "MESSAGE ID", "GROUP", "STATE", "UNTIL", "SENT", "RECEIVES", "BODY"}}
		for _, m := range answer.Messages {
			until := "-"
			if m.State != "visible" {
				until = clockTime(decimal(m.VisibleAtMs))
			}
			t.add(orDash(m.SequenceNumber), m.MessageID, orDash(m.GroupID), m.State, until,
				clockTime(decimal(m.SentAtMs)), decimal(m.ReceiveCount), shortened(transfer.ShownBody(m.Body, m.BodyEncoding)))
		}
		return t
	})
}

// Values of --from.
const (
	fromNow   = "now"
	fromStart = "start"
)

// messageTail follows the messages of a queue.
type messageTail struct {
	start, group, body string
	pairs              []string // of --attribute

	attributes map[string]string
	heading    bool // the heading is printed
}

func messageTailCommand(o *options) *cobra.Command {
	t := &messageTail{}
	c := &cobra.Command{
		Use: "tail QUEUE", Short: "Print the messages of a queue while they arrive, without receiving them",
		Long: "Print the messages of a queue while they arrive, until you press Ctrl-C. The command peeks: the queue does not change,\n" +
			"and no receive is counted. All flags for messages must match.\n\n" +
			"The command looks once a second. It does not print a message that is received and deleted between two looks.\n\n" +
			"The table shows the beginning of each body; -o wide shows all of it, and the attributes. With -o json or jsonl the lines\n" +
			"are those of seriatim msg export.",
		Example: "  seriatim msg tail orders.fifo\n" +
			"  seriatim msg tail orders.fifo --from start --group customer-9 -o wide\n" +
			"  seriatim msg tail jobs --attribute kind=image -o jsonl | jq -r .body",
		Args: arguments.Exactly("QUEUE"), ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if len(o.columns) > 0 || o.sort != "" {
				return exit.New(exit.Usage, errors.New("a tail has no table for --columns and --sort"), "use -o jsonl and another tool")
			}
			err := t.follow(cmd.Context(), n, p, qualifiedOf(args[0]))
			if cmd.Context().Err() != nil {
				return nil //nolint:nilerr // the user ends the command
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&t.start, "from", fromNow, "first messages: now for those that arrive, or start for all that are stored, too")
	f.StringVar(&t.group, "group", "", "message group id")
	f.StringVar(&t.body, "body", "", "text that the body contains")
	f.StringArrayVar(&t.pairs, "attribute", nil, "NAME=VALUE of a message attribute, may be repeated")
	complete(c, "from", fromNow, fromStart)
	return c
}

// follow prints messages until ctx ends or the queue is deleted.
func (t *messageTail) follow(ctx context.Context, n *native.Conn, p *printer, queue string) (err error) {
	if t.attributes, err = flagPairs("attribute", t.pairs); err != nil {
		return err
	}
	from := uint64(0)
	switch t.start {
	case fromStart:
	case fromNow:
		if from, err = endOf(ctx, n, queue); err != nil {
			return err
		}
	default:
		return exit.New(exit.Usage, fmt.Errorf("--from %q is neither now nor start", t.start), "")
	}
	if p.format.ForPeople() {
		p.say("waiting for messages of %s, Ctrl-C ends", nameOf(queue))
	}
	for {
		messages, next, err := peekFrom(ctx, n, queue, from, storedMax)
		if err != nil {
			return err
		}
		for _, m := range messages {
			from = m.GetMessage().GetSequenceNumber() + 1
			if err := t.print(p, m); err != nil {
				return err
			}
		}
		if next != 0 {
			from = next
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// peekFrom reads messages from a sequence number on. next continues them; it is 0 at the end.
func peekFrom(ctx context.Context, n *native.Conn, queue string, from uint64, limit int32) (found []*api.PeekedMessage, next uint64,
	err error,
) {
	err = n.Do(ctx, 0, func(ctx context.Context, c *api.Client) (err error) {
		found, next, err = c.Peek(ctx, queue, from, limit)
		return err
	})
	return found, next, err
}

// sequencesMax is above all sequence numbers. The API takes numbers from 1 on, too.
const sequencesMax = uint64(1) << 62

// endOf returns a number above those of all messages that a queue has now. It needs as many calls as
// the number has bits, twice.
func endOf(ctx context.Context, n *native.Conn, queue string) (uint64, error) {
	has := func(from uint64) (bool, error) {
		found, _, err := peekFrom(ctx, n, queue, from, 1)
		return len(found) > 0, err
	}
	low, high := uint64(0), uint64(1) // a message may be at low or above; none is at high or above after the loop
	for ; high < sequencesMax; low, high = high, high*2 {
		if some, err := has(high); err != nil {
			return 0, err
		} else if !some {
			break
		}
	}
	for low+1 < high {
		middle := low + (high-low)/2
		some, err := has(middle)
		switch {
		case err != nil:
			return 0, err
		case some:
			low = middle
		default:
			high = middle
		}
	}
	return high, nil
}

// matches reports whether a message passes the flags, as in msg find.
func (t *messageTail) matches(m *api.PeekedMessage) bool {
	message := m.GetMessage()
	if t.group != "" && message.GetGroupId() != t.group || !strings.Contains(api.Content(message), t.body) {
		return false
	}
	for name, value := range t.attributes {
		a := message.GetAttributes()[name]
		if a == nil || cmp.Or(a.GetText(), string(a.GetBinary())) != value {
			return false
		}
	}
	return true
}

func (t *messageTail) print(p *printer, m *api.PeekedMessage) error {
	if !t.matches(m) {
		return nil
	}
	r := transfer.RecordOf(m)
	switch p.format.Kind() {
	case output.Table, output.Wide:
		return t.printLine(p, &r, m.GetMessage())
	case output.JSON, output.Lines:
		encoder := json.NewEncoder(p.out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	case output.YAML:
		if _, err := fmt.Fprintln(p.out, "---"); err != nil {
			return err
		}
	}
	return p.print(r, func() table {
		row := table{rows: [][]string{{r.SequenceNumber, r.MessageID, r.GroupID, r.State, clockTime(decimal(r.SentAtMs)), *r.Body}}}
		if !t.heading || p.format.Kind() == output.Name {
			row.heading, t.heading = []string{"SEQUENCE", "MESSAGE ID", "GROUP", "STATE", "SENT", "BODY"}, true
		}
		return row
	})
}

// printLine prints a message for people on one line.
func (t *messageTail) printLine(p *printer, r *transfer.Record, m *api.Delivery) error {
	const columns = "%-20s  %-36s  %-16s  %6s  %9s  %s\n"
	if !t.heading {
		t.heading = true
		if _, err := fmt.Fprintf(p.out, columns, "SEQUENCE", "MESSAGE ID", "GROUP", "AGE", "BYTES", "BODY"); err != nil {
			return err
		}
	}
	body := transfer.Shown(m)
	if p.format.Kind() == output.Wide {
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			body += "  " + name + "=" + attributeText(r.Attributes[name])
		}
	} else {
		body = shortened(body)
	}
	age := max(0, time.Since(time.UnixMilli(r.SentAtMs))).Round(time.Second).String()
	_, err := fmt.Fprintf(p.out, columns, r.SequenceNumber, r.MessageID, output.Harmless(orDash(r.GroupID)), age,
		strconv.Itoa(len(api.Content(m))), output.Harmless(body))
	return err
}

// attributeText returns the value of an attribute for people.
func attributeText(a transfer.Attribute) string {
	if a.Text == nil {
		return strconv.Itoa(len(a.Binary)) + " bytes"
	}
	return strconv.Quote(*a.Text)
}
