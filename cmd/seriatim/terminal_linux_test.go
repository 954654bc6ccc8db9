package main

import (
	"io"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// console runs the program on a pseudo-terminal, and draws its output as a terminal does.
type console struct {
	t        *testing.T
	cmd      *exec.Cmd
	user     *os.File // the side of the user
	program  *os.File // the side of the program
	before   *term.State
	ended    chan struct{} // closed when the program has ended and its output is drawn
	mu       sync.Mutex
	screen   *vt.Emulator
	raw      strings.Builder
	changed  chan struct{} // closed and replaced with each output
	finished bool
}

// onTerminal starts the program on a terminal of a size.
func onTerminal(t *testing.T, width, height int, env []string, args ...string) *console {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, screen: vt.NewEmulator(width, height), ended: make(chan struct{}), changed: make(chan struct{})}
	c.user, c.program = terminal(t)
	c.resize(width, height)
	if c.before, err = term.GetState(c.program.Fd()); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(self, args...)
	c.cmd.Env = append(append(os.Environ(), runMain+"=1", "TERM=xterm-256color", "NO_COLOR="), env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.program, c.program, c.program
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	replied := make(chan struct{})
	go func() { // the terminal answers questions of the program
		defer close(replied)
		_, _ = io.Copy(c.user, c.screen) // it ends with the emulator
	}()
	drawn := make(chan struct{})
	go c.draw(drawn)
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // the exit code is read from the process state
		const mark = "\x1b]seriatim-test-ended\a"
		_, _ = c.program.WriteString(mark) // draw ends there: everything before it is drawn
		<-drawn
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has ended, unless the test failed
		<-c.ended
		if t.Failed() {
			t.Logf("screen:\n%s", c.text())
		}
		_ = c.screen.InputPipe().(io.Closer).Close()
		<-replied
		_ = c.program.Close()
	})
	return c
}

// draw draws the output until the mark of the end.
func (c *console) draw(drawn chan struct{}) {
	defer close(drawn)
	part := make([]byte, 4096)
	for {
		n, err := c.user.Read(part)
		c.mu.Lock()
		c.raw.Write(part[:n])
		_, _ = c.screen.Write(part[:n]) // the emulator accepts everything
		c.finished = err != nil || strings.Contains(c.raw.String(), "seriatim-test-ended")
		close(c.changed)
		c.changed = make(chan struct{})
		finished := c.finished
		c.mu.Unlock()
		if finished {
			return
		}
	}
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

func (c *console) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

func (c *console) resize(width, height int) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.screen.Resize(width, height)
	size := &unix.Winsize{Col: uint16(width), Row: uint16(height)} //nolint:gosec // sizes of tests
	if err := unix.IoctlSetWinsize(int(c.user.Fd()), unix.TIOCSWINSZ, size); err != nil {
		c.t.Fatal(err)
	}
}

// press types keys.
func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := c.user.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// await waits until the screen matches a pattern, and not another one, if it is not empty.
func (c *console) await(pattern, without string) {
	c.t.Helper()
	want, unwanted := regexp.MustCompile(pattern), regexp.MustCompile(without)
	deadline := time.After(waitMax)
	for {
		c.mu.Lock()
		text, changed, finished := c.screen.String(), c.changed, c.finished
		c.mu.Unlock()
		if want.MatchString(text) && (without == "" || !unwanted.MatchString(text)) {
			return
		}
		if finished {
			c.t.Fatalf("the program ended without %q and with %q", pattern, without)
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited in vain for %q, without %q", pattern, without)
		}
	}
}

// end waits for the end of the program and checks its exit code.
func (c *console) end(code int) {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(waitMax):
		c.t.Fatal("the program does not end")
	}
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d\n%s", got, code, c.text())
	}
}

const (
	enter   = "\r"
	escape  = "\x1b"
	control = "\x03" // Ctrl-C
)

// stuckGroup makes a node with a queue, in which a receiver holds a group.
func stuckGroup(t *testing.T) (endpoint string) {
	t.Helper()
	endpoint = devNode(t)
	for _, args := range []string{
		"queue create orders.fifo", "queue create jobs", "msg send orders.fifo held -g customer-9 -d 1",
		"msg receive orders.fifo --visibility-timeout 3600", "msg send orders.fifo free -g customer-1 -d 2",
	} {
		must(t, append(strings.Fields(args), "--endpoint", endpoint)...)
	}
	return endpoint
}

