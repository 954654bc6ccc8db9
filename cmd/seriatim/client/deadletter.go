package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

func deadLetterCommand(o *options) *cobra.Command {
	return group("dlq", "Look at dead-letter queues and move messages out of them",
		"Look at dead-letter queues and move messages out of them.\n\n"+
			"A queue gets a dead-letter queue by its RedrivePolicy: seriatim queue update --help shows how.\n"+
			"NAME is the name or URL of a dead-letter queue.",
		deadLetterListCommand(o), redriveCommand(o), tasksCommand(o), cancelCommand(o))
}

// deadLetterQueue is one dead-letter queue in JSON output.
type deadLetterQueue struct {
	Name     string             `json:"name"`
	Missing  bool               `json:"missing"` // the queue does not exist
	Visible  int64              `json:"visible"`
	InFlight int64              `json:"inFlight"`
	Delayed  int64              `json:"delayed"`
	Deferred int64              `json:"deferred"`
	Sources  []deadLetterSource `json:"sources"`
}

// deadLetterSource is a queue whose messages go to a dead-letter queue.
type deadLetterSource struct {
	Name            string `json:"name"`
	MaxReceiveCount int64  `json:"maxReceiveCount"`
}

func deadLetterListCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List dead-letter queues with their counts and sources", Args: arguments.None,
		Long: "List dead-letter queues with their message counts and their source queues. Each source has the number of receives after\n" +
			"which a message moves. A dead-letter queue that does not exist is marked as missing.",
		Example: "  seriatim dlq list\n  seriatim dlq list -o json | jq '.deadLetterQueues[] | select(.visible > 0).name'",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			urls, err := w.listQueues(cmd.Context(), "")
			if err != nil {
				return err
			}
			queues, err := w.describeAll(cmd.Context(), urls)
			if err != nil {
				return err
			}
			found, err := deadLetterQueues(queues)
			if err != nil {
				return err
			}
			return p.print(map[string]any{"deadLetterQueues": found}, func() table { return deadLetterTable(found) })
		}),
	}
}

