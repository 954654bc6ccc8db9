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
	onlyBug     = flag.Int("bug", -1, "only this one and its control; 0: all controls, without a bug")
)

// plantedBug is a bug that is deliberately put into the server, with the shortest run that must
// detect it (faults.md 11).
type plantedBug struct {
	number int
	text   string
	how    string // where it is planted
	// must lists the violations that must be found, each with its invariant and the checker for it.
	// Findings of other checkers do not count.
	must   []string
	nodes  int // 0: three
	disks  bool
	args   []string // of the nodes
	script func(*plot)
	// unit makes the history without a server, for bugs that no server can show.
	unit func(t *testing.T, plant bool) []history.Event
}

// finding is the result of a run with or without a planted bug.
type finding struct {
	bug     plantedBug
	planted bool
	fired   []string // invariants with their checkers, in order of their first violation
	first   string   // a violation among those that must be found, or else any violation
	took    time.Duration
	err     error
}

const (
	verdictFound  = "found"
	verdictMissed = "MISSED"
	verdictQuiet  = "quiet"
	verdictFalse  = "FALSE ALARM"
	verdictBroken = "DID NOT RUN"
)

// verdict is "found" if the script finished and every named checker fired, and "quiet" if it
// finished and none did.
func (f finding) verdict() string {
	switch {
	case !f.planted && len(f.fired) > 0:
		return verdictFalse
	case f.err != nil:
		return verdictBroken
	case !f.planted:
		return verdictQuiet
	case len(f.missing()) > 0:
		return verdictMissed
	}
	return verdictFound
}

// missing returns the named checkers that did not fire.
func (f finding) missing() []string {
	return slices.DeleteFunc(slices.Clone(f.bug.must), func(must string) bool { return slices.Contains(f.fired, must) })
}

func (f finding) good() bool { return f.verdict() == verdictFound || f.verdict() == verdictQuiet }

// selftestLimit bounds the time for one bug.
const selftestLimit = 170 * time.Second

// TestSelftest plants every bug of the table, which must be found. The same script without the bug
// must find nothing. It needs a fault build.
func TestSelftest(t *testing.T) {
	if *faultBinary == "" {
		return // only make faults-selftest
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
	for _, bug := range append(slices.Clone(plantedBugs), bodyBugs()...) {
		for _, planted := range []bool{false, true} {
			if *onlyBug > 0 && bug.number != *onlyBug || *onlyBug == 0 && planted {
				continue
			}
			f := bug.hunt(t, binary, filepath.Join(dir, fmt.Sprintf("bug-%02d-%v", bug.number, planted)), planted)
			t.Logf("%2d planted %-5v %-11s %6.1f s  %q %s", bug.number, planted, f.verdict(), f.took.Seconds(), f.fired, f.first)
			if f.err != nil {
				t.Logf("   %v", f.err)
			}
			if !f.good() {
				t.Errorf("bug %d (%s), planted %v: %s, missing %q", bug.number, bug.text, planted, f.verdict(), f.missing())
			}
			found = append(found, f)
			if err := writeFindings(dir, found); err != nil {
				t.Error(err)
			}
		}
	}
}

// hunt makes the run of one bug, or its control run, and returns the findings of the checkers.
func (b plantedBug) hunt(t *testing.T, binary, dir string, planted bool) finding {
	began := time.Now()
	f := finding{bug: b, planted: planted}
	var violations []check.Violation
	if b.unit != nil {
		violations = check.Check(b.unit(t, planted)).Violations
	} else {
		violations, f.err = b.run(t, binary, dir, planted)
	}
	f.took = time.Since(began)
	for _, v := range violations {
		name := v.Invariant + " " + v.Checker
		if f.first == "" || slices.Contains(b.must, name) &&
			!slices.ContainsFunc(f.fired, func(n string) bool { return slices.Contains(b.must, n) }) {
			f.first = v.Text
		}
		if !slices.Contains(f.fired, name) {
			f.fired = append(f.fired, name)
		}
	}
	return f
}

// plot runs the script of one planted bug on a testbed, with a client.
type plot struct {
	*testbed
	ctx context.Context
	c   *client
	run Run
	// undrained queues are not drained, so their losses are not judged.
	undrained map[string]bool
	queues    []string
	gone      *harness.Node // not restarted until the end
	hand      *injection    // records what the script does to nodes
}

// run starts a cluster with or without the bug, runs the script, drains the queues, and judges the
// history.
func (b plantedBug) run(t *testing.T, binary, dir string, planted bool) (violations []check.Violation, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), selftestLimit)
	defer cancel()
	p, err := b.prepare(ctx, binary, dir, planted)
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

	played := p.play(b.script)
	p.hand.tell()
	if played == nil {
		p.empty()
	}
	stop()
	observer.last()
	part, err := p.run.judge(p.testbed, true)
	if played != nil {
		played = fmt.Errorf("%w\n%s", played, p.cluster.LogTails())
	}
	return part.Report.Violations, errors.Join(err, played)
}