// TestTop goes from the queues to the holder of a stuck group, at the smallest usual size and after a
// change of the size, and leaves the terminal as it was.
func TestTop(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := stuckGroup(t)
	c := onTerminal(t, 80, 24, nil, "top", "--interval", "100ms", "--endpoint", endpoint)
	c.await(`(?s)\[1 queues\].*orders\.fifo +1 +1 .*jobs`, "")
	c.press("/order")
	c.await(`(?s)Filter: order_.*> orders\.fifo`, "jobs")
	c.press(enter)
	c.await(`1 with "order"`, "Filter")
	c.press(enter)
	c.await(`(?s)\[2 groups\].*orders\.fifo: 2 groups.*customer-9 +in-flight +(59m|1h)`, "")
	c.press("/-9" + enter)
	c.await(`1 with "-9"`, "customer-1")
	c.press(enter)
	c.await(`(?s)Group customer-9 of orders\.fifo.*State +in-flight.*Held by +127\.0\.0\.1:\d+, `+
		`.*seriatim-cli.*seriatim group release`, "")
	c.resize(140, 40)
	c.await(`(?s)customer-9.*\n(.*\n){30,}Esc back`, "")
	c.press(escape)
	c.await(`(?s)\[2 groups\].*> customer-9`, "")
	c.press("3")
	c.await(`(?s)\[3 consumers\].*127\.0\.0\.1:\d+ .*seriatim-cli`, "")
	c.press("4")
	c.await(`(?s)\[4 nodes\].*Healthy.*node-1 +leader +yes`, "")
	c.press("?")
	c.await("choose a row", "")
	c.press("?")
	c.await(`node-1 +leader`, "choose a row")
	c.press("1s")
	c.await(`SENT/S v`, "")
	must(t, "queue", "create", "order-new.fifo", "--endpoint", endpoint) // the screen goes on
	c.await(`order-new\.fifo`, "")
	c.press("q")
	c.end(0)
	c.restored()
}

