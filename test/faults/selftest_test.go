//go:build faults

package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/logcheck"
)

var (
	faultBinary = flag.String("fault-binary", "", "a server built with the tag faults: plants the bugs one by one")
	onlyBug     = flag.Int("bug", -1, "plant only this one; 0 is the control, without a bug")
)

// plantedBug is a bug that is put into the running server on purpose, and the
// shortest run that must find it (faults.md 11).
type plantedBug struct {
	number int
	text   string
	how    string   // it is planted
	must   []string // invariants of which one at least must be violated
	nodes  int      // 0: three
	disks  bool
	args   []string // of the nodes
	script func(*plot) error
	// unit finds it without a server, where no server can show it.
	unit func(*testing.T) []check.Violation
}

// finding is what became of a planted bug.
type finding struct {
	bug     plantedBug
	fired   []string // invariants that were violated, the ones it must come first
	first   string   // violation of one that must be
	took    time.Duration
	verdict string
	err     error
}

const (
	verdictFound  = "found"
	verdictMissed = "MISSED"
	verdictQuiet  = "quiet, as it must be"
	verdictFalse  = "FALSE ALARM"
	verdictBroken = "DID NOT RUN"
)

// selftestLimit is the smoke budget of one bug.
const selftestLimit = 170 * time.Second

// TestSelftest plants every bug of the table and wants it found, and wants
// silence without a bug. It runs if it is given a fault build.
func TestSelftest(t *testing.T) {
	if *faultBinary == "" {
		return // make faults-selftest
	}
	binary, err := filepath.Abs(*faultBinary)
	if err != nil {
		t.Fatal(err)
	}
	dir := *output
	if dir == "" {
		dir = t.TempDir()
	}
	var found []finding
	for _, bug := range plantedBugs {
		if *onlyBug >= 0 && bug.number != *onlyBug {
			continue
		}
		f := bug.hunt(t, binary, filepath.Join(dir, fmt.Sprintf("bug-%02d", bug.number)))
		t.Logf("%2d %-18s %6.1f s  %v %s", bug.number, f.verdict, f.took.Seconds(), f.fired, f.first)
		if f.err != nil {
			t.Logf("   %v", f.err)
		}
		if f.verdict != verdictFound && f.verdict != verdictQuiet {
			t.Errorf("bug %d (%s): %s", bug.number, bug.text, f.verdict)
		}
		found = append(found, f)
		if err := writeFindings(dir, found); err != nil {
			t.Error(err)
		}
	}
}

// hunt makes the run of one bug and says what the checkers found.
func (b plantedBug) hunt(t *testing.T, binary, dir string) finding {
	began := time.Now()
	f := finding{bug: b}
	var violations []check.Violation
	if b.unit != nil {
		violations = b.unit(t)
	} else {
		violations, f.err = b.run(t, binary, dir)
	}
	f.took = time.Since(began)
	for _, must := range []bool{true, false} {
		for _, v := range violations {
			if slices.Contains(b.must, v.Invariant) != must {
				continue
			}
			if must && f.first == "" {
				f.first = v.Text
			}
			if !slices.Contains(f.fired, v.Invariant) {
				f.fired = append(f.fired, v.Invariant)
			}
		}
	}
	switch {
	case b.number == 0 && f.err == nil && len(violations) == 0:
		f.verdict = verdictQuiet
	case b.number == 0 && len(violations) > 0:
		f.verdict, f.first = verdictFalse, violations[0].Text
	case f.first != "":
		f.verdict = verdictFound
	case f.err != nil:
		f.verdict = verdictBroken
	default:
		f.verdict = verdictMissed
	}
	return f
}

// plot is one planted bug on stage, with a client.
type plot struct {
	*stage
	ctx context.Context
	c   *client
	run Run
	// undrained queues are left as they are: nothing is said about their loss.
	undrained map[string]bool
	queues    []string
	gone      *harness.Node // stays down to the end
}

// run plants the bug in all nodes of a fresh cluster, plays the script, empties
// the queues and judges.
func (b plantedBug) run(t *testing.T, binary, dir string) (violations []check.Violation, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), selftestLimit)
	defer cancel()
	p, err := b.prepare(ctx, binary, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	watched, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	observer := p.newObserver()
	watching.Go(func() { observer.watch(watched) })
	stop := func() { unwatch(); watching.Wait() }
	defer stop()

	played := b.script(p)
	if played == nil {
		p.empty()
	}
	stop()
	part, err := p.run.judge(p.stage, true)
	if played != nil {
		played = fmt.Errorf("%w\n%s", played, p.cluster.LogTails())
	}
	return part.Report.Violations, errors.Join(err, played)
}

