package cluster

import (
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// fatalRecord stands for the end of the process: it notes why and lets the
// caller go on.
type fatalRecord struct {
	mu    sync.Mutex
	codes []fault.ExitCode
	errs  []error
	ended chan struct{} // closed at the first
}

func newFatalRecord() *fatalRecord { return &fatalRecord{ended: make(chan struct{})} }

func (r *fatalRecord) fatal(code fault.ExitCode, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.codes) == 0 {
		close(r.ended)
	}
	r.codes = append(r.codes, code)
	r.errs = append(r.errs, err)
}

func (r *fatalRecord) all() ([]fault.ExitCode, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.codes, r.errs
}

