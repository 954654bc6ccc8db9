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

// DiskGuard runs every write to the stores of this node, and ends the process in two cases that the
// stores do not handle:
//
//   - The first error. After a failed sync the kernel may drop the pages and report the next sync as
//     successful, so continuing could acknowledge data that is not on disk (faults.md 13.2). The consensus
//     library would only step down and use the file again.
//   - A write that exceeds the deadline. With a hung disk the library's leader still sends heartbeats but
//     accepts nothing, so no follower takes over (raft issue 503). The write cannot be cancelled, and its
//     late success would contradict the failure that was already reported.
//
// Safe for concurrent use.
type DiskGuard struct {
	deadline time.Duration
	fatal    func(fault.ExitCode, error)
	run      func(what string, write func() error) error // default: runs it

	once   sync.Once
	poison atomic.Pointer[error]
}

// NewDiskGuard returns a DiskGuard that calls fatal once, after the first error or after a write
// that exceeds the deadline. If run is not nil, it runs each write.
func NewDiskGuard(deadline time.Duration, fatal func(fault.ExitCode, error), run func(what string, write func() error) error) *DiskGuard {
	return &DiskGuard{deadline: deadline, fatal: fatal, run: run}
}

// Write runs one write or sync. what names the operation and the file in errors.
func (d *DiskGuard) Write(what string, operation func() error) error {
	watchdog := time.AfterFunc(d.deadline, func() {
		_ = d.Fail(fault.ExitDiskHang, fmt.Errorf(
			"%s did not finish within %v: the disk hangs; this node ends so that another can lead", what, d.deadline))
	})
	err := d.perform(what, operation)
	watchdog.Stop()
	if poison := d.Poisoned(); poison != nil {
		return poison
	}
	if err != nil {
		return d.Fail(fault.ExitDiskError, fmt.Errorf(
			"%s: %w; written data cannot be trusted any more, check the disk before starting this node again", what, err))
	}
	return nil
}

// perform runs the operation. A library panics on a damaged page, and a page beyond the end of a
// mapped file is a fault: both are reported as damage of the named file.
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

// Fail makes err final and ends the process. It returns the first error, for tests, where the
// process does not end.
func (d *DiskGuard) Fail(code fault.ExitCode, err error) error {
	d.once.Do(func() {
		d.poison.Store(&err)
		d.fatal(code, err)
	})
	return d.Poisoned()
}

// FailRead ends the process because of data that cannot be read from disk.
func (d *DiskGuard) FailRead(err error) error { return d.Fail(Unreadable(err)) }

// Unreadable returns the exit code and the advice for a read error that ends the node. If the
// system call failed, the data may be intact and the operator has to check the disk. Otherwise the
// data is damaged, and only other nodes have a copy.
func Unreadable(err error) (fault.ExitCode, error) {
	switch {
	case Exhausted(err):
		return fault.ExitDiskError, fmt.Errorf("%w; the disk may be sound: free file descriptors or memory, and start this node again", err)
	case errors.Is(err, encryption.ErrKeyMissing):
		return fault.ExitKeyMissing, fmt.Errorf("%w: add that key to the file of encryption-key-file, and start this node again", err)
	case notGiven(err):
		return fault.ExitDiskError, fmt.Errorf("%w; check the disk before starting this node again", err)
	}
	return fault.ExitChecksum, fmt.Errorf("%w; %s", err, ReplaceNode)
}

// Exhausted reports whether an error says nothing about the disk: the process or the system ran out
// of file descriptors or memory.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

// notGiven reports whether a system call failed on an existing file. EINVAL counts as damage: a
// damaged file may hold numbers that make invalid arguments.
func notGiven(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && number != syscall.ENOENT && number != syscall.EINVAL
}

// asDamage marks an error as damage, unless it is a system error.
func asDamage(err error) error {
	if notGiven(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Poisoned returns the first error; nil if there was none.
func (d *DiskGuard) Poisoned() error {
	if err := d.poison.Load(); err != nil {
		return *err
	}
	return nil
}

// ReplaceNode is the advice for a damaged data directory. Only a new member can be repaired from
// other nodes: under its old id, a node that lost part of its log would vote away entries it once
// confirmed.
const ReplaceNode = "nothing is lost while a majority of the other nodes is sound. " +
	"Move the data directory away and start with an empty one: this node then joins as a new member"
