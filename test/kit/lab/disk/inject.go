package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Syncs and Writes are the system calls with which a node reaches its disk.
const (
	Syncs  = "fsync,fdatasync"
	Writes = "write,pwrite64,fsync,fdatasync"
)

// Injection disturbs system calls of a running process. It needs strace.
type Injection struct {
	Calls string        // Syncs or Writes
	Error string        // EIO or ENOSPC; empty: the call is made
	Lie   bool          // the call is not made but reports success
	Delay time.Duration // before the call
	From  int           // the first affected call of each thread; default 1
	Once  bool          // only that call, not the ones after it
	// Signal is sent to the process at the call, for instance KILL.
	Signal string
}

// CanInject returns why this machine cannot inject, or nil.
var CanInject = sync.OnceValue(func() error {
	path, err := exec.LookPath("strace")
	if err != nil {
		return fmt.Errorf("trouble with single calls needs strace: %w", err)
	}
	// Tracing may be forbidden, so try it.
	if out, err := exec.Command(path, "-f", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("trouble with single calls needs the right to trace: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
})

// argument returns the injection as an argument of strace.
func (i Injection) argument() string {
	var b strings.Builder
	b.WriteString("inject=" + i.Calls)
	if i.Error != "" {
		b.WriteString(":error=" + i.Error)
	}
	if i.Lie {
		b.WriteString(":retval=0")
	}
	if i.Delay > 0 {
		fmt.Fprintf(&b, ":delay_enter=%dus", i.Delay.Microseconds())
	}
	if i.Signal != "" {
		b.WriteString(":signal=" + i.Signal)
	}
	b.WriteString(":when=" + strconv.Itoa(max(i.From, 1)))
	if !i.Once {
		b.WriteString("+")
	}
	return b.String()
}

// Trouble is a running injection.
type Trouble struct {
	tracer *exec.Cmd
	done   chan error // capacity 1, so that the tracer can end without a receiver
}

// attachWithin bounds the time for strace to attach to every thread.
const attachWithin = 30 * time.Second

// Inject starts an injection for a process and returns when it is in effect.
func Inject(pid int, i Injection) (*Trouble, error) {
	if err := CanInject(); err != nil {
		return nil, err
	}
	tracer := exec.Command("strace", "-f", "-o", "/dev/null", "-p", strconv.Itoa(pid), "-e", "trace="+i.Calls, "-e", i.argument())
	said, err := tracer.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("trace %d: %w", pid, err)
	}
	if err := tracer.Start(); err != nil {
		return nil, fmt.Errorf("trace %d: %w", pid, err)
	}
	t := &Trouble{tracer: tracer, done: make(chan error, 1)}
	attached := make(chan string, 1) // the first line, capacity 1 for the same reason
	go func() {
		lines := bufio.NewReader(said)
		line, _ := lines.ReadString('\n') // an end without a line is an empty line
		attached <- line
		_, _ = io.Copy(io.Discard, lines)
		t.done <- tracer.Wait()
	}()
	timer := time.NewTimer(attachWithin)
	defer timer.Stop()
	select {
	case line := <-attached:
		if strings.Contains(line, "attached") {
			return t, nil
		}
		err = fmt.Errorf("trace %d: %s", pid, strings.TrimSpace(line))
	case <-timer.C:
		err = fmt.Errorf("trace %d: not attached within %v", pid, attachWithin)
	}
	return nil, errors.Join(err, t.Stop())
}

// Stop ends the injection, and the process continues.
func (t *Trouble) Stop() error {
	signalled := t.tracer.Process.Signal(syscall.SIGINT)
	err := <-t.done
	if signalled != nil {
		return nil // it had ended already, as it does when the traced process ends
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil // it was ended by the signal, or like the traced process
	}
	return err
}
