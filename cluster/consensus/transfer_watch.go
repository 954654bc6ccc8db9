package consensus

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// transferWatch ends a node whose leadership transfer never ends. If a leader steps down during a
// transfer, the library can keep the transfer marked as in progress. When that node leads again, it
// refuses every proposal, and the cluster is stuck (raft issue 696).
//
// A refusal starts a timer, any other outcome stops it. When it expires, one probe decides. Safe
// for concurrent use.
type transferWatch struct {
	timeout time.Duration
	leads   func() bool
	probe   func() error // proposes an entry and waits for its outcome
	fatal   func(fault.ExitCode, error)

	mu     sync.Mutex
	timer  *time.Timer // nil unless the last outcome was a refusal
	closed bool
	wg     sync.WaitGroup
}

// transferTimeoutFactor times the election timeout is the limit. A transfer gives up after at most
// two election timeouts; the remainder is for slow machines.
const transferTimeoutFactor = 4

// observe records the outcome of a proposal.
func (w *transferWatch) observe(err error) {
	refused := errors.Is(err, raft.ErrLeadershipTransferInProgress)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case refused && w.timer == nil && !w.closed:
		w.wg.Add(1)
		w.timer = time.AfterFunc(w.timeout, w.decide)
	case !refused && w.timer != nil:
		w.disarm()
	}
}

func (w *transferWatch) disarm() {
	if w.timer.Stop() {
		w.wg.Done()
	}
	w.timer = nil
}

func (w *transferWatch) decide() {
	defer w.wg.Done()
	w.mu.Lock()
	armed := w.timer != nil && !w.closed
	w.timer = nil
	w.mu.Unlock()
	if !armed || !w.leads() {
		return
	}
	if err := w.probe(); errors.Is(err, raft.ErrLeadershipTransferInProgress) && w.leads() {
		w.fatal(fault.ExitStuckTransfer, fmt.Errorf("this node leads, but has refused every proposal for %v "+
			"because of a leadership transfer that does not end; restarting it lets another node lead", w.timeout))
	}
}

// close stops watching and waits for a running probe.
func (w *transferWatch) close() {
	w.mu.Lock()
	w.closed = true
	if w.timer != nil {
		w.disarm()
	}
	w.mu.Unlock()
	w.wg.Wait()
}
