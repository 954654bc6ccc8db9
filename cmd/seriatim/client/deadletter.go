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
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/sqs"
)

func deadLetterCommand(o *options) *cobra.Command {
	return group("dlq", "Look at dead-letter queues, move messages out of them, and purge them",
		"Look at dead-letter queues, move messages out of them, and purge them.\n\n"+
			"A queue gets a dead-letter queue by its RedrivePolicy: seriatim queue update --help shows how.\n"+
			"NAME is the name or URL of a dead-letter queue.",
		deadLetterListCommand(o), deadLetterShowCommand(o), redriveCommand(o), deadLetterPurgeCommand(o), tasksCommand(o), cancelCommand(o))
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
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, _ []string) error {
			found, err := deadLetterQueues(cmd.Context(), n)
			if err != nil {
				return err
			}
			return p.print(map[string]any{"deadLetterQueues": found}, func() table { return deadLetterTable(found) })
		}),
	}
}

// deadLetterQueues lists the targets of the redrive policies of all queues, by name.
func deadLetterQueues(ctx context.Context, n *native.Conn) ([]deadLetterQueue, error) {
	listed, err := listQueues(ctx, n, "")
	if err != nil {
		return nil, err
	}
	queues, err := describeAll(ctx, n, listed.names)
	if err != nil {
		return nil, err
	}
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
		name := lastElement(policy.Target)
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
	id          string
	Handle      string `json:"taskHandle,omitempty"` // of the SQS API, while it runs
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

// moveTasksOf returns the tasks of a dead-letter queue.
func moveTasksOf(ctx context.Context, n *native.Conn, name string) ([]moveTask, error) {
	arn, err := queueARN(ctx, n, name)
	if err != nil {
		return nil, err
	}
	return moveTasks(ctx, n, name, arn)
}

// moveTasks is like moveTasksOf, for a queue whose ARN is known.
func moveTasks(ctx context.Context, n *native.Conn, name, arn string) ([]moveTask, error) {
	list, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) ([]*api.MoveTask, error) { return c.MoveTasks(ctx, name) })
	tasks := make([]moveTask, len(list))
	for i, t := range list {
		tasks[i] = moveTask{
			id: t.GetTaskId(), Status: strings.TrimPrefix(t.GetStatus().String(), "MOVE_TASK_STATUS_"), Source: t.GetSource(),
			Destination: t.GetDestination(), Rate: t.GetMessagesPerSecondMax(), Moved: t.GetMoved(), ToMove: t.GetToMove(),
			Reason: t.GetFailureReason(), StartedAtMs: t.GetStartedAtMs(),
		}
		if tasks[i].Status == taskRunning {
			tasks[i].Handle = sqs.TaskHandle(t.GetTaskId(), arn)
		}
	}
	return tasks, err
}

// queueARN returns the ARN of a queue.
func queueARN(ctx context.Context, n *native.Conn, name string) (string, error) {
	attributes, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
		return c.QueueAttributes(ctx, name, "QueueArn")
	})
	return attributes["QueueArn"], err
}

func tasksCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tasks NAME", Short: "List the last redrives of a dead-letter queue, the newest first", Args: arguments.Exactly("NAME"),
		Example:           "  seriatim dlq tasks jobs-dead\n  seriatim dlq tasks jobs-dead -o json | jq '.tasks[0].moved'",
		ValidArgsFunction: o.completeDeadLetterQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			tasks, err := moveTasksOf(cmd.Context(), n, qualifiedOf(args[0]))
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
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			tasks, err := moveTasksOf(cmd.Context(), n, qualifiedOf(args[0]))
			if err != nil {
				return err
			}
			i := slices.IndexFunc(tasks, func(t moveTask) bool { return t.Status == taskRunning })
			if i < 0 {
				return exit.New(exit.NotFound, fmt.Errorf("no redrive of %s is running", nameOf(args[0])),
					"seriatim dlq tasks NAME lists the last ones")
			}
			moved, err := cancelTask(cmd.Context(), n, qualifiedOf(args[0]), tasks[i].id)
			if err != nil {
				return err
			}
			return p.done(map[string]any{"name": nameOf(args[0]), "cancelled": true, "moved": moved},
				"cancelled; %s", movedText(moved))
		}),
	}
}

// cancelTask ends a task, and returns how many messages it moved.
func cancelTask(ctx context.Context, n *native.Conn, name, id string) (moved int64, err error) {
	return native.Get(ctx, n, func(ctx context.Context, c *api.Client) (int64, error) { return c.CancelMoveTask(ctx, name, id) })
}