func (b plantedBug) prepare(ctx context.Context, binary, dir string) (*plot, error) {
	for _, sub := range []string{"nodes", "taps"} {
		if err := disk.Sweep(filepath.Join(dir, "nodes")); err != nil {
			return nil, err
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(dir, sub)), os.MkdirAll(filepath.Join(dir, sub), 0o755)); err != nil {
			return nil, err
		}
	}
	recorder, err := history.NewRecorder(historyPath(dir, 0))
	if err != nil {
		return nil, err
	}
	s := &stage{
		seed: 1, pace: 20 * time.Millisecond, hooks: true, recorder: recorder, logChecker: logcheck.New(dir),
		rules: history.Rules{
			Seed: 1, Started: time.Now().UnixMilli(), Window: 3e6, Attempt: 60e6, Visibility: 3e6, Slack: 1e6,
			Windows: map[string]int64{"long.fifo": 300e6},
		},
	}
	recorder.Add(history.Event{Kind: history.KindRun, Detail: history.Detail{Rules: &s.rules}})
	nodes := b.nodes
	if nodes == 0 {
		nodes = 3
	}
	if b.disks {
		if s.disks, err = disk.New(filepath.Join(dir, "nodes"), disk.DefaultBytes, nodeNames[:nodes]...); err != nil {
			return nil, err
		}
	}
	s.cluster, err = harness.Start(ctx, harness.Options{
		Binary: binary, Dir: filepath.Join(dir, "nodes"), Nodes: nodes, Args: append(slices.Clone(settings), b.args...),
		Env: func(node string) []string {
			env := []string{"SERIATIM_TAP=" + filepath.Join(dir, "taps", node+".jsonl")}
			if b.number > 0 {
				env = append(env, fmt.Sprintf("SERIATIM_PLANT=%d", b.number))
			}
			return env
		},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), s.close())
	}
	p := &plot{stage: s, ctx: ctx, run: Run{Dir: dir, Hooks: true}, undrained: map[string]bool{}}
	p.c = s.newClient(1, "selftest")
	p.probe = s.newClient(900, "probe")
	p.queues = []string{"q.fifo", "long.fifo", p.probe.queue()}
	for _, q := range p.queues {
		if err := p.c.create(ctx, q, attributesOf(s.rules, q)); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return p, nil
}

// empty starts what does not run and drains the queues.
func (p *plot) empty() {
	var nodes []*harness.Node
	for _, n := range p.cluster.Nodes {
		if n == p.gone {
			continue
		}
		if nodes = append(nodes, n); !n.Running() {
			_ = n.Start() // a node that stays down is found below
		}
	}
	// A queue that cannot be drained says nothing: then others must have fired.
	ctx, cancel := context.WithTimeout(p.ctx, 40*time.Second)
	defer cancel()
	var draining sync.WaitGroup
	for i, q := range p.queues {
		if p.undrained[q] {
			continue
		}
		c := p.newClient(800+i, "drain")
		c.nodes = nodes
		draining.Go(func() {
			defer c.close()
			c.drain(ctx, q)
		})
	}
	draining.Wait()
}

// writeFindings writes the table, for people and for the repository.
func writeFindings(dir string, found []finding) error {
	var md, page strings.Builder
	md.WriteString("| # | bug | how planted | must fire | fired | seconds | verdict |\n|---|---|---|---|---|---|---|\n")
	page.WriteString("<!doctype html><meta charset=utf-8><title>planted bugs</title><style>body{font:14px sans-serif}td,th{border:1px solid #999;padding:3px 8px;text-align:left}table{border-collapse:collapse}</style><h1>Planted bugs</h1><table><tr><th>#<th>bug<th>how planted<th>must fire<th>fired<th>seconds<th>verdict<th>first violation\n")
	clean := strings.NewReplacer("&", "&amp;", "<", "&lt;", "\n", " ")
	for _, f := range found {
		fmt.Fprintf(&md, "| %d | %s | %s | %s | %s | %.0f | %s |\n", f.bug.number, f.bug.text, f.bug.how,
			strings.Join(f.bug.must, " "), strings.Join(f.fired, " "), f.took.Seconds(), f.verdict)
		first := f.first
		if f.err != nil {
			first += " (" + f.err.Error() + ")"
		}
		fmt.Fprintf(&page, "<tr><td>%d<td>%s<td>%s<td>%s<td>%s<td>%.0f<td>%s<td>%s\n", f.bug.number, clean.Replace(f.bug.text), clean.Replace(f.bug.how),
			strings.Join(f.bug.must, " "), strings.Join(f.fired, " "), f.took.Seconds(), f.verdict, clean.Replace(first))
	}
	page.WriteString("</table>\n")
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "selftest.md"), []byte(md.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "selftest.html"), []byte(page.String()), 0o644),
	)
}
