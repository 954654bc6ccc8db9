package leader

import (
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

// movePause separates two attempts of a step that failed.
const movePause = 200 * time.Millisecond

// moveStepsPerSecond is how often a paced task makes a step, if a step then
// still moves at least one message.
const moveStepsPerSecond = 10

// moveTaskRunner runs the move tasks (sqs.md 6): the leader proposes bounded steps until
// the state says that a task has ended. A step whose outcome is unknown is
// followed by the next one: each moves what is there to move.
type moveTaskRunner struct {
	term  *Term
	added wakeup.Signal // that there may be a new task
}

func newMoveTaskRunner(t *Term) *moveTaskRunner {
	return &moveTaskRunner{term: t, added: wakeup.NewSignal()}
}

// run moves until ctx ends.
func (m *moveTaskRunner) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ended := make(chan string) // unbuffered: a task that ended waits to be noted
	running := make(map[string]bool)
	m.added.Notify()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-ended:
			delete(running, id)
			m.added.Notify() // it may have been added again while it was noted
		case <-m.added:
			var found []queue.MoveTaskRecord
			m.term.options.Replica.Read(func(v queue.View) { found = v.RunningMoveTasks() })
			for _, task := range found {
				if running[task.ID] {
					continue
				}
				running[task.ID] = true
				tasks.Go(func() {
					m.move(ctx, task)
					select {
					case ended <- task.ID:
					case <-ctx.Done():
					}
				})
			}
		}
	}
}

// move runs one task to its end.
func (m *moveTaskRunner) move(ctx context.Context, task queue.MoveTaskRecord) {
	step, pause := pace(task.MaxPerSecond)
	cmd := &queue.MoveMessages{TaskID: task.ID, Max: step}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		response, err := m.term.executeForResponse(ctx, cmd)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// Unknown, or refused during a transfer of leadership that
			// may yet fail; the end of the term ends ctx.
			timer.Reset(max(pause, movePause))
			continue
		case response.Err != nil:
			m.term.options.Log.Debug("a move task is gone", "queue", task.Source, "reason", response.Err.Message)
			return
		}
		if moved, ok := response.Result.(queue.MessagesMoved); !ok || !moved.Running {
			return
		}
		timer.Reset(pause)
	}
}

// pace splits messages per second, zero for no limit, into steps.
func pace(perSecond int64) (step int, pause time.Duration) {
	if perSecond <= 0 {
		return limits.MoveStepMax, 0
	}
	step = int(min(max(perSecond/moveStepsPerSecond, 1), limits.MoveStepMax))
	return step, time.Duration(step) * time.Second / time.Duration(perSecond)
}
