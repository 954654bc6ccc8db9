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

// Inside runs a test binary's work in a network with nothing but a loopback
// interface, so that no firewall of the machine meddles with a lab and nothing
// leaves the machine, and with mounts of its own: it starts this program once more with the same arguments, as
// root in a new network namespace, otherwise in a user namespace as well, waits
// for it, and returns its exit code. If the kernel refuses, work is done right
// here. Call it first in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(network.Inside(m.Run)) }
func Inside(work func() int) int {
	if os.Getenv(insideVariable) != "" {
		// What is mounted here stays here: namespaces that others make would
		// else keep a disk in use after it was unmounted.
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

// again starts this program in new namespaces and waits for its end. An error
// says that it did not start.
func again() (int, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the own program: %w", err)
	}
	cmd := exec.Command(program, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// No proxy of the machine can be reached from inside.
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
	// What go test sends at a timeout is for the child.
	signals := make(chan os.Signal, 4) // more at once are the same wish
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT)
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				// Its end makes the error.
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
			return 2, nil // by a signal; go test itself says 2 at a timeout
		}
		return exit.ExitCode(), nil
	}
	return 0, nil
}
