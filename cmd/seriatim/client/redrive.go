package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/sqs"
)

// redrivePoll is the time between two reads of the progress of a redrive.
const redrivePoll = 500 * time.Millisecond

type redriveFlags struct {
	to     string
	rate   int
	detach bool
	report string
	asked  question
}

func redriveCommand(o *options) *cobra.Command {
	f := &redriveFlags{}
	c := &cobra.Command{
		Use: "redrive NAME", Short: "Move the messages of a dead-letter queue back, and wait until it is done",
		Args: arguments.Exactly("NAME"),
		Long: "Move the available messages of a dead-letter queue back to the queues they came from, or to another queue, and wait\n" +
			"until it is done. They arrive as new messages with receive count 0.\n\n" +
			"Ctrl-C cancels the redrive: moved messages stay moved, the others stay in the dead-letter queue. With --detach the\n" +
			"command only starts it; seriatim dlq tasks shows the progress, seriatim dlq cancel ends it.",
		Example: "  seriatim dlq redrive jobs-dead --yes\n  seriatim dlq redrive jobs-dead --to jobs-slow --rate 50\n" +
			"  seriatim dlq redrive jobs-dead --yes --progress json -o json",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return redrive(cmd, n, p, f, args[0])
		}),
	}
	fl := c.Flags()
	fl.StringVar(&f.to, "to", "", "queue to move them to, of the same type (default: where each message came from)")
	names(o.completeQueues).of(c, "to")
	fl.IntVar(&f.rate, "rate", 0, "messages per second, 1 to 500 (default: as fast as possible)")
	fl.BoolVar(&f.detach, "detach", false, "start it and do not wait")
	fl.StringVar(&f.report, "progress", progress.Auto, progress.Help)
	complete(c, "progress", progress.Forms...)
	return f.asked.of(c)
}

func redrive(cmd *cobra.Command, n *native.Conn, p *printer, f *redriveFlags, queue string) error {
	show, err := p.progress(f.report)
	if err != nil {
		return err
	}
	name, destination := qualifiedOf(queue), qualifiedOf(f.to)
	arn, err := queueARN(cmd.Context(), n, name)
	if err != nil {
		return err
	}
	to := "the queues they came from"
	if destination != "" {
		to = nameOf(destination)
		if _, err := queueARN(cmd.Context(), n, destination); err != nil { // asks no question about a missing queue
			return err
		}
	}
	if err := f.asked.ask(cmd, p, fmt.Sprintf("The available messages of %s move to %s.", nameOf(name), to),
		"the name of the dead-letter queue", nameOf(name)); err != nil {
		return err
	}
	var rate *int32
	if cmd.Flags().Changed("rate") {
		rate = number(f.rate)
	}
	id, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (string, error) {
		return c.StartMoveTask(ctx, name, destination, rate)
	})
	if err != nil {
		return err
	}
	if f.detach {
		return p.print(map[string]string{"taskHandle": sqs.TaskHandle(id, arn)}, func() table {
			return table{rows: [][]string{{"started: seriatim dlq tasks " + nameOf(name) + " shows the progress"}}}
		})
	}
	task, err := follow(cmd.Context(), n, name, arn, id, show)
	if err != nil {
		return err
	}
	if err := p.print(task, func() table { return taskTable([]moveTask{task}) }); err != nil {
		return err
	}
	switch {
	case task.Status == "FAILED":
		return exit.New(exit.Failed,
			fmt.Errorf("the redrive failed after %s: %s", plural.Count(task.Moved, "message", "messages"), task.Reason),
			"moved messages stay moved; messages without a recorded source need --to QUEUE")
	case task.Status != "COMPLETED":
		return exit.New(exit.Failed,
			fmt.Errorf("another client cancelled the redrive after %s",
				plural.Count(task.Moved, "message", "messages")), "moved messages stay moved")
	}
	return nil
}

// movedText describes the result of a cancelled redrive.
func movedText(moved int64) string {
	return plural.Count(moved, "message was moved and stays where it is", "messages were moved and stay where they are")
}

// follow reports the progress of a task until it is over. It cancels the task if ctx ends first.
func follow(ctx context.Context, n *native.Conn, name, arn, id string, show *progress.Bar) (moveTask, error) {
	ticks := time.NewTicker(redrivePoll)
	defer ticks.Stop()
	defer show.End()
	for {
		tasks, err := moveTasks(ctx, n, name, arn)
		if ctx.Err() != nil {
			return moveTask{}, abandon(ctx, n, name, id)
		}
		if err != nil {
			return moveTask{}, exit.New(exit.CodeOf(err), fmt.Errorf("the redrive continues, but its progress is unknown: %w", err),
				"seriatim dlq tasks NAME shows the progress")
		}
		i := slices.IndexFunc(tasks, func(t moveTask) bool { return t.id == id })
		if i < 0 {
			return moveTask{}, exit.New(exit.Failed, errors.New("the redrive is not listed any more"),
				"the queue was deleted, or newer redrives replaced it in the list")
		}
		show.Count("moved", tasks[i].Moved, tasks[i].ToMove)
		if tasks[i].Status != taskRunning {
			return tasks[i], nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return moveTask{}, abandon(ctx, n, name, id)
		}
	}
}

// abandon cancels the task of a command that was interrupted.
func abandon(ctx context.Context, n *native.Conn, name, id string) error {
	moved, err := cancelTask(context.WithoutCancel(ctx), n, name, id)
	if err != nil {
		return exit.New(exit.Interrupted, fmt.Errorf("interrupted, and the redrive could not be cancelled: %w", err),
			"seriatim dlq tasks NAME shows whether it still runs")
	}
	return exit.New(exit.Interrupted, fmt.Errorf("interrupted: the redrive was cancelled, %s", movedText(moved)),
		"start it again to move the rest")
}

