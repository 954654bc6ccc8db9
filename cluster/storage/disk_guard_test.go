package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

func TestDiskGuardFirstErrorIsFinal(t *testing.T) {
	record := clustertest.NewFatalRecord()
	guard := NewDiskGuard(time.Minute, record.Fatal, nil)
	clustertest.Must(t, guard.Write("write a", func() error { return nil }))
	broken := errors.New("input/output error")
	if err := guard.Write("write b", func() error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	ran := false
	err := guard.Write("write c", func() error { ran = true; return nil })
	if ran || !errors.Is(err, broken) {
		t.Fatalf("a write after the error ran: %v, error %v", ran, err)
	}
	codes, _ := record.All()
	if diff := cmp.Diff([]fault.ExitCode{fault.ExitDiskError}, codes); diff != "" {
		t.Fatal(diff)
	}
}

func TestDiskGuardEndsAHungWrite(t *testing.T) {
	record := clustertest.NewFatalRecord()
	guard := NewDiskGuard(time.Millisecond, record.Fatal, nil)
	thaw := make(chan struct{})
	outcome := make(chan error)
	go func() {
		outcome <- guard.Write("write a", func() error { <-thaw; return nil })
	}()
	<-record.Ended
	close(thaw)
	// The write succeeded in the end, but its failure was already reported.
	if err := <-outcome; err == nil {
		t.Fatal("a write that came too late was reported as done")
	}
	if err := guard.Write("write b", func() error { return nil }); err == nil {
		t.Fatal("a write after the hung one was done")
	}
	codes, _ := record.All()
	if diff := cmp.Diff([]fault.ExitCode{fault.ExitDiskHang}, codes); diff != "" {
		t.Fatal(diff)
	}
}

// A library that panics over a damaged page, or reads beyond the end of a mapped file, ends the
// node with the exit code for damage and the name of the file.
func TestDiskGuardReportsAPanicAsDamage(t *testing.T) {
	record := clustertest.NewFatalRecord()
	guard := NewDiskGuard(time.Minute, record.Fatal, nil)
	err := guard.Write("append to the log /data/log", func() error { panic("invalid page type: 7: 0") })
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "/data/log") || !strings.Contains(err.Error(), "invalid page type") {
		t.Errorf("got %v", err)
	}
	if codes, _ := record.All(); !slices.Equal(codes, []fault.ExitCode{fault.ExitChecksum}) {
		t.Errorf("ended with %v", codes)
	}
}

// notGivenFile returns a link to a file that cannot be read: EIO, as from a broken disk.
func notGivenFile(t *testing.T, path string) {
	t.Helper()
	const unmapped = "/proc/self/mem" // nothing is mapped at its beginning
	if _, err := os.Stat(unmapped); err != nil {
		t.Skip("no file here fails to be read with EIO:", err)
	}
	clustertest.Must(t, errors.Join(os.RemoveAll(path), os.Symlink(unmapped, path)))
}

// A read error of the disk is not reported as damage, for any file.
func TestFilesThatTheDiskDoesNotGive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	notGivenFile(t, path)
	for name, read := range map[string]func() error{
		"the end mark of the log": func() error { _, err := openLogMark(path, false); return err },
		"a bbolt file":            func() error { return checkBolt(path) },
		"a record":                func() error { return ReadRecord(path, new(Recovery)) },
	} {
		err := read()
		record := clustertest.NewFatalRecord()
		_ = NewDiskGuard(time.Minute, record.Fatal, nil).FailRead(err) // the error is err
		if codes, _ := record.All(); !errors.Is(err, syscall.EIO) || errors.Is(err, ErrDamaged) ||
			!slices.Equal(codes, []fault.ExitCode{fault.ExitDiskError}) {
			t.Errorf("%s: ended with %v: %v", name, codes, err)
		}
	}
}

// The system's error distinguishes a disk to check from data to discard.
func TestWhatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		err  error
		code fault.ExitCode
	}{
		{syscall.EIO, fault.ExitDiskError},
		{&fs.PathError{Op: "open", Path: "log", Err: syscall.EMFILE}, fault.ExitDiskError},
		{fmt.Errorf("read: %w", syscall.EACCES), fault.ExitDiskError},
		{&fs.PathError{Op: "open", Path: "log", Err: syscall.ENOENT}, fault.ExitChecksum},
		{fmt.Errorf("mmap of what a damaged head says: %w", syscall.EINVAL), fault.ExitChecksum},
		{io.ErrUnexpectedEOF, fault.ExitChecksum},
		{ErrDamaged, fault.ExitChecksum},
	} {
		record := clustertest.NewFatalRecord()
		err := NewDiskGuard(time.Minute, record.Fatal, nil).FailRead(c.err)
		if !errors.Is(err, c.err) || strings.Contains(err.Error(), "check the disk") != (c.code == fault.ExitDiskError &&
			!Exhausted(c.err)) {
			t.Error(err)
		}
		if codes, _ := record.All(); !slices.Equal(codes, []fault.ExitCode{c.code}) {
			t.Errorf("%v: ended with %v", c.err, codes)
		}
	}
}
