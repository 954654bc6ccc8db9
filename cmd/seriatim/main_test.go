package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest/freeport"
)

// runMain in the environment makes the test binary run the program. dev starts its nodes from its
// own executable, which in a test is the test binary.
const runMain = "TEST_BINARY_IS_SERIATIM"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	// The server refuses unknown variables, such as those of other tests.
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "SERIATIM_") {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// waitMax bounds every wait for an event; machines of tests are slow.
const waitMax = 2 * time.Minute

// freeBase finds a base port with n nodes' ports free.
func freeBase(t *testing.T, nodes int) int {
	t.Helper()
	base, err := freeport.Take(10 * nodes)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// lines collects the output of a process and lets a test wait for a line. Safe for concurrent use.
type lines struct {
	mu      sync.Mutex
	seen    []string
	changed chan struct{} // closed and replaced with each line, and at the end
	ended   bool
	done    chan struct{} // closed after the last line
}

func collect(r io.Reader) *lines {
	l := &lines{changed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		s := bufio.NewScanner(r)
		for s.Scan() {
			l.add(s.Text(), false)
		}
		l.add("", true)
	}()
	return l
}

func (l *lines) add(line string, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ended {
		l.ended = true
	} else {
		l.seen = append(l.seen, line)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.seen, "\n")
}

// wait returns the parts of the n-th line, counted from 1, that pattern matches.
func (l *lines) wait(t *testing.T, pattern string, n int) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(waitMax)
	for {
		l.mu.Lock()
		changed, ended, found := l.changed, l.ended, 0
		for _, line := range l.seen {
			if m := re.FindStringSubmatch(line); m != nil {
				if found++; found == n {
					l.mu.Unlock()
					return m
				}
			}
		}
		l.mu.Unlock()
		if ended {
			t.Fatalf("the output ended without line %d of %q:\n%s", n, pattern, l.text())
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain for line %d of %q:\n%s", n, pattern, l.text())
		}
	}
}

// process is a running program.
type process struct {
	cmd      *exec.Cmd
	out, err *lines
	done     chan struct{} // closed when it has ended
}

func startProcess(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, args...), done: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), runMain+"=1"), env...)
	outRead, outWrite := io.Pipe()
	errRead, errWrite := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = outWrite, errWrite
	p.out, p.err = collect(outRead), collect(errRead)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is read from the process state
		_ = outWrite.Close()
		_ = errWrite.Close()
		<-p.out.done
		<-p.err.done
		close(p.done)
	}()
	t.Cleanup(func() {
		select {
		case <-p.done:
		default:
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			p.wait(t)
		}
		if t.Failed() {
			t.Logf("standard output:\n%s\nstandard error:\n%s", p.out.text(), p.err.text())
		}
	})
	return p
}

func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(waitMax):
		_ = p.cmd.Process.Kill()
		t.Fatal("the process did not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// tool runs a command in this process and returns its output, and its exit code.
func tool(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out, words strings.Builder
	ctx, cancel := context.WithTimeout(t.Context(), waitMax)
	defer cancel()
	code := run(ctx, args, strings.NewReader(""), &out, &words)
	return out.String() + words.String(), int(code)
}

// must runs a command that has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, code := tool(t, args...)
	if code != 0 {
		t.Fatalf("seriatim %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
