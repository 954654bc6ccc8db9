package crash

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// shortOps and shortStates limit the test in `make test`.
const (
	longOps     = 200
	shortOps    = 30
	shortStates = 60
)

// newScript mounts a recorder and starts a cluster with one node on it.
func newScript(t *testing.T, nodes int, recorded string, args ...string) *script {
	t.Helper()
	if err := available(); err != nil {
		t.Skipf("this machine cannot mount a recorder: %v", err)
	}
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	must(t, err)
	data := filepath.Join(dir, recorded)
	must(t, os.MkdirAll(data, 0o700))
	r, err := mount(data)
	must(t, err)
	t.Cleanup(func() {
		harness.Check(t, r.close())
	})
	c := harness.New(t, harness.Options{Binary: binary, Dir: dir, Nodes: nodes, Args: nodeSettings(args...)})
	s := &script{t: t, cluster: c, journal: &r.journal, random: rand.New(rand.NewPCG(*seed, 0))}
	s.made.hashes = map[uint64]string{}
	for _, n := range c.Nodes {
		if n.Name == recorded {
			s.node, s.asked = n, n
		}
	}
	return s
}

// TestSingleNodeSurvivesEveryPowerCut records the disk of a node that works and restarts once. From
// every state that a power cut may leave, the node must start with everything that it had
// acknowledged.
func TestSingleNodeSurvivesEveryPowerCut(t *testing.T) {
	stores := []string{"wal"}
	if *long {
		stores = append(stores, "boltdb")
	}
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			made := recordSingle(t, store)
			judge(t, made, trialNode{name: "n1", store: store, alone: true}).report(t, made)
		})
	}
}

// TestSyncsThatDoNothingAreFound is the control: a recording in which the syncs of the log had no
// effect must be judged as bad. Syncs of bbolt are not changed, because without them bbolt ends the
// process in a goroutine of its own.
func TestSyncsThatDoNothingAreFound(t *testing.T) {
	made := recordSingle(t, "wal")
	logs := map[uint64]bool{}
	for _, e := range made.events {
		if strings.HasSuffix(e.name, ".wal") && !e.dir {
			logs[e.target] = true
		}
	}
	const nothing = 0 // not an inode
	dropped := 0
	for i := range made.events {
		if e := &made.events[i]; e.kind == kindSync && logs[e.inode] {
			e.inode = nothing
			dropped++
		}
	}
	if dropped == 0 {
		t.Fatal("the log was never synced")
	}
	if found := judge(t, made, trialNode{name: "n1", store: "wal", alone: true}).problems; len(found) == 0 {
		t.Error("nothing was found")
	}
}

// recordSingle records a single node.
func recordSingle(t *testing.T, store string) recording {
	t.Helper()
	s := newScript(t, 1, "n1", "--log-store", store)
	ops := shortOps
	switch {
	case *long && store == "wal":
		ops = longOps
	case *long:
		ops = longOps / 4 // each start takes ten times as long
	}
	s.begin()
	s.confirm()
	for i := range ops {
		if i == ops/2 {
			// The second run of the node opens the files of the first.
			must(t, s.node.Kill(), s.node.Start(), s.node.WaitReady(t.Context(), waitMax))
		}
		s.step()
	}
	s.made.events = s.journal.all()
	must(t, s.node.Kill())
	return s.made
}

func must(t *testing.T, problems ...error) {
	t.Helper()
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
}

// trial is a directory to start from, and the expected state.
type trial struct {
	state
	index uint64
	ballot
}

// trialKey identifies equal trials.
type trialKey struct {
	sum   [sha256.Size]byte
	index uint64
}

// tally counts the results of the trials.
type tally struct {
	mu       sync.Mutex
	states   int // that a power cut may leave
	starts   int // of nodes; equal directories are tried once
	compared int // starts whose state was compared with the uninterrupted run
	syncs    map[int]bool
	known    map[trialKey]recovered
	problems []string
}