func (b plantedBug) prepare(ctx context.Context, binary, dir string, planted bool) (*plot, error) {
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
	s := &testbed{
		place: harness.Options{Dir: filepath.Join(dir, "nodes")},
		seed:  1, pace: 20 * time.Millisecond, hooks: true, recorder: recorder, logChecker: logcheck.New(dir),
		rules: history.Rules{
			Seed: 1, Started: time.Now().UnixMilli(), Window: 3e6, Attempt: 60e6, Visibility: 3e6, Slack: 1e6,
			Windows: map[string]int64{"long.fifo": 300e6},
		},
	}
	topics := client{} // names queues and topics as in the first part of a run
	s.rules.Subscriptions = topics.subscriptions()
	for _, x := range s.rules.Subscriptions {
		s.rules.Windows[x.Queue] = 300e6
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
		Binary: binary, Dir: filepath.Join(dir, "nodes"), Nodes: nodes, Args: slices.Concat(settings, bodySettings(*bodies), b.args),
		Env: func(node string) []string {
			env := []string{"SERIATIM_TAP=" + filepath.Join(dir, "taps", node+".jsonl")}
			if planted {
				env = append(env, fmt.Sprintf("SERIATIM_PLANT=%d", b.number))
			}
			return env
		},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), s.close())
	}
	p := &plot{testbed: s, ctx: ctx, run: Run{Dir: dir, Hooks: true}, undrained: map[string]bool{}, hand: &injection{testbed: s}}
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

// empty starts the nodes that are down and drains the queues.
func (p *plot) empty() {
	var nodes []*harness.Node
	for _, n := range p.cluster.Nodes {
		if n == p.gone {
			continue
		}
		if nodes = append(nodes, n); !n.Running() {
			_ = n.Start() // if a node stays down, this is detected below
		}
	}
	// If a queue cannot be drained, its losses are not judged, and other checkers must fire.
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

// writeFindings writes the table of results as text and for the repository.
func writeFindings(dir string, found []finding) error {
	var md, page strings.Builder
	md.WriteString("| # | bug | planted | how | must fire | fired | seconds | verdict |\n|---|---|---|---|---|---|---|---|\n")
	page.WriteString("<!doctype html><meta charset=utf-8><title>planted bugs</title><style>body{font:14px " +
		"sans-serif}td,th{border:1px solid #999;padding:3px " +
		"8px;text-align:left}table{border-collapse:collapse}</style><h1>Planted " +
		"bugs</h1><table><tr><th>#<th>bug<th>planted<th>how<th>must fire<th>fired<th>seconds<th>verdict<th>first violation\n")
	clean := strings.NewReplacer("&", "&amp;", "<", "&lt;", "\n", " ")
	for _, f := range found {
		planted, must := "no", ""
		if f.planted {
			planted, must = "yes", strings.Join(f.bug.must, ", ")
		}
		fired := strings.Join(f.fired, ", ")
		fmt.Fprintf(&md, "| %d | %s | %s | %s | %s | %s | %.0f | %s |\n", f.bug.number, f.bug.text, planted, f.bug.how, must, fired,
			f.took.Seconds(), f.verdict())
		first := f.first
		if f.err != nil {
			first += " (" + f.err.Error() + ")"
		}
		fmt.Fprintf(&page, "<tr><td>%d<td>%s<td>%s<td>%s<td>%s<td>%s<td>%.0f<td>%s<td>%s\n", f.bug.number, clean.Replace(f.bug.text),
			planted, clean.Replace(f.bug.how),
			must, fired, f.took.Seconds(), f.verdict(), clean.Replace(first))
	}
	page.WriteString("</table>\n")
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "selftest.md"), []byte(md.String()), 0o644),
		os.WriteFile(filepath.Join(dir, "selftest.html"), []byte(page.String()), 0o644),
	)
}

// last records the ends of processes since the observer's last look.
func (o *observer) last() {
	for _, n := range o.testbed.cluster.Nodes {
		if known := o.nodes[n.Name]; known != nil {
			o.ended(n, known)
		}
	}
}
