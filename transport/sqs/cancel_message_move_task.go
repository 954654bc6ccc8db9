package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type cancelMessageMoveTaskInput struct{ TaskHandle string }

var cancelMessageMoveTaskInputSchema = awswire.Structure(
	awswire.String("TaskHandle", func(v *cancelMessageMoveTaskInput) *string { return &v.TaskHandle }),
)

type cancelMessageMoveTaskOutput struct{ Moved awswire.Int }

var cancelMessageMoveTaskOutputSchema = awswire.Structure(
	awswire.Integer("ApproximateNumberOfMessagesMoved", func(v *cancelMessageMoveTaskOutput) *awswire.Int { return &v.Moved }),
)

// cancelMessageMoveTask stops a running move task; what was moved stays moved.
func (s *Service) cancelMessageMoveTask(ctx context.Context, c *call, in *cancelMessageMoveTaskInput) (*cancelMessageMoveTaskOutput, error) {
	if in.TaskHandle == "" {
		return nil, missingParameter("TaskHandle")
	}
	taskID, source, ok := parseTaskHandle(in.TaskHandle)
	if !ok {
		return nil, invalidParameter("Value for parameter TaskHandle is invalid.")
	}
	c.record.Queue = source
	result, err := s.submit(ctx, c, &queue.CancelMoveTask{TaskID: taskID, Source: source})
	if err != nil {
		return nil, err
	}
	cancelled, err := resultOf[queue.MoveTaskCancelled](result)
	if err != nil {
		return nil, err
	}
	return &cancelMessageMoveTaskOutput{awswire.IntOf(cancelled.Moved)}, nil
}
