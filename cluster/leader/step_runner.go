package leader

import (
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// stepPause precedes the retry of a failed step.
const stepPause = 200 * time.Millisecond

// steps is work of many log entries: the same command, repeated until its answer reports the end.
type steps struct {
	id      string
	subject string // for logging
	queue   string // the source of moved messages, if any
	command queue.Command
	pause   time.Duration // between steps
}

// stepRunner proposes bounded steps until the state reports the end of the work. After a step with
// an unknown outcome, it proposes the next: each step does what is left.
type stepRunner struct {
	term  *Term
	find  func(queue.View) []steps // returns all unfinished work of the state
	added wakeup.Signal            // notified when there may be more
}

func newStepRunner(t *Term, find func(queue.View) []steps) *stepRunner {
	return &stepRunner{term: t, find: find, added: wakeup.NewSignal()}
}

// run makes steps until ctx ends.
func (r *stepRunner) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ended := make(chan string) // unbuffered
	running := make(map[string]bool)
	r.added.Notify()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-ended:
			delete(running, id)
			r.added.Notify() // it may have been added again meanwhile
		case <-r.added:
			var found []steps
			r.term.options.Replica.Read(func(v queue.View) { found = r.find(v) })
			for _, s := range found {
				if running[s.id] {
					continue
				}
				running[s.id] = true
				tasks.Go(func() {
					r.make(ctx, s)
					select {
					case ended <- s.id:
					case <-ctx.Done():
					}
				})
			}
		}
	}
}

// make makes steps until the work is done.
func (r *stepRunner) make(ctx context.Context, s steps) {
	frame, err := codec.AppendCommand(nil, s.command)
	if err != nil {
		r.term.options.Log.Error("a step cannot be encoded", "subject", s.subject, "error", err)
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if _, refused := r.term.refuses(frame); refused {
			timer.Reset(max(s.pause, stepPause)) // the step would add messages without room for them
			continue
		}
		response, err := r.term.executeForResponse(ctx, s.command)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// The outcome is unknown, or a transfer of leadership refused the command and may yet
			// fail.
			timer.Reset(max(s.pause, stepPause))
			continue
		case response.Err != nil:
			r.term.options.Log.Debug("the subject of the steps is gone", "subject", s.subject, "reason", response.Err.Message)
			return
		}
		if moved, ok := response.Result.(queue.MessagesMoved); ok {
			r.term.options.Counters.Queues.Add(s.queue, Redriven, uint64(moved.Moved))
		}
		if !more(response.Result) {
			return
		}
		timer.Reset(s.pause)
	}
}

// more reports whether a step's answer calls for another step.
func more(result queue.Result) bool {
	switch r := result.(type) {
	case queue.MessagesMoved:
		return r.Running
	case queue.MessagesReplayed:
		return r.Running
	}
	return false
}
