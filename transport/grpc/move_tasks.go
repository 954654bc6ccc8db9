package grpc

import (
	"context"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// onSource says that the call is about the dead-letter queue whose messages move.
func (c *call) onSource(name string) error {
	if name == "" {
		return refusal.MissingParameter("source")
	}
	if len(account.PlainName(name)) > limits.QueueNameLengthMax {
		return refusal.NoSuchResource("source")
	}
	return c.on(name)
}

// StartMoveTask starts to move messages out of a dead-letter queue.
func (q *queues) StartMoveTask(ctx context.Context, in *seriatimpb.StartMoveTaskRequest) (*seriatimpb.StartMoveTaskResponse, error) {
	c := callOf(ctx)
	if err := c.onSource(in.GetSource()); err != nil {
		return nil, err
	}
	destination := in.GetDestination()
	if len(account.PlainName(destination)) > limits.QueueNameLengthMax {
		return nil, refusal.NoSuchResource("destination")
	}
	if destination != "" {
		destination = c.qualify(destination)
	}
	started, err := resultOf[queue.MoveTaskStarted](c.Submit(ctx, &queue.StartMoveTask{
		Source: c.queue, Destination: destination, MaxPerSecond: domainInt(in.MessagesPerSecondMax),
	}))
	return &seriatimpb.StartMoveTaskResponse{TaskId: started.TaskID}, err
}

// CancelMoveTask stops a running move task; what was moved stays moved.
func (q *queues) CancelMoveTask(ctx context.Context, in *seriatimpb.CancelMoveTaskRequest) (*seriatimpb.CancelMoveTaskResponse, error) {
	c := callOf(ctx)
	if err := c.onSource(in.GetSource()); err != nil {
		return nil, err
	}
	if in.GetTaskId() == "" {
		return nil, refusal.MissingParameter("task_id")
	}
	cancelled, err := resultOf[queue.MoveTaskCancelled](c.Submit(ctx, &queue.CancelMoveTask{TaskID: in.GetTaskId(), Source: c.queue}))
	return &seriatimpb.CancelMoveTaskResponse{Moved: cancelled.Moved}, err
}

// ListMoveTasks lists the newest move tasks of a dead-letter queue.
func (q *queues) ListMoveTasks(ctx context.Context, in *seriatimpb.ListMoveTasksRequest) (*seriatimpb.ListMoveTasksResponse, error) {
	c := callOf(ctx)
	if err := c.onSource(in.GetSource()); err != nil {
		return nil, err
	}
	limit := max(int(in.GetMaxResults()), 1)
	if in.GetMaxResults() < 0 {
		limit = 0
	}
	out := &seriatimpb.ListMoveTasksResponse{}
	err := c.Read(ctx, func(v queue.View) error {
		if !v.QueueExists(c.queue) {
			return refusal.NoSuchResource("source")
		}
		if limit < 1 || limit > limits.MoveTasksListedMax {
			return refusal.InvalidValue(strconv.Itoa(int(in.GetMaxResults())), "max_results", "Must be between 1 and 10, if provided.")
		}
		tasks, refused := v.MoveTasks(c.queue, limit)
		if refused != nil {
			return refused
		}
		for _, t := range tasks {
			out.Tasks = append(out.Tasks, moveTask(t))
		}
		return nil
	})
	return out, err
}

func moveTask(t queue.MoveTaskRecord) *seriatimpb.MoveTask {
	out := &seriatimpb.MoveTask{
		TaskId: t.ID, Source: account.PlainName(t.Source), Destination: account.PlainName(t.Destination), MessagesPerSecondMax: t.MaxPerSecond,
		Moved: t.Moved, ToMove: t.ToMove, FailureReason: t.FailureReason, StartedAtMs: int64(t.StartedAt),
	}
	switch t.Status {
	case queue.MoveTaskRunning:
		out.Status = seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_RUNNING
	case queue.MoveTaskCompleted:
		out.Status = seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_COMPLETED
	case queue.MoveTaskStopped:
		out.Status = seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_CANCELLED
	case queue.MoveTaskFailed:
		out.Status = seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_FAILED
	}
	return out
}
