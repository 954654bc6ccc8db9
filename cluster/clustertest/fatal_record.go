package clustertest

import (
	"sync"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// FatalRecord records the fatal errors of a node instead of ending the process.
type FatalRecord struct {
	Ended chan struct{} // closed at the first error

	mu    sync.Mutex
	codes []fault.ExitCode
	errs  []error
}

// NewFatalRecord returns an empty record.
func NewFatalRecord() *FatalRecord { return &FatalRecord{Ended: make(chan struct{})} }

// Fatal records an error. Pass it as the Fatal function of a node.
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
