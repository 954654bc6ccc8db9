package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	readyPoll    = 25 * time.Millisecond // between two checks whether a node is ready
	restartPause = time.Second           // before the restart of a node that ran for less than shortLife
	shortLife    = 5 * time.Second
	stopMargin   = 3 * time.Second // after the node's own limit for stopping, before the kill
	logTailBytes = 2048
)

// supervisor runs the nodes of a dev cluster as child processes. Only the goroutine of run uses
// the fields below the empty line.
type supervisor struct {
	flags  devFlags
	dir    string
	binary string
	pass   []string // settings for every node
	out    io.Writer
	words  io.Writer

	started  time.Time
	children []*child // by node number - 1
	running  int
	unready  int // nodes that have never been ready
	events   chan event
	watchers sync.WaitGroup
}

// child is one start of one node.
type child struct {
	node    int
	cmd     *exec.Cmd
	stdin   io.Closer // closing it stops the node cleanly
	started time.Time
	log     io.Closer // nil when the log goes to standard error
	ready   bool
	ended   bool
}

// event is a message from a watching goroutine to run.
type event struct {
	child *child
	kind  eventKind
	err   error // of the ended process
}

type eventKind int

const (
	becameReady eventKind = iota
	processEnded
	startAgain
)

// run starts all nodes and returns when ctx ends, a node cannot start, or no
// node is left.
func (s *supervisor) run(ctx context.Context, started time.Time) error {
	s.started, s.unready = started, s.flags.nodes
	// Every child has at most one pending event of each kind, so a watcher never blocks, even
	// after run has returned.
	s.events = make(chan event, 3*s.flags.nodes)
	s.children = make([]*child, s.flags.nodes)
	ctx, cancel := context.WithCancel(ctx)
	defer s.watchers.Wait()
	defer cancel()
	defer s.stop()
	for node := 1; node <= s.flags.nodes; node++ {
		if err := s.start(ctx, node); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.events:
			if err := s.handle(ctx, e); err != nil {
				return err
			}
		}
	}
}

func (s *supervisor) handle(ctx context.Context, e event) error {
	switch e.kind {
	case becameReady:
		if e.child.ended {
			return nil
		}
		e.child.ready = true
		if s.unready == 0 {
			s.say("node %d is ready again", e.child.node)
			return nil
		}
		if s.unready--; s.unready == 0 {
			if err := s.flags.createEntities(ctx); err != nil {
				return err
			}
			return printReady(s.out, s.flags, time.Since(s.started))
		}
	case startAgain:
		return s.start(ctx, e.child.node)
	case processEnded:
		return s.handleEnd(ctx, e)
	}
	return nil
}

func (s *supervisor) handleEnd(ctx context.Context, e event) error {
	s.finish(e.child)
	s.running--
	s.say("node %d (pid %d) ended: %s", e.child.node, e.child.cmd.Process.Pid, endOf(e.err))
	switch {
	case s.flags.restart && curable(e.err):
		s.startLater(ctx, e.child)
		return nil
	case s.flags.restart:
		s.say("node %d is not started again, because it would end the same way\n%s", e.child.node, s.logTail(e.child.node))
	}
	if !e.child.ready && s.unready > 0 {
		return exit.New(exit.Failed, fmt.Errorf("node %d ended before the cluster was ready: %s", e.child.node, endOf(e.err)),
			s.logTail(e.child.node))
	}
	if s.running == 0 {
		return exit.New(exit.Failed, errors.New("no node is left"), "start it again, or use --restart to restart nodes")
	}
	return nil
}

// start begins one node and the goroutines that watch it.
func (s *supervisor) start(ctx context.Context, node int) error {
	c, err := s.spawn(node)
	if err != nil {
		return fmt.Errorf("start node %d: %w", node, err)
	}
	s.children[node-1] = c
	s.running++
	ended, over := context.WithCancel(ctx)
	s.watchers.Go(func() {
		err := c.cmd.Wait()
		over()
		s.events <- event{child: c, kind: processEnded, err: err}
	})
	s.watchers.Go(func() {
		if awaitReady(ended, s.flags.addresses(node).admin) {
			s.events <- event{child: c, kind: becameReady}
		}
	})
	// The process is watched first, because this write may fail.
	_, err = io.WriteString(s.out, nodeLine(node, c.cmd.Process.Pid, s.flags.addresses(node)))
	return err
}

func (s *supervisor) startLater(ctx context.Context, c *child) {
	pause := time.Duration(0)
	if time.Since(c.started) < shortLife {
		pause = restartPause
	}
	s.watchers.Go(func() {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			s.events <- event{child: c, kind: startAgain}
		}
	})
}