// findDeadLetterQueue returns the dead-letter queue that has a name, or that is the target of the
// queue of that name.
func findDeadLetterQueue(ctx context.Context, n *native.Conn, name string) (*deadLetterQueue, error) {
	list, err := deadLetterQueues(ctx, n)
	if err != nil {
		return nil, err
	}
	var target *deadLetterQueue
	for i := range list {
		if list[i].Name == nameOf(name) {
			return &list[i], nil
		}
		for _, source := range list[i].Sources {
			if source.Name == nameOf(name) {
				target = &list[i]
			}
		}
	}
	if target == nil {
		return nil, exit.New(exit.NotFound, fmt.Errorf("no RedrivePolicy names the queue %s, and it has none", nameOf(name)),
			"seriatim dlq list shows the dead-letter queues")
	}
	return target, nil
}

// shownLettersMax bounds the messages that dlq show prints.
const shownLettersMax = 10

// deadLetter is a message of a dead-letter queue in JSON output.
type deadLetter struct {
	MessageID   string `json:"messageId"`
	GroupID     string `json:"groupId,omitempty"`
	Source      string `json:"source,omitempty"`
	SentAtMs    int64  `json:"sentAtMs"`
	Receives    int64  `json:"receiveCount"`
	Reason      string `json:"reason,omitempty"`
	Description string `json:"description,omitempty"`
	Body        string `json:"body"`
	Encoding    string `json:"bodyEncoding,omitempty"`
	shown       string // body for people
}

func deadLetterShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show QUEUE", Short: "Show a dead-letter queue: counts, sources, and its first messages with their reasons",
		Args: arguments.Exactly("QUEUE"),
		Long: "Show a dead-letter queue: counts, sources, and its first messages with their reasons. QUEUE is the dead-letter queue, or\n" +
			"a queue whose RedrivePolicy names one.",
		Example:           "  seriatim dlq show jobs\n  seriatim dlq show jobs-dead -o json | jq '.messages[].reason'",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			d, err := findDeadLetterQueue(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			letters := []deadLetter{}
			if !d.Missing {
				if letters, err = deadLetters(cmd.Context(), n, d.Name); err != nil {
					return err
				}
			}
			doc := map[string]any{"deadLetterQueue": d, "messages": letters}
			if !p.format.OfDocument() {
				if err := p.print(nil, func() table { return deadLetterTable([]deadLetterQueue{*d}) }); err != nil {
					return err
				}
				if len(letters) == 0 {
					return nil
				}
				if _, err := fmt.Fprintln(p.out); err != nil {
					return err
				}
			}
			return p.print(doc, func() table {
				t := table{heading: []string{"MESSAGE ID", "FROM", "GROUP", "SENT", "REASON", "BODY"}}
				for _, m := range letters {
					t.add(m.MessageID, orDash(m.Source), orDash(m.GroupID), clockTime(decimal(m.SentAtMs)), m.reason(),
						shortened(m.shown))
				}
				return t
			})
		}),
	}
}

// reason says why the message is here.
func (l *deadLetter) reason() string {
	if l.Reason == "" && l.Source != "" {
		return "received " + plural.Count(int(l.Receives), "time", "times")
	}
	return orDash(l.Reason)
}

// deadLetters returns the first messages of a dead-letter queue.
func deadLetters(ctx context.Context, n *native.Conn, name string) ([]deadLetter, error) {
	found, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) ([]*api.PeekedMessage, error) {
		messages, _, err := c.Peek(ctx, name, 0, shownLettersMax)
		return messages, err
	})
	letters := make([]deadLetter, len(found))
	for i, f := range found {
		m := f.GetMessage()
		letters[i] = deadLetter{
			MessageID: m.GetMessageId(), GroupID: m.GetGroupId(), Source: m.GetDeadLetterSource(), SentAtMs: m.GetSentAtMs(),
			Receives: m.GetReceiveCount(), Reason: m.GetAttributes()["DeadLetterReason"].GetText(),
			Description: m.GetAttributes()["DeadLetterErrorDescription"].GetText(), shown: transfer.Shown(m),
		}
		letters[i].Body, letters[i].Encoding = transfer.Body(m)
	}
	return letters, err
}

func deadLetterPurgeCommand(o *options) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: "purge QUEUE", Short: "Delete all messages of a dead-letter queue", Args: arguments.Exactly("QUEUE"),
		Long: "Delete all messages of a dead-letter queue. QUEUE is the dead-letter queue, or a queue whose RedrivePolicy names one.\n" +
			"The command refuses a queue that no RedrivePolicy names.",
		Example:           "  seriatim dlq purge jobs-dead --dry-run\n  seriatim dlq purge jobs --yes",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			d, err := findDeadLetterQueue(cmd.Context(), n, args[0])
			if err != nil {
				return err
			}
			if d.Missing {
				return exit.New(exit.NotFound, fmt.Errorf("the dead-letter queue %s does not exist", d.Name),
					"create it: seriatim queue create "+d.Name)
			}
			effect := fmt.Sprintf("The dead-letter queue %s loses %s.", d.Name,
				plural.Count(d.Visible+d.InFlight+d.Delayed+d.Deferred, "message", "messages"))
			if err := q.ask(cmd, p, effect, "the name of the dead-letter queue", d.Name); err != nil {
				return err
			}
			return changeQueue(cmd, n, p, d.Name, "purged", (*api.Client).PurgeQueue)
		}),
	}
	return q.of(c)
}
