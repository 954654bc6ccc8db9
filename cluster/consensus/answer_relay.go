package consensus

import (
	"sync"

	"github.com/hashicorp/raft"
)

// answerRelay takes every answer from a pipeline as soon as it is there, whether or
// not the library still asks for answers. The library stops asking when a follower
// refuses entries or knows a later term; if it sends once more before it notices
// that itself, the pipeline waits for the answer before to be taken, and the library
// for the pipeline, for ever: the follower gets heartbeats and no entries until
// another node leads, and the leader cannot even stop (raft issue 612). What is kept
// is little: the library sends at most a few messages after it stopped asking.
type answerRelay struct {
	in      <-chan raft.AppendFuture
	out     chan raft.AppendFuture // unbuffered: what nobody takes waits in run
	stop    chan struct{}
	once    sync.Once
	stopped sync.WaitGroup
}

func newAnswerRelay(pipeline raft.AppendPipeline) *answerRelay {
	r := &answerRelay{in: pipeline.Consumer(), out: make(chan raft.AppendFuture), stop: make(chan struct{})}
	r.stopped.Go(r.run)
	return r
}

func (r *answerRelay) run() {
	var waiting []raft.AppendFuture
	for {
		out, next := r.out, raft.AppendFuture(nil)
		if len(waiting) == 0 {
			out = nil // never ready
		} else {
			next = waiting[0]
		}
		select {
		case answer := <-r.in:
			waiting = append(waiting, answer)
		case out <- next:
			waiting = waiting[1:]
		case <-r.stop:
			return
		}
	}
}

// close ends the relay and waits for it; more than once is allowed.
func (r *answerRelay) close() {
	r.once.Do(func() { close(r.stop) })
	r.stopped.Wait()
}
