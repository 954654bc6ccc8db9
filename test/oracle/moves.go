package oracle

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
)

// task returns the model's number of a task, 0 if the id is unknown.
func (o *Oracle) task(id string) int { return o.bound.tasks.model[id] }

func (o *Oracle) startMove(c *queue.StartMoveTask, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	var want Answer
	want.Task, want.Err = o.Model.StartMoveTask(c.Source, c.Destination)
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	started, ok := result.(queue.MoveTaskStarted)
	if !ok || started.TaskID == "" {
		return want, differ("I11", fmt.Sprintf("product answered %T %v to a start of a move task", result, result))
	}
	return want, differ("I11", o.bound.tasks.bind("task", want.Task, started.TaskID))
}

func (o *Oracle) cancelMove(c *queue.CancelMoveTask, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	var want Answer
	want.Moved, want.Err = o.Model.CancelMoveTask(o.task(c.TaskID), c.Source)
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return want, differ("I11", text)
	}
	if result != (queue.MoveTaskCancelled{Moved: want.Moved}) {
		return want, differ("I11", fmt.Sprintf("product: %+v\nmodel:   moved %d", result, want.Moved))
	}
	return want, nil
}

func (o *Oracle) moveStep(c *queue.MoveMessages, result queue.Result, refusal *queue.Error) (Answer, *Difference) {
	var want Answer
	want.Moved, want.Running = o.Model.MoveStep(o.task(c.TaskID), int64(c.Max))
	if text := errorDifference(nil, refusal); text != "" {
		return want, differ("I11", text)
	}
	if result != (queue.MessagesMoved{Moved: want.Moved, Running: want.Running}) {
		return want, differ("I11", fmt.Sprintf("product: %+v\nmodel:   moved %d running %v", result, want.Moved, want.Running))
	}
	return want, nil
}
