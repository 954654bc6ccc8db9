package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVariable marks the process that Inside started.
const insideVariable = "SERIATIM_TEST_INSIDE"

// Inside runs the tests of a binary in a new network namespace that has only a loopback interface,
// and in a new mount namespace. So no firewall of the machine affects a lab, and no packet leaves
// the machine. It starts this program again with the same arguments, in a user namespace too unless
// it is root, waits for it, and returns its exit code. If the kernel refuses, it calls work
// directly. Call it first in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(network.Inside(m.Run)) }
func Inside(work func() int) int {
	if os.Getenv(insideVariable) != "" {
		// Mounts must not spread to other mount namespaces, which would keep a disk in use after it
		// was unmounted.
		if err := errors.Join(setUp("lo"), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return work()
	}
	code, err := again()
	if err != nil {
		fmt.Fprintf(os.Stderr, "no network namespace of our own: %v\n", err)
		return work()
	}
	return code
}

// again starts this program in new namespaces and waits for its end. An error means that it did not
// start.
func again() (int, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the own program: %w", err)
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A proxy of the machine cannot be reached in the namespace.
	cmd.Env = slices.DeleteFunc(append(os.Environ(), insideVariable+"=1"), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasSuffix(strings.ToLower(name), "_proxy")
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	// The kernel kills the child when the thread ends that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// Pass on the signals that go test sends at a timeout.
	signals := make(chan os.Signal, 4) // more than one has the same meaning
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT)
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				// If it has ended, Wait returns its error.
				_ = cmd.Process.Signal(s)
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	signal.Stop(signals)
	close(ended)
	<-passed
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		if exit.ExitCode() < 0 {
			return 2, nil // ended by a signal; go test also exits with 2 at a timeout
		}
		return exit.ExitCode(), nil
	}
	return 0, nil
}