func (s *supervisor) spawn(node int) (*child, error) {
	a, dir := s.flags.addresses(node), nodeDirectory(s.dir, node)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	join := make([]string, s.flags.nodes)
	for i := range join {
		join[i] = s.flags.addresses(i + 1).gossip
	}
	args := []string{
		"server", "--supervised", "--node-name", "node-" + strconv.Itoa(node), "--data-dir", dir,
		"--client-addr", a.client, "--admin-addr", a.admin, "--peer-addr", a.peer, "--gossip-addr", a.gossip,
		"--bootstrap-expect", strconv.Itoa(s.flags.nodes), "--join", strings.Join(join, ","),
		"--auth=" + strconv.FormatBool(s.flags.auth), "--first-key-file", s.flags.keyFile,
		"--insecure-admin", "--insecure-peers",
	}
	c := &child{node: node, started: time.Now(), cmd: exec.Command(s.binary, append(args, s.pass...)...)}
	c.cmd.Env = append(os.Environ(), s.processors()...)
	detach(c.cmd)
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	if s.flags.verbose {
		c.cmd.Stdout, c.cmd.Stderr = s.words, s.words // each line names its node
	} else {
		file, err := os.OpenFile(s.logFile(node), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
		if err != nil {
			return nil, err
		}
		c.log, c.cmd.Stdout, c.cmd.Stderr = file, file, file
	}
	if err := start(c.cmd); err != nil {
		if c.log != nil {
			err = errors.Join(err, c.log.Close())
		}
		return nil, err
	}
	return c, nil
}

// nodeProcessorsMin lets a node continue while its log is synced: the waiting thread blocks one
// processor for a millisecond or two. On a machine with two processors, three nodes with two each
// made up to 1.2 times as many sends as three nodes with one each.
const nodeProcessorsMin = 2

// processors returns the environment variable that gives each node its share of the processors,
// unless the operator has set it. Otherwise each node would start a thread for each processor of
// the machine.
func (s *supervisor) processors() []string {
	const variable = "GOMAXPROCS"
	if os.Getenv(variable) != "" {
		return nil
	}
	return []string{fmt.Sprintf("%s=%d", variable, max(nodeProcessorsMin, runtime.GOMAXPROCS(0)/s.flags.nodes))}
}

// stop stops every node, and kills those that exceed their time.
func (s *supervisor) stop() {
	for _, c := range s.children {
		if c != nil && !c.ended {
			_ = c.stdin.Close() // an error means that the node has ended
		}
	}
	deadline := time.NewTimer(s.stopLimit() + stopMargin)
	defer deadline.Stop()
	for s.running > 0 {
		select {
		case e := <-s.events:
			if e.kind == processEnded {
				s.finish(e.child)
				s.running--
			}
		case <-deadline.C:
			for _, c := range s.children {
				if c != nil && !c.ended {
					s.say("node %d (pid %d) did not stop in time and is killed", c.node, c.cmd.Process.Pid)
					_ = c.cmd.Process.Kill() // an error means that the node has ended
				}
			}
		}
	}
}

// stopLimit returns the shutdown-timeout of the nodes.
func (s *supervisor) stopLimit() time.Duration {
	const flag = "--shutdown-timeout="
	for _, p := range s.pass {
		if text, ok := strings.CutPrefix(p, flag); ok {
			if d, err := time.ParseDuration(text); err == nil {
				return d
			}
		}
	}
	return 10 * time.Second
}

func (s *supervisor) finish(c *child) {
	c.ended = true
	if c.log != nil {
		_ = c.log.Close() // the node wrote to it, not this process
	}
}

func (s *supervisor) say(format string, args ...any) {
	fmt.Fprintf(s.words, format+"\n", args...) //nolint:errcheck // a failed write cannot be reported
}

func (s *supervisor) logFile(node int) string {
	return filepath.Join(nodeDirectory(s.dir, node), "seriatim.log")
}

// logTail returns the end of the node's log, which shows why it ended.
func (s *supervisor) logTail(node int) string {
	if s.flags.verbose {
		return ""
	}
	text, err := os.ReadFile(s.logFile(node))
	if err != nil {
		return ""
	}
	text = text[max(0, len(text)-logTailBytes):]
	if i := strings.IndexByte(string(text), '\n'); len(text) == logTailBytes && i >= 0 {
		text = text[i+1:]
	}
	return "the end of " + s.logFile(node) + ":\n" + strings.TrimRight(string(text), "\n")
}

// awaitReady polls a node until it is ready or ctx ends.
func awaitReady(ctx context.Context, admin string) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/healthz/ready", nil)
		if err != nil {
			return false
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close() // the status suffices
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func endOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// curable reports whether a restart can help: after a kill or a disk error it can, with wrong
// settings or damaged data it cannot.
func curable(err error) bool {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return true
	}
	switch code := ended.ExitCode(); cluster.ExitCode(code) {
	case cluster.ExitChecksum, cluster.ExitStateMismatch, cluster.ExitLostData, cluster.ExitUnknownFormat, cluster.ExitRemoved,
		cluster.ExitOtherHistory, cluster.ExitKeyMissing:
		return false
	default:
		return exit.Code(code) != exit.Config
	}
}