// restored checks that the terminal is as before the program.
func (c *console) restored() {
	c.t.Helper()
	after, err := term.GetState(c.program.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if diff := cmp.Diff(c.before, after, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		c.t.Error(diff)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.screen.IsAltScreen() || c.screen.CursorHidden() {
		c.t.Errorf("alternate screen %v, hidden cursor %v", c.screen.IsAltScreen(), c.screen.CursorHidden())
	}
}

// TestTopWithoutANode keeps the last answer when the node is gone, and goes on when it is there again.
// Ctrl-C quits, too.
func TestTopWithoutANode(t *testing.T) {
	base, dir := freeBase(t, 1), t.TempDir()
	args := []string{"dev", "--base-port", strconv.Itoa(base), "--data-dir", dir}
	endpoint := "http://127.0.0.1:" + strconv.Itoa(base)
	node := startProcess(t, nil, args...)
	node.out.wait(t, "^ready", 1)
	must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint)
	c := onTerminal(t, 80, 24, []string{"NO_COLOR=1"}, "top", "--interval", "100ms", "--timeout", "2s", "--endpoint", endpoint)
	c.await("> orders.fifo", "No answer|last answer")
	node.signal(t, syscall.SIGTERM)
	node.wait(t)
	c.await(`(?s)The last answer is from \d\d:\d\d:\d\dZ.*> orders.fifo`, "")
	node = startProcess(t, nil, args...)
	node.out.wait(t, "^ready", 1)
	c.await("> orders.fifo", "last answer")
	c.press(control)
	c.end(0)
	c.restored()
	if colour := regexp.MustCompile(`\x1b\[([1-9]|[1-9][0-9;]*)m`).FindAllString(c.output(), -1); len(colour) > 0 {
		t.Errorf("colours in spite of NO_COLOR: %q", colour)
	}
}

// TestTopNeedsATerminal refuses a pipe, and an interval that is too short.
func TestTopNeedsATerminal(t *testing.T) {
	out, code := tool(t, "top")
	if code != 2 || !strings.Contains(out, "needs a terminal") || !strings.Contains(out, "queue list --watch") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	c := onTerminal(t, 80, 24, nil, "top", "--interval", "1ms")
	c.end(2)
	c.await("too short", "")
	c = onTerminal(t, 80, 24, []string{"TERM=dumb"}, "top")
	c.end(2)
	c.await("needs a terminal", "")
}

// TestMessageTail shows messages while they arrive, receives none, and ends with Ctrl-C or the queue.
func TestMessageTail(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	send := func(group, body string, more ...string) {
		t.Helper()
		must(t, append([]string{"msg", "send", "orders.fifo", body, "-g", group, "--endpoint", endpoint}, more...)...)
	}
	must(t, "queue", "create", "orders.fifo", "-a", "ContentBasedDeduplication=true", "--endpoint", endpoint)
	send("a", "before")
	c := onTerminal(t, 160, 24, nil, "msg", "tail", "orders.fifo", "--endpoint", endpoint)
	c.await("waiting for messages of orders.fifo", "")
	send("a", "first")
	c.await(`(?s)SEQUENCE +MESSAGE ID +GROUP +AGE +BYTES +BODY.*10000000000000000002  \S{36}  a +\d+s +5  first`, "before")
	send("b", "sec\u202eond")
	c.await("sec ond", "before|\u202e")
	c.press(control)
	c.end(0)
	c = onTerminal(t, 160, 24, nil, "msg", "tail", "orders.fifo", "--from", "start", "--group", "a", "--attribute", "kind=x", "--body", "r",
		"-o", "wide", "--endpoint", endpoint)
	send("a", "third", "--attribute", "kind=x")
	send("b", "fourth", "--attribute", "kind=x")
	send("a", "near", "--attribute", "kind=y")
	send("a", "other", "--attribute", "kind=x")
	c.await(`(?s)third  kind="x".*other  kind="x"`, "first|fourth|near")
	peeked := must(t, "msg", "peek", "orders.fifo", "-o", "json", "--endpoint", endpoint)
	if strings.Count(peeked, `"receiveCount": 0`) != 7 || strings.Count(peeked, `"state": "visible"`) != 7 {
		t.Errorf("the tail changed the queue: %s", peeked)
	}
	must(t, "queue", "delete", "orders.fifo", "--yes", "--endpoint", endpoint)
	c.end(3)
	c.await("QueueDoesNotExist", "")
}

// TestConfirmationOnATerminal asks, changes nothing after another answer, and acts after the name.
func TestConfirmationOnATerminal(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint)
	queues := func() string { return must(t, "queue", "list", "-o", "name", "--endpoint", endpoint) }
	for _, answer := range []string{"no" + enter, "yes" + enter, control} {
		c := onTerminal(t, 120, 24, nil, "queue", "delete", "orders.fifo", "--endpoint", endpoint)
		c.await("Type .*:", "")
		c.press(answer)
		c.end(map[string]int{control: 130}[answer] + map[string]int{"no" + enter: 2, "yes" + enter: 2}[answer])
		c.await("nothing was changed", "")
		if got := queues(); got != "orders.fifo\n" {
			t.Errorf("after %q: %s", answer, got)
		}
	}
	c := onTerminal(t, 120, 24, nil, "queue", "delete", "orders.fifo", "--endpoint", endpoint)
	c.await("Type .*:", "")
	c.press("orders.fifo" + enter)
	c.end(0)
	if got := queues(); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestProgressBar shows a bar with count, total, rate and time left for what takes over a second.
func TestProgressBar(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) }) // after the node has ended
	endpoint := devNode(t)
	must(t, "queue", "create", "jobs", "--endpoint", endpoint)
	c := onTerminal(t, 80, 24, nil, "msg", "send", "jobs", "hello", "--count", "400", "--rate", "100", "--endpoint", endpoint)
	c.await(`\[=+ +\] \d+ % \d+ of 400 sent, \d+/s, \d+s left`, "")
	c.end(0)
	c.await(`\[={20}\] 100 % 400 of 400 sent, \d+/s`, "left")
	file := t.TempDir() + "/jobs.jsonl"
	c = onTerminal(t, 50, 24, nil, "msg", "export", "jobs", file, "--rate", "200", "--endpoint", endpoint) // narrower than the bar
	c.await(`\[=+ +\] \d+ % \d+ of 400 expo`, "")
	c.end(0)
	if lines := strings.Count(c.text(), "["); lines != 1 {
		t.Errorf("%d bars on the screen", lines)
	}
}
