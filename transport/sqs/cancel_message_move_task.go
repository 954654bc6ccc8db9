package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type cancelMessageMoveTaskInput struct{ TaskHandle string }

func (in *cancelMessageMoveTaskInput) source(s *service.Scope) (string, error) {
	if in.TaskHandle == "" {
		return "", refusal.MissingParameter("TaskHandle")
	}
	_, sourceARN, ok := parseTaskHandle(in.TaskHandle)
	if !ok {
		return "", refusal.InvalidParameter("Value for parameter TaskHandle is invalid.")
	}
	return queueInARN(s, "SourceArn", sourceARN)
}

var cancelMessageMoveTaskInputSchema = awswire.Structure(
	awswire.String("TaskHandle", func(v *cancelMessageMoveTaskInput) *string { return &v.TaskHandle }),
)

type cancelMessageMoveTaskOutput struct{ Moved awswire.Int }

var cancelMessageMoveTaskOutputSchema = awswire.Structure(
	awswire.Integer("ApproximateNumberOfMessagesMoved", func(v *cancelMessageMoveTaskOutput) *awswire.Int { return &v.Moved }),
)

// cancelMessageMoveTask stops a running move task. Moved messages stay moved.
func (s *Service) cancelMessageMoveTask(ctx context.Context, c *aws.Call, in *cancelMessageMoveTaskInput) (*cancelMessageMoveTaskOutput,
	error) {
	taskID, _, _ := parseTaskHandle(in.TaskHandle)
	cancelled, err := service.Submit[queue.MoveTaskCancelled](ctx, &c.Call, &queue.CancelMoveTask{TaskID: taskID, Source: c.Resource.Name})
	if err != nil {
		return nil, err
	}
	return &cancelMessageMoveTaskOutput{awswire.IntOf(cancelled.Moved)}, nil
}
