package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespace is one host: a thread of this process in a network namespace of its own, from which
// programs are started. The kernel removes the namespace when the thread and the last program in it
// have ended, so that nothing stays behind however this process ends. Safe for concurrent use until
// it is closed.
type namespace struct {
	work chan func()   // unbuffered: one call at a time
	done chan struct{} // closed when the thread is gone
	net  *os.File      // the open namespace
}

// newNamespace starts the thread. If hosts is not empty, this file replaces /etc/hosts there.
func newNamespace(hosts string) (*namespace, error) {
	n := &namespace{work: make(chan func()), done: make(chan struct{})}
	ready := make(chan error, 1) // capacity 1, so that the thread does not wait
	go n.run(hosts, ready)
	if err := <-ready; err != nil {
		<-n.done
		return nil, err
	}
	return n, nil
}

// run is the body of the thread, which ends with the goroutine because the goroutine never unlocks
// it.
func (n *namespace) run(hosts string, ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread of a process cannot end before the process. Hold it until another one is
		// used.
		taken := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(taken)
			n.serve(hosts, ready)
		}()
		<-taken
		runtime.UnlockOSThread()
		return
	}
	n.serve(hosts, ready)
}

func (n *namespace) serve(hosts string, ready chan<- error) {
	defer close(n.done)
	err := n.unshare(hosts)
	ready <- err
	if err != nil {
		return
	}
	for f := range n.work {
		f()
	}
}

func (n *namespace) unshare(hosts string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	if hosts != "" {
		if err := errors.Join(
			unix.Unshare(unix.CLONE_NEWNS),
			unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""),
			unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""),
		); err != nil {
			return fmt.Errorf("give a namespace its own /etc/hosts: %w", err)
		}
	}
	file, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("name a network namespace: %w", err)
	}
	n.net = file
	if err := setUp("lo"); err != nil {
		file.Close()
		return err
	}
	return nil
}

// do calls f on the thread of the namespace.
func (n *namespace) do(f func() error) error {
	result := make(chan error, 1) // capacity 1, so that the thread does not wait
	n.work <- func() { result <- f() }
	return <-result
}

// start starts a program in the namespace. The kernel kills it when the namespace is closed or this
// process ends.
func (n *namespace) start(cmd *exec.Cmd) error {
	return n.do(func() error {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		return cmd.Start()
	})
}

// close ends the thread.
func (n *namespace) close() {
	close(n.work)
	<-n.done
	n.net.Close()
}