// judge starts a node from every state.
func judge(t *testing.T, made recording, node trialNode) *tally {
	t.Helper()
	base := scratch(t)
	trials := make(chan trial) // unbuffered: a directory is made only when a worker is free
	sums := &tally{syncs: map[int]bool{}, known: map[trialKey]recovered{}}
	var working sync.WaitGroup
	for w := range *workers {
		working.Go(func() {
			for tried := range trials {
				dir := filepath.Join(base, fmt.Sprint(w))
				sums.try(t.Context(), tried, made, dir, node)
			}
		})
	}
	stride := 1
	if !*long {
		total := 0
		count := func(state) error { total++; return nil }
		must(t, states(made.events, *seed, count))
		stride = total/shortStates + 1
	}
	number := 0
	err := states(made.events, *seed, func(s state) error {
		if number++; number%stride != 0 {
			return nil
		}
		tried := trial{state: s}
		for _, p := range made.durables {
			// What was acknowledged before the unfinished sync.
			if p.position <= s.at {
				tried.index, tried.ballot = max(tried.index, p.index), p.ballot
			}
		}
		trials <- tried
		return nil
	})
	close(trials)
	working.Wait()
	must(t, err)
	return sums
}

// scratch returns a folder in memory if possible, because thousands of nodes sync there.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "seriatim-crash-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		harness.Check(t, os.RemoveAll(dir))
	})
	return dir
}

func (c *tally) try(ctx context.Context, tried trial, made recording, dir string, node trialNode) {
	key := trialKey{tried.image.sum(), tried.index}
	c.mu.Lock()
	c.states++
	c.syncs[tried.at] = true
	found, seen := c.known[key]
	c.mu.Unlock()
	if !seen {
		var err error
		if found, err = tryOnce(ctx, tried, dir, node); err != nil {
			c.problem(tried, "%v", err)
		}
		c.mu.Lock()
		c.starts++
		c.known[key] = found
		if found.hash != "" {
			c.compared++
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
	switch {
	case found.last < tried.index:
		c.problem(tried, "entries up to %d were acknowledged, the log ends at %d", tried.index, found.last)
	case found.term < tried.term:
		c.problem(tried, "the term was %d and is %d", tried.term, found.term)
	case found.voted < tried.voted || found.voted == tried.voted && found.voted > 0 && found.candidate != tried.candidate:
		c.problem(tried, "the vote of term %d went to %q, the last one known is that of term %d to %q", tried.voted, tried.candidate,
			found.voted, found.candidate)
	case found.hash != "" && found.hash != made.hashes[tried.index]:
		c.problem(tried, "the state at entry %d is %s, it was %s", tried.index, found.hash, made.hashes[tried.index])
	}
}

// tryOnce writes the directory, starts a node on it, and checks its state.
func tryOnce(ctx context.Context, tried trial, dir string, node trialNode) (found recovered, err error) {
	ctx, cancel := context.WithTimeout(ctx, waitMax)
	defer cancel()
	if err := os.RemoveAll(dir); err != nil {
		return found, err
	}
	if err := tried.image.write(dir); err != nil {
		return found, err
	}
	if err := start(ctx, dir, node); err != nil {
		return found, err
	}
	if tried.index > 0 {
		if found, err = look(ctx, dir, tried.index); err != nil {
			return found, err
		}
	}
	found.ballot, err = readBallot(dir)
	return found, err
}

func (c *tally) problem(tried trial, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems,
		fmt.Sprintf("sync %d, %s: %s\nlost: %.300v", tried.at, tried.variant, fmt.Sprintf(format, args...), fmt.Sprint(tried.lost)))
}

func (c *tally) report(t *testing.T, made recording) {
	t.Helper()
	t.Logf("%d events, %d sync points, %d states, %d starts, %d states compared with the uninterrupted run, %d bad",
		len(made.events), len(c.syncs), c.states, c.starts, c.compared, len(c.problems))
	// Many states often have the same problem.
	const most = 20
	for i, p := range c.problems {
		if i == most {
			t.Errorf("and %d more", len(c.problems)-most)
			break
		}
		t.Error(p)
	}
	if c.compared == 0 {
		t.Error("no state was compared")
	}
}
