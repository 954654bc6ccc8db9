package leader

import (
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// moveStepsPerSecond is the number of steps of a paced task, if each can move at least one message.
const moveStepsPerSecond = 10

// moveTasks returns the steps of the running move tasks (sqs.md 6).
func moveTasks(v queue.View) (all []steps) {
	for _, task := range v.RunningMoveTasks() {
		step, pause := pace(task.MaxPerSecond)
		all = append(all, steps{
			id: task.ID, queue: task.Source, subject: "a move task of the queue " + task.Source,
			command: &queue.MoveMessages{TaskID: task.ID, Max: step}, pause: pause,
		})
	}
	return all
}

// pace splits messages per second (0: no limit) into steps.
func pace(perSecond int64) (step int, pause time.Duration) {
	if perSecond <= 0 {
		return limits.MoveStepMax, 0
	}
	step = int(min(max(perSecond/moveStepsPerSecond, 1), limits.MoveStepMax))
	return step, time.Duration(step) * time.Second / time.Duration(perSecond)
}

// replays returns the steps of the running replays of topics (sns.md 9).
func replays(v queue.View) (all []steps) {
	for _, number := range v.RunningReplays() {
		id := strconv.FormatUint(number, 10)
		all = append(all, steps{
			id: id, subject: "a replay for subscription " + id,
			command: &queue.ReplayMessages{Subscription: number, Max: limits.ReplayStepMax},
		})
	}
	return all
}
