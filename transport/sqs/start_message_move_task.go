package sqs

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type startMessageMoveTaskInput struct {
	SourceARN      string
	DestinationARN string
	MaxPerSecond   awswire.Int
}

func (in *startMessageMoveTaskInput) source(s *service.Scope) (string, error) {
	return sourceInARN(s, in.SourceARN)
}

// destination returns the queue that messages move to, empty if each moves back to its source.
func (in *startMessageMoveTaskInput) destination(s *service.Scope) (string, error) {
	if in.DestinationARN == "" {
		return "", nil
	}
	return queueInARN(s, "DestinationArn", in.DestinationARN)
}

var startMessageMoveTaskInputSchema = awswire.Structure(
	awswire.String("SourceArn", func(v *startMessageMoveTaskInput) *string { return &v.SourceARN }),
	awswire.String("DestinationArn", func(v *startMessageMoveTaskInput) *string { return &v.DestinationARN }),
	awswire.Integer("MaxNumberOfMessagesPerSecond", func(v *startMessageMoveTaskInput) *awswire.Int { return &v.MaxPerSecond }),
)

type startMessageMoveTaskOutput struct{ TaskHandle string }

var startMessageMoveTaskOutputSchema = awswire.Structure(
	awswire.String("TaskHandle", func(v *startMessageMoveTaskOutput) *string { return &v.TaskHandle }),
)

func (s *Service) startMessageMoveTask(ctx context.Context, c *aws.Call, in *startMessageMoveTaskInput) (*startMessageMoveTaskOutput,
	error) {
	source := c.Resource.Name
	destination, err := in.destination(&c.Scope)
	if err != nil {
		return nil, err
	}
	started, err := service.Submit[queue.MoveTaskStarted](ctx, &c.Call,
		&queue.StartMoveTask{Source: source, Destination: destination, MaxPerSecond: queue.Int(in.MaxPerSecond)})
	if err != nil {
		return nil, err
	}
	return &startMessageMoveTaskOutput{TaskHandle(started.TaskID, s.Names.QueueARN(source))}, nil
}

// taskHandle is the handle of a move task: base64 of a JSON object, as recorded from AWS.
type taskHandle struct {
	TaskID    string `json:"taskId"`
	SourceARN string `json:"sourceArn"`
}

// TaskHandle returns the handle of the move task with an id out of a queue.
func TaskHandle(taskID, sourceARN string) string {
	text, err := json.Marshal(taskHandle{taskID, sourceARN})
	if err != nil {
		panic("a structure of two strings cannot be encoded: " + err.Error())
	}
	return base64.StdEncoding.EncodeToString(text)
}

func parseTaskHandle(text string) (taskID, sourceARN string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", "", false
	}
	var h taskHandle
	if err := json.Unmarshal(raw, &h); err != nil || h.TaskID == "" {
		return "", "", false
	}
	_, ok = arn.Queue(h.SourceARN)
	return h.TaskID, h.SourceARN, ok
}
