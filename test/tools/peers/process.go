package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endTime is the time after which a server that has not ended is killed.
const endTime = 10 * time.Second

// server is a process that this program started, with its children.
type server struct {
	process *exec.Cmd
	slowed  bool          // it is traced
	ended   chan struct{} // closed when it was waited for
	log     string
}

// startServer starts a program in a session and process group of its own, which end with it, and writes its
// output to a file of dir. Its syncs take the time of the disk, see slowed.
func startServer(dir, name string, process *exec.Cmd, disk time.Duration) (*server, error) {
	process = slowed(process, disk)
	s := &server{process: process, slowed: disk != 0, ended: make(chan struct{}), log: filepath.Join(dir, name+".log")}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	defer log.Close() // the process has its own descriptor
	process.Stdout, process.Stderr = log, log
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = process.Wait() // the log tells how it ended
		close(s.ended)
	}()
	return s, nil
}

// close asks the process to end, and kills its group if it does not.
func (s *server) close() {
	asked := s.process.Process.Pid // it may have ended already
	if s.slowed {                  // the tracer ends with the last process that it traces
		asked = -asked
	}
	_ = syscall.Kill(asked, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(endTime):
	}
	_ = syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL) // what is left of its group
	<-s.ended
}

// spent returns the processor time of the servers' processes that run, with their threads and ended
// children. It is 0 where the system does not tell.
func spent(servers []*server) (sum time.Duration) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is correct
	for _, path := range stats {
		text, err := os.ReadFile(path)
		_, after, found := strings.Cut(string(text), ") ") // the name of the program may have spaces
		fields := strings.Fields(after)
		if err != nil || !found || len(fields) < 15 {
			continue // it ended
		}
		session, _ := strconv.Atoi(fields[3]) // the fields are numbers
		if !slices.ContainsFunc(servers, func(s *server) bool { return s.process.Process.Pid == session }) {
			continue
		}
		for _, field := range fields[11:15] {
			ticks, _ := strconv.ParseInt(field, 10, 64) // as above
			sum += time.Duration(ticks) * time.Second / clockTicks
		}
	}
	return sum
}

// clockTicks are the units of processor time in a second, the same on all systems with Linux.
const clockTicks = 100

// tail returns the end of the server's output.
func (s *server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(len(text)-1000, 0):])
}

func closeAll(servers []*server) {
	for _, s := range servers {
		s.close()
	}
}

// await repeats a check until it succeeds. A server of another project has no
// event to wait for.
func await(ctx context.Context, within time.Duration, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		// What is asked of some servers before they are ready is never answered.
		try, over := context.WithTimeout(ctx, 3*time.Second)
		err := check(try)
		over()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within %v: %w", within, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// freeRange finds the first of n free ports in a row. Those below the ones
// that the system gives to connections stay free until they are used.
func freeRange(n int) (int, error) {
	for base := 20000; base < 32000; base += 100 {
		if free(base, n) {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row", n)
}

func free(base, n int) bool {
	for port := base; port < base+n; port++ {
		listener, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

// firstLine returns the first line of the output of a program.
func firstLine(ctx context.Context, name string, args ...string) string {
	text, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "unknown version"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
