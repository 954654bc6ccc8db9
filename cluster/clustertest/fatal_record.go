package clustertest

import (
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// FatalRecord stands for the end of the process: it notes why and lets the
// caller go on.
type FatalRecord struct {
	Ended chan struct{} // closed at the first

	mu    sync.Mutex
	codes []fault.ExitCode
	errs  []error
}

// NewFatalRecord returns an empty record.
func NewFatalRecord() *FatalRecord { return &FatalRecord{Ended: make(chan struct{})} }

// Fatal notes a reason to end. It is what a node is given to end its process.
func (r *FatalRecord) Fatal(code fault.ExitCode, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.codes) == 0 {
		close(r.Ended)
	}
	r.codes = append(r.codes, code)
	r.errs = append(r.errs, err)
}

// All returns the exit codes and errors so far.
func (r *FatalRecord) All() ([]fault.ExitCode, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.codes, r.errs
}
