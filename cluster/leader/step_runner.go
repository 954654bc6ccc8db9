package leader

import (
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

// stepPause separates two attempts of a step that failed.
const stepPause = 200 * time.Millisecond

// steps is work that takes more than one log entry: the same command again and again,
// until its answer says that there is no more to do.
type steps struct {
	id      string
	subject string // for the log
	queue   string // that messages move out of, if they do
	command queue.Command
	pause   time.Duration // between two steps
}

// stepRunner has such work done: the leader proposes bounded steps until the state says
// that it has ended. A step whose outcome is unknown is followed by the next one: each
// does what is there to do.
type stepRunner struct {
	term  *Term
	find  func(queue.View) []steps // all that the state has under way
	added wakeup.Signal            // that there may be more
}

func newStepRunner(t *Term, find func(queue.View) []steps) *stepRunner {
	return &stepRunner{term: t, find: find, added: wakeup.NewSignal()}
}

// run has steps made until ctx ends.
func (r *stepRunner) run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ended := make(chan string) // unbuffered: work that ended waits to be noted
	running := make(map[string]bool)
	r.added.Notify()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-ended:
			delete(running, id)
			r.added.Notify() // it may have been added again while it was noted
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

// make makes steps until there is no more to do.
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
			timer.Reset(max(s.pause, stepPause)) // it would add messages where there is no room
			continue
		}
		response, err := r.term.executeForResponse(ctx, s.command)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			// Unknown, or refused during a transfer of leadership that
			// may yet fail; the end of the term ends ctx.
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

// more reports whether the answer to a step asks for another one.
func more(result queue.Result) bool {
	switch r := result.(type) {
	case queue.MessagesMoved:
		return r.Running
	case queue.MessagesReplayed:
		return r.Running
	}
	return false
}
