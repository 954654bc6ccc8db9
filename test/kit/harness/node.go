package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// Node is one server process and what it keeps between starts: its name, its
// data directory and its ports. Safe for concurrent use.
type Node struct {
	Name    string
	DataDir string
	Client  string // host:port of the queue API
	Admin   string // host:port of health, status and metrics

	binary  string
	args    []string
	logPath string
	spawner *spawner
	env     func(node string) ([]string, error)
	network *network.Lab  // nil: the node uses the loopback interface
	host    *network.Host // its host in the lab, once the node has addresses
	named   bool          // the others refer to it by name

	mu      sync.Mutex
	process *process // the newest one, nil before the first start
	exits   []Exit
}

// Exit is the end of one process of a node.
type Exit struct {
	Pid  int
	Code int // negative: the signal that ended it
	At   time.Time
}

// Exits returns the ends of all processes of the node, in order.
func (n *Node) Exits() []Exit {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.exits)
}

// process is one run of a node. exited is closed after the process was waited for, and code is
// valid from then on.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	code   int
}

// Start starts the node's process. The extra arguments apply only to this run. It does not wait
// until the node answers.
func (n *Node) Start(extra ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil && !n.process.gone() {
		return fmt.Errorf("start %s: it runs already with pid %d", n.Name, n.process.cmd.Process.Pid)
	}
	log, err := os.OpenFile(n.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	// The child has its own copy of the descriptor.
	defer log.Close()
	cmd := exec.Command(n.binary, append(append([]string(nil), n.args...), extra...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = cleanEnvironment(os.Environ())
	env, err := n.env(n.Name)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	cmd.Env = append(cmd.Env, env...)
	start := n.spawner.start
	if n.host != nil {
		start = n.host.Start
	}
	if err := start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	n.process = p
	go func() {
		err := cmd.Wait()
		p.code = exitCode(err)
		n.mu.Lock()
		n.exits = append(n.exits, Exit{Pid: cmd.Process.Pid, Code: p.code, At: time.Now()})
		n.mu.Unlock()
		close(p.exited)
	}()
	return nil
}

// cleanEnvironment removes the variables that would configure the server, so that only the
// arguments of the test apply.
func cleanEnvironment(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, "SERIATIM_") {
			out = append(out, v)
		}
	}
	return out
}

// exitCode returns the code of a process, or minus the number of the signal that ended it.
func exitCode(err error) int {
	var exit *exec.ExitError
	if err == nil {
		return 0
	}
	if !errors.As(err, &exit) {
		return -1000
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -int(status.Signal())
	}
	return exit.ExitCode()
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (n *Node) current() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process
}

// Running reports whether the node's process exists.
func (n *Node) Running() bool {
	p := n.current()
	return p != nil && !p.gone()
}

// Pid returns the id of the newest process, 0 if there was none.
func (n *Node) Pid() int {
	if p := n.current(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Kill ends the process with SIGKILL and waits until it is gone.
func (n *Node) Kill() error { return n.end(syscall.SIGKILL, time.Minute) }

// Stop ends the process with SIGTERM and waits for it. It fails if the process does not exit with
// code 0 in time.
func (n *Node) Stop(within time.Duration) error {
	if err := n.end(syscall.SIGTERM, within); err != nil {
		return err
	}
	if p := n.current(); p != nil && p.code != 0 {
		return fmt.Errorf("stop %s: exit code %d", n.Name, p.code)
	}
	return nil
}

func (n *Node) end(signal syscall.Signal, within time.Duration) error {
	p := n.current()
	if p == nil || p.gone() {
		return nil
	}
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", n.Name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(within):
		return fmt.Errorf("%s did not end within %v after %v", n.Name, within, signal)
	}
}

// Pause stops the process with SIGSTOP: it keeps its ports and files but does nothing.
func (n *Node) Pause() error { return n.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (n *Node) Resume() error { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(signal syscall.Signal) error {
	p := n.current()
	if p == nil || p.gone() {
		return fmt.Errorf("signal %s: it does not run", n.Name)
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s: %w", n.Name, err)
	}
	return nil
}

// WaitExit waits until the process ends by itself and returns its exit code.
func (n *Node) WaitExit(within time.Duration) (int, error) {
	p := n.current()
	if p == nil {
		return 0, fmt.Errorf("%s was never started", n.Name)
	}
	select {
	case <-p.exited:
		return p.code, nil
	case <-time.After(within):
		return 0, fmt.Errorf("%s still runs after %v", n.Name, within)
	}
}

// Log returns the output of the node over all its runs.
func (n *Node) Log() string {
	text, err := os.ReadFile(n.logPath)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// LogTail returns the last few KiB of the log.
func (n *Node) LogTail() string {
	const keep = 6 << 10
	text := n.Log()
	if len(text) > keep {
		text = "...\n" + text[len(text)-keep:]
	}
	return text
}

// Files returns the regular files of the data directory whose relative path contains part, sorted
// by path.
func (n *Node) Files(part string) ([]string, error) {
	var found []string
	err := filepath.Walk(n.DataDir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(n.DataDir, path)
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && strings.Contains(rel, part) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("walk the data of %s: %w", n.Name, err)
	}
	return found, nil
}

// Peer returns the host:port at which other nodes reach the node.
func (n *Node) Peer() string { return n.flag("--peer-addr") }

// Gossip returns the host:port of gossip.
func (n *Node) Gossip() string { return n.flag("--gossip-addr") }
