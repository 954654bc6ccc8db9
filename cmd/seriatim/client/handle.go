package client

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// batchMax is the most entries that one batch request of the API may have.
const batchMax = 10

func deleteCommand(o *options) *cobra.Command {
	return handleCommand(o, &cobra.Command{
		Use: "delete QUEUE RECEIPT-HANDLE...", Short: "Delete received messages by their receipt handles",
		Example: "  seriatim msg delete orders.fifo 7f6e...",
	}, func(w *wire, cmd *cobra.Command, p *printer, queueURL string, handles []string) error {
		return w.change(cmd, p, queueURL, handles, deletion)
	})
}

func extendCommand(o *options) *cobra.Command {
	var seconds int
	c := handleCommand(o, &cobra.Command{
		Use: "extend QUEUE RECEIPT-HANDLE... --visibility-timeout SECONDS", Short: "Keep received messages hidden for longer",
		Long: "Keep received messages hidden: their visibility timeouts end the given number of seconds from now, but at most\n" +
			"12 hours after they were received.",
		Example: "  seriatim msg extend orders.fifo 7f6e... --visibility-timeout 600",
	}, func(w *wire, cmd *cobra.Command, p *printer, queueURL string, handles []string) error {
		if !cmd.Flags().Changed("visibility-timeout") {
			return exit.New(exit.Usage, fmt.Errorf("--visibility-timeout is missing"),
				"give the seconds from now: --visibility-timeout 600")
		}
		return w.change(cmd, p, queueURL, handles, handleChange{"ChangeMessageVisibilityBatch", &seconds, "extended"})
	})
	c.Flags().IntVar(&seconds, "visibility-timeout", 0, "seconds from now, 0 to 43200")
	return c
}

func releaseCommand(o *options) *cobra.Command {
	return handleCommand(o, &cobra.Command{
		Use: "release QUEUE RECEIPT-HANDLE...", Short: "Make received messages visible again at once",
		Long: "Make received messages visible again: their visibility timeouts end now, and any consumer can receive them. Their\n" +
			"receive counts stay, so a message that is released too often goes to the dead-letter queue if there is one.",
		Example: "  seriatim msg release orders.fifo 7f6e...",
	}, func(w *wire, cmd *cobra.Command, p *printer, queueURL string, handles []string) error {
		return w.change(cmd, p, queueURL, handles, handleChange{"ChangeMessageVisibilityBatch", new(int), "released"})
	})
}

// handleCommand completes a command that changes received messages.
func handleCommand(o *options, c *cobra.Command,
	do func(w *wire, cmd *cobra.Command, p *printer, queueURL string, handles []string) error) *cobra.Command {
	c.Args, c.ValidArgsFunction = arguments.AtLeast("QUEUE", "RECEIPT-HANDLE"), o.completeQueues
	c.RunE = o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
		u, err := w.queueURL(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return do(w, cmd, p, u, args[1:])
	})
	return c
}

// handleChange describes a change of messages by their receipt handles.
type handleChange struct {
	action     string
	visibility *int   // of the entries, nil if they have none
	past       string // for messages, and the key in JSON
}

var deletion = handleChange{"DeleteMessageBatch", nil, "deleted"}

// refusedHandle is a message that was not changed, in JSON output.
type refusedHandle struct {
	ReceiptHandle string `json:"receiptHandle"`
	Code          string `json:"code"`
	Message       string `json:"message"`
}

// change applies a change to every handle and prints the outcome.
func (w *wire) change(cmd *cobra.Command, p *printer, queueURL string, handles []string, c handleChange) error {
	refused, err := w.changeAll(cmd, p, queueURL, handles, c)
	if err != nil {
		return err
	}
	if p.format == formatJSON {
		err = p.print(map[string]any{c.past: len(handles) - len(refused), "refused": refused}, nil)
	}
	return errors.Join(err, p.changed(refused, len(handles), c.past))
}

// changed prints the number of changed messages. It returns an error if some were refused.
func (p *printer) changed(refused []refusedHandle, total int, past string) error {
	if len(refused) > 0 {
		return exit.New(exit.Partial,
			fmt.Errorf("%d of %s %s not %s", len(refused), plural.Count(total, "message", "messages"),
				plural.Form(len(refused), "was", "were"), past), "")
	}
	p.say("%s %d", past, total)
	return nil
}

// changeAll applies a change to every handle in batches. It prints and returns each refusal.
func (w *wire) changeAll(cmd *cobra.Command, p *printer, queueURL string, handles []string, c handleChange) ([]refusedHandle, error) {
	type entry struct {
		ID                string `json:"Id"`
		ReceiptHandle     string
		VisibilityTimeout *int `json:",omitempty"`
	}
	refused, asked := []refusedHandle{}, 0
	for part := range slices.Chunk(handles, batchMax) {
		in := struct {
			QueueURL string `json:"QueueUrl"`
			Entries  []entry
		}{QueueURL: queueURL}
		for i, h := range part {
			in.Entries = append(in.Entries, entry{strconv.Itoa(i), h, c.visibility})
		}
		var out struct {
			Failed []struct {
				ID      string `json:"Id"`
				Code    string
				Message string
			}
		}
		if err := w.call(cmd.Context(), c.action, in, &out, 0); err != nil {
			if asked > 0 {
				p.say("%s %d of %d before an error", c.past, asked-len(refused), len(handles))
			}
			return nil, err
		}
		asked += len(part)
		for _, f := range out.Failed {
			handle := f.ID
			if i, err := strconv.Atoi(f.ID); err == nil && i >= 0 && i < len(part) {
				handle = part[i]
			}
			p.say("not %s: %s: %s: %s", c.past, handle, f.Code, f.Message)
			refused = append(refused, refusedHandle{handle, f.Code, f.Message})
		}
	}
	return refused, nil
}
