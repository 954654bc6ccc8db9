package storage

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// DiskGuard stands in front of every write this node makes to its stores. It
// does two things the stores themselves do not:
//
//   - The first error is final. After a failed sync the kernel may have dropped
//     the pages and report the next sync as good, so going on with the same file
//     could acknowledge what is not on disk (faults.md 13.2). The consensus
//     library would merely step down and use the file again.
//   - A write that does not return within the deadline is final. On a hung disk
//     the library's leader keeps sending heartbeats from other goroutines while
//     it accepts nothing, so no follower ever takes over (raft issue 503). The
//     write cannot be cancelled, and a late success would come after others
//     were told of a failure, so the process ends.
//
// Safe for concurrent use.
type DiskGuard struct {
	deadline time.Duration
	fatal    func(fault.ExitCode, error)
	run      func(what string, write func() error) error // default: runs it

	once   sync.Once
	poison atomic.Pointer[error]
}

// NewDiskGuard returns a guard that calls fatal once, at the first error or when a
// write takes longer than deadline. run, if it is not nil, runs each write.
func NewDiskGuard(deadline time.Duration, fatal func(fault.ExitCode, error), run func(what string, write func() error) error) *DiskGuard {
	return &DiskGuard{deadline: deadline, fatal: fatal, run: run}
}

// Write runs one write or sync. what names the operation and the file.
func (d *DiskGuard) Write(what string, operation func() error) error {
	watchdog := time.AfterFunc(d.deadline, func() {
		_ = d.Fail(fault.ExitDiskHang, fmt.Errorf("%s did not finish within %v: the disk hangs; this node ends so that another can lead", what, d.deadline))
	})
	err := d.perform(what, operation)
	watchdog.Stop()
	if poison := d.Poisoned(); poison != nil {
		return poison
	}
	if err != nil {
		return d.Fail(fault.ExitDiskError, fmt.Errorf("%s: %w; written data cannot be trusted any more, check the disk before starting this node again", what, err))
	}
	return nil
}

// perform runs the operation. A library that meets a damaged page of its file
// panics, and a page behind the end of a mapped file is a fault; both are damage
// that an operator should be told with the name of the file.
func (d *DiskGuard) perform(what string, operation func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if broken := recover(); broken != nil {
			err = d.Fail(fault.ExitChecksum, fmt.Errorf("%s: %w (%v); %s", what, ErrDamaged, broken, ReplaceNode))
		}
	}()
	unpoisoned := func() error {
		if err := d.Poisoned(); err != nil {
			return err
		}
		return operation()
	}
	if d.run == nil {
		return unpoisoned()
	}
	return d.run(what, unpoisoned)
}

// Fail makes err final and ends the process. It returns the error that came
// first, for the case that the process is a test.
func (d *DiskGuard) Fail(code fault.ExitCode, err error) error {
	d.once.Do(func() {
		d.poison.Store(&err)
		d.fatal(code, err)
	})
	return d.Poisoned()
}

// FailRead is Fail for what cannot be used as it is on disk.
func (d *DiskGuard) FailRead(err error) error { return d.Fail(Unreadable(err)) }

// Unreadable says how a node ends that needs what it cannot read from its disk. If the system
// does not give it, as on a disk with a fault, the bytes may be sound: the operator is told to
// look after the disk. Else they are not those that were written, and only other nodes have
// them.
func Unreadable(err error) (fault.ExitCode, error) {
	switch {
	case Exhausted(err):
		return fault.ExitDiskError, fmt.Errorf("%w; nothing is known against the disk: see what takes the file descriptors or the memory, and start this node again", err)
	case errors.Is(err, encryption.ErrKeyMissing):
		return fault.ExitKeyMissing, fmt.Errorf("%w: add the line of that key to the file that encryption-key-file names, and start this node again", err)
	case notGiven(err):
		return fault.ExitDiskError, fmt.Errorf("%w; check the disk before starting this node again", err)
	}
	return fault.ExitChecksum, fmt.Errorf("%w; %s", err, ReplaceNode)
}

// Exhausted reports whether an error says nothing about the disk: the process or the system
// has no descriptor or memory left to read it with.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// notGiven reports whether err is the system's, for a file that is there. A number of a
// damaged file may be an argument that the system takes for invalid: that is damage.
func notGiven(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && number != syscall.ENOENT && number != syscall.EINVAL
}

// asDamage is err as damage, unless it is the system's.
func asDamage(err error) error {
	if notGiven(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Poisoned is the first error, nil as long as there was none.
func (d *DiskGuard) Poisoned() error {
	if err := d.poison.Load(); err != nil {
		return *err
	}
	return nil
}

// ReplaceNode tells an operator what to do about a damaged data directory. Only
// the other nodes can repair it, and only as a new member: a node that lost part
// of its log under its old id would vote away entries it once confirmed.
const ReplaceNode = "nothing is lost while a majority of the other nodes is sound: move the data directory away and start with an empty one, so that this node joins as a new member"
