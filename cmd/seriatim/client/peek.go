package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
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
