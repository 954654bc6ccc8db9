package grpc

import (
	"context"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// onSource sets the queue of the call to the source of a move task.
func (c *call) onSource(name string) error {
	if name == "" {
		return refusal.MissingParameter("source")
	}
	if len(access.PlainName(name)) > limits.FIFONameLengthMax {
		return refusal.NoSuchResource("source")
	}
	return c.on(name)
}

// StartMoveTask starts to move messages from a dead-letter queue.
func (q *queues) StartMoveTask(ctx context.Context, in *seriatimpb.StartMoveTaskRequest) (*seriatimpb.StartMoveTaskResponse, error) {
	c := callOf(ctx)
	destination := in.GetDestination()
	if len(access.PlainName(destination)) > limits.FIFONameLengthMax {
		return nil, refusal.NoSuchResource("destination")
	}
	if destination != "" {
		destination = c.qualify(destination)
	}
	started, err := service.Submit[queue.MoveTaskStarted](ctx, &c.Call, &queue.StartMoveTask{
		Source: c.queue, Destination: destination, MaxPerSecond: domainInt(in.MessagesPerSecondMax),
	})
	return &seriatimpb.StartMoveTaskResponse{TaskId: started.TaskID}, err
}

// CancelMoveTask stops a running move task. Moved messages stay moved.
func (q *queues) CancelMoveTask(ctx context.Context, in *seriatimpb.CancelMoveTaskRequest) (*seriatimpb.CancelMoveTaskResponse, error) {
	c := callOf(ctx)
	if in.GetTaskId() == "" {
		return nil, refusal.MissingParameter("task_id")
	}
	cancelled, err := service.Submit[queue.MoveTaskCancelled](ctx, &c.Call, &queue.CancelMoveTask{TaskID: in.GetTaskId(), Source: c.queue})
	return &seriatimpb.CancelMoveTaskResponse{Moved: cancelled.Moved}, err
}

// ListMoveTasks lists the newest move tasks of a dead-letter queue.
func (q *queues) ListMoveTasks(ctx context.Context, in *seriatimpb.ListMoveTasksRequest) (*seriatimpb.ListMoveTasksResponse, error) {
	c := callOf(ctx)
	limit := max(int(in.GetMaxResults()), 1)
	if in.GetMaxResults() < 0 {
		limit = 0
	}
	tasks, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.MoveTaskRecord, *queue.Error) {
		if !v.QueueExists(c.queue) {
			return nil, refusal.NoSuchResource("source")
		}
		if limit < 1 || limit > limits.MoveTasksListedMax {
			return nil, refusal.InvalidValue(strconv.Itoa(int(in.GetMaxResults())), "max_results", "Must be between 1 and 10, if provided.")
		}
		return v.MoveTasks(c.queue, limit)
	})
	out := &seriatimpb.ListMoveTasksResponse{}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, moveTask(t))
	}
	return out, err
}

func moveTask(t queue.MoveTaskRecord) *seriatimpb.MoveTask {
	return &seriatimpb.MoveTask{
		TaskId: t.ID, Status: moveTaskStatuses[t.Status], Source: access.PlainName(t.Source),
		Destination: access.PlainName(t.Destination), MessagesPerSecondMax: t.MaxPerSecond,
		Moved: t.Moved, ToMove: t.ToMove, FailureReason: t.FailureReason, StartedAtMs: int64(t.StartedAt),
	}
}

var moveTaskStatuses = map[queue.MoveTaskStatus]seriatimpb.MoveTaskStatus{
	queue.MoveTaskRunning:   seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_RUNNING,
	queue.MoveTaskCompleted: seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_COMPLETED,
	queue.MoveTaskStopped:   seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_CANCELLED,
	queue.MoveTaskFailed:    seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_FAILED,
}
