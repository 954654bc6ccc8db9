package sqs

import (
	"context"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type listMessageMoveTasksInput struct {
	SourceARN  string
	MaxResults awswire.Int
}

func (in *listMessageMoveTasksInput) source(s *service.Scope) (string, error) {
	return sourceInARN(s, in.SourceARN)
}

var listMessageMoveTasksInputSchema = awswire.Structure(
	awswire.String("SourceArn", func(v *listMessageMoveTasksInput) *string { return &v.SourceARN }),
	awswire.Integer("MaxResults", func(v *listMessageMoveTasksInput) *awswire.Int { return &v.MaxResults }),
)

type moveTask struct {
	TaskHandle     string
	Status         string
	SourceARN      string
	DestinationARN string
	MaxPerSecond   awswire.Int
	Moved          awswire.Int
	ToMove         awswire.Int
	FailureReason  string
	StartedAt      awswire.Int
}

type listMessageMoveTasksOutput struct{ Results []moveTask }

var listMessageMoveTasksOutputSchema = awswire.Structure(
	awswire.Structures("Results", "ListMessageMoveTasksResultEntry", awswire.Structure(
		awswire.String("TaskHandle", func(v *moveTask) *string { return &v.TaskHandle }),
		awswire.String("Status", func(v *moveTask) *string { return &v.Status }),
		awswire.String("SourceArn", func(v *moveTask) *string { return &v.SourceARN }),
		awswire.String("DestinationArn", func(v *moveTask) *string { return &v.DestinationARN }),
		awswire.Integer("MaxNumberOfMessagesPerSecond", func(v *moveTask) *awswire.Int { return &v.MaxPerSecond }),
		awswire.Integer("ApproximateNumberOfMessagesMoved", func(v *moveTask) *awswire.Int { return &v.Moved }),
		awswire.Integer("ApproximateNumberOfMessagesToMove", func(v *moveTask) *awswire.Int { return &v.ToMove }),
		awswire.String("FailureReason", func(v *moveTask) *string { return &v.FailureReason }),
		awswire.Integer("StartedTimestamp", func(v *moveTask) *awswire.Int { return &v.StartedAt }),
	), func(v *listMessageMoveTasksOutput) *[]moveTask { return &v.Results }),
)

// listMessageMoveTasks lists the newest move tasks of a dead-letter queue.
func (s *Service) listMessageMoveTasks(ctx context.Context, c *aws.Call, in *listMessageMoveTasksInput) (*listMessageMoveTasksOutput,
	error) {
	source := c.Resource.Name
	limit := int64(1)
	if in.MaxResults.Given {
		limit = in.MaxResults.Value
	}
	tasks, err := service.ReadValue(ctx, &c.Call, func(v queue.View) ([]queue.MoveTaskRecord, *queue.Error) {
		if !v.QueueExists(source) {
			return nil, refusal.NoSuchResource("SourceArn")
		}
		if limit < 1 || limit > limits.MoveTasksListedMax {
			return nil, refusal.InvalidValue(strconv.FormatInt(limit, 10), "MaxResults", "Must be between 1 and 10, if provided.")
		}
		return v.MoveTasks(source, int(limit))
	})
	out := &listMessageMoveTasksOutput{}
	for _, t := range tasks {
		out.Results = append(out.Results, s.moveTask(t))
	}
	return out, err
}

func (s *Service) moveTask(t queue.MoveTaskRecord) moveTask {
	out := moveTask{
		SourceARN: s.Names.QueueARN(t.Source), Moved: awswire.IntOf(t.Moved), ToMove: awswire.IntOf(t.ToMove),
		StartedAt: awswire.IntOf(int64(t.StartedAt)),
	}
	switch t.Status {
	case queue.MoveTaskRunning:
		// Only a running task has a handle (AWS).
		out.Status, out.TaskHandle = "RUNNING", TaskHandle(t.ID, s.Names.QueueARN(t.Source))
	case queue.MoveTaskCompleted:
		out.Status = "COMPLETED"
	case queue.MoveTaskStopped:
		out.Status = "CANCELLED"
	case queue.MoveTaskFailed:
		out.Status, out.FailureReason = "FAILED", t.FailureReason
	}
	if t.Destination != "" {
		out.DestinationARN = s.Names.QueueARN(t.Destination)
	}
	if t.MaxPerSecond != 0 {
		out.MaxPerSecond = awswire.IntOf(t.MaxPerSecond)
	}
	return out
}