// deadLetterQueues lists the targets of the redrive policies of all queues, by name.
func deadLetterQueues(queues []queueInfo) ([]deadLetterQueue, error) {
	found := map[string]*deadLetterQueue{}
	for _, q := range queues {
		text := q.Attributes["RedrivePolicy"]
		if text == "" {
			continue
		}
		var policy struct {
			Target string      `json:"deadLetterTargetArn"`
			Max    json.Number `json:"maxReceiveCount"` // a number, or a string with one
		}
		if err := json.Unmarshal([]byte(text), &policy); err != nil {
			return nil, fmt.Errorf("RedrivePolicy of %s: %w", q.Name, err)
		}
		count, err := policy.Max.Int64()
		if err != nil {
			return nil, fmt.Errorf("RedrivePolicy of %s: %w", q.Name, err)
		}
		name := policy.Target[strings.LastIndexByte(policy.Target, ':')+1:]
		if found[name] == nil {
			found[name] = &deadLetterQueue{Name: name, Missing: true}
		}
		found[name].Sources = append(found[name].Sources, deadLetterSource{Name: q.Name, MaxReceiveCount: count})
	}
	for _, q := range queues {
		if d := found[q.Name]; d != nil {
			d.Missing, d.Visible, d.InFlight, d.Delayed, d.Deferred = false, q.Visible, q.InFlight, q.Delayed, q.Deferred
		}
	}
	list := make([]deadLetterQueue, 0, len(found))
	for _, d := range found {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b deadLetterQueue) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func deadLetterTable(list []deadLetterQueue) table {
	t := table{heading: []string{"NAME", "VISIBLE", "IN FLIGHT", "DELAYED", "DEFERRED", "MESSAGES COME FROM"}}
	for _, d := range list {
		sources := make([]string, len(d.Sources))
		for i, s := range d.Sources {
			sources[i] = s.Name + " (after " + plural.Count(s.MaxReceiveCount, "receive", "receives") + ")"
		}
		visible := decimal(d.Visible)
		if d.Missing {
			visible = "missing"
		}
		t.add(d.Name, visible, decimal(d.InFlight), decimal(d.Delayed), decimal(d.Deferred), strings.Join(sources, ", "))
	}
	return t
}

// moveTask is one run of a redrive in JSON output.
type moveTask struct {
	Handle      string `json:"taskHandle,omitempty"` // while it runs
	Status      string `json:"status"`
	Source      string `json:"source"`
	Destination string `json:"destination,omitempty"` // empty: where each message came from
	Rate        int64  `json:"messagesPerSecond,omitempty"`
	Moved       int64  `json:"moved"`
	ToMove      int64  `json:"toMove"` // at the start
	Reason      string `json:"failureReason,omitempty"`
	StartedAtMs int64  `json:"startedAtMs"`
}

const taskRunning = "RUNNING"

// moveTasksMax is the most tasks that the API lists.
const moveTasksMax = 10

func (w *wire) moveTasks(ctx context.Context, arn string) ([]moveTask, error) {
	var out struct {
		Results []struct {
			TaskHandle, Status, SourceArn, DestinationArn, FailureReason string
			MaxNumberOfMessagesPerSecond                                 int64
			ApproximateNumberOfMessagesMoved                             int64
			ApproximateNumberOfMessagesToMove                            int64
			StartedTimestamp                                             int64
		}
	}
	in := map[string]any{"SourceArn": arn, "MaxResults": moveTasksMax}
	if err := w.call(ctx, "ListMessageMoveTasks", in, &out, 0); err != nil {
		return nil, err
	}
	name := func(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }
	tasks := make([]moveTask, len(out.Results))
	for i, t := range out.Results {
		tasks[i] = moveTask{
			Handle: t.TaskHandle, Status: t.Status, Source: name(t.SourceArn), Destination: name(t.DestinationArn),
			Rate: t.MaxNumberOfMessagesPerSecond, Moved: t.ApproximateNumberOfMessagesMoved, ToMove: t.ApproximateNumberOfMessagesToMove,
			Reason: t.FailureReason, StartedAtMs: t.StartedTimestamp,
		}
	}
	return tasks, nil
}

// moveTasksOf returns the tasks of a queue, by its name or URL.
func (w *wire) moveTasksOf(ctx context.Context, name string) ([]moveTask, error) {
	arn, err := w.queueARN(ctx, name)
	if err != nil {
		return nil, err
	}
	return w.moveTasks(ctx, arn)
}

// queueARN returns the ARN of a queue, for the actions of move tasks.
func (w *wire) queueARN(ctx context.Context, name string) (string, error) {
	u, err := w.queueURL(ctx, name)
	if err != nil {
		return "", err
	}
	var out struct{ Attributes map[string]string }
	in := map[string]any{"QueueUrl": u, "AttributeNames": []string{"QueueArn"}}
	err = w.call(ctx, "GetQueueAttributes", in, &out, 0)
	return out.Attributes["QueueArn"], err
}

func tasksCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tasks NAME", Short: "List the last redrives of a dead-letter queue, the newest first", Args: arguments.Exactly("NAME"),
		Example:           "  seriatim dlq tasks jobs-dead\n  seriatim dlq tasks jobs-dead -o json | jq '.tasks[0].moved'",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			tasks, err := w.moveTasksOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return p.print(map[string]any{"tasks": tasks}, func() table { return taskTable(tasks) })
		}),
	}
}

func taskTable(tasks []moveTask) table {
	t := table{heading: []string{"STARTED", "STATUS", "MOVED", "TO MOVE", "RATE", "TO", "REASON"}}
	for _, task := range tasks {
		to, rate := "where they came from", "any"
		if task.Destination != "" {
			to = task.Destination
		}
		if task.Rate != 0 {
			rate = strconv.FormatInt(task.Rate, 10) + "/s"
		}
		t.add(clockTime(decimal(task.StartedAtMs)), task.Status, decimal(task.Moved), decimal(task.ToMove), rate, to, orDash(task.Reason))
	}
	return t
}

func cancelCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "cancel NAME", Short: "End the redrive that runs; moved messages stay moved", Args: arguments.Exactly("NAME"),
		Example:           "  seriatim dlq cancel jobs-dead",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			tasks, err := w.moveTasksOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			i := slices.IndexFunc(tasks, func(t moveTask) bool { return t.Status == taskRunning })
			if i < 0 {
				return exit.New(exit.NotFound, fmt.Errorf("no redrive of %s is running", nameOf(args[0])),
					"seriatim dlq tasks NAME lists the last ones")
			}
			moved, err := w.cancelTask(cmd.Context(), tasks[i].Handle)
			if err != nil {
				return err
			}
			return p.done(map[string]any{"name": nameOf(args[0]), "cancelled": true, "moved": moved},
				"cancelled; %s", movedText(moved))
		}),
	}
}

func (w *wire) cancelTask(ctx context.Context, handle string) (moved int64, err error) {
	var out struct{ ApproximateNumberOfMessagesMoved int64 }
	err = w.call(ctx, "CancelMessageMoveTask", map[string]string{"TaskHandle": handle}, &out, 0)
	return out.ApproximateNumberOfMessagesMoved, err
}
