package bubble

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

var (
	seedsFlag     = flag.Int("seeds", 3, "number of clusters")
	firstFlag     = flag.Uint64("first", 1, "the first seed")
	seedFlag      = flag.Uint64("seed", 0, "run this seed only")
	timesFlag     = flag.Int("times", 1, "how often each seed is run")
	forgetfulFlag = flag.String("forgetful", "", "run -seed on disks in this folder that forget what was synced")
	outputFlag    = flag.String("output", "", "folder for traces and histories of failed seeds; default a temporary one")
)

// stuckAfter bounds a seed in real time. If a goroutine waits forever for a mutex, the time of a
// bubble stands still.
const stuckAfter = 10 * time.Minute

// TestBubble runs clusters in virtual time: faults.md 7.2.
func TestBubble(t *testing.T) {
	first, last := *firstFlag, *firstFlag+uint64(*seedsFlag)-1
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	total := totals{counts: map[string]int{}}
	for seed := first; seed <= last; seed++ {
		for range *timesFlag {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { runSeed(t, seed, &total) })
		}
	}
	t.Logf("%d runs, %v of virtual time, %d terms with a leader", total.runs, total.virtual.Round(time.Second), total.terms)
	for what, least := range leastPerRun {
		if got := total.counts[what]; total.runs > 0 && got < least*total.runs {
			t.Errorf("%s: %d in %d runs, at least %d wanted: the runs prove little", what, got, total.runs, least*total.runs)
		}
	}
	if total.terms < 2*total.runs {
		t.Errorf("%d terms with a leader in %d runs: leaders hardly changed", total.terms, total.runs)
	}
	if testing.Verbose() {
		t.Log(total)
	}
}

// leastPerRun contains the least average counts per run, about a third of the usual ones. The
// minimums of the checkers (report.Short) are not used, because they are for real processes with
// other faults.
var leastPerRun = map[string]int{
	"operations ok": 250, "messages acknowledged": 70, "messages delivered": 70, "deliveries after expiry": 5,
	"duplicates dropped": 20, "queues drained": 2, "replicas agreed": 1, "service after healing": 1,
}

// totals adds up the counts of all runs.
type totals struct {
	runs    int
	virtual time.Duration
	terms   int
	counts  map[string]int
}

func (a totals) String() string {
	text, _ := json.MarshalIndent(a.counts, "", "  ") // a map of numbers always has a JSON form
	return string(text)
}

func runSeed(t *testing.T, seed uint64, total *totals) {
	dir := workDir(t)
	stuck := time.AfterFunc(stuckAfter, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("seed %d is stuck", seed))
	})
	defer stuck.Stop()
	var r *run
	if inBubble(t, func() {
		r = newRun(seed, dir)
		r.live()
	}) {
		total.counts["runs after which the library still owed an outcome"]++
	}
	report := r.judge()
	total.runs++
	total.virtual += r.virtual
	total.terms += len(r.leads)
	for _, counts := range []map[string]int{report.Counts, r.referee.counts} {
		for what, n := range counts {
			total.counts[what] += n
		}
	}
	if len(r.wrongs) == 0 {
		return
	}
	output := *outputFlag
	if output == "" {
		output = filepath.Join(os.TempDir(), "seriatim-bubble")
	}
	output = filepath.Join(output, strconv.FormatUint(seed, 10))
	if err := r.write(output); err != nil {
		t.Error(err)
	}
	for _, text := range r.wrongs[:min(20, len(r.wrongs))] {
		t.Error(text)
	}
	t.Logf("seed %d, %d breaches, trace and history in %s", seed, len(r.wrongs), output)
}

// inBubble calls f in a bubble. It reports whether goroutines were left that wait for an outcome
// which the consensus library does not report when it stops. Other goroutines are an error.
func inBubble(t *testing.T, f func()) (owed bool) {
	t.Helper()
	defer func() {
		problem := recover()
		if problem == nil {
			return
		}
		if !strings.Contains(fmt.Sprint(problem), "blocked goroutines remain") {
			panic(problem)
		}
		owed = true
		stacks := make([]byte, 8<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(stack, ", synctest bubble") && !strings.Contains(stack, "consensus.(*Group).await") &&
				!strings.Contains(stack, "inBubble") {
				t.Errorf("left behind:\n%s", stack)
			}
		}
	}()
	synctest.Test(t, func(*testing.T) { f() })
	return false
}

// judge adds the violations in the history of the clients.
func (r *run) judge() check.Report {
	report := check.Check(r.events)
	for _, v := range report.Violations {
		r.wrongs = append(r.wrongs, fmt.Sprintf("%s at %.6f s: %s", v.Invariant, float64(v.At)/1e6, v.Text))
	}
	return report
}

// TestForgetfulDiskIsNoticed checks that some seed detects disks that lose synced data in crashes;
// otherwise the runs prove nothing. Each seed needs its own process, because a state machine that
// finds an impossible state ends its process, which counts as detected.
func TestForgetfulDiskIsNoticed(t *testing.T) {
	if *forgetfulFlag != "" {
		forget(t, *seedFlag, *forgetfulFlag)
		return
	}
	const seeds = 40
	for seed := uint64(20); seed < 20+seeds; seed++ {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-forgetful", workDir(t), "-seed",
			fmt.Sprint(seed))
		out, err := child.CombinedOutput()
		for _, sign := range []string{noticed, fsm.ErrBrokenInvariant.Error()} {
			if err != nil && bytes.Contains(out, []byte(sign)) {
				t.Logf("seed %d: %s", seed, sign)
				return
			}
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
	}
	t.Errorf("%d seeds did not notice it", seeds)
}

// noticed is the beginning of a line that tells what a seed has found.
const noticed = "noticed: "

// forget runs one seed with disks that lose synced data, and fails if this is detected.
func forget(t *testing.T, seed uint64, dir string) {
	var r *run
	inBubble(t, func() {
		r = newRun(seed, dir)
		r.plan.forgetful = true
		r.live()
	})
	if r.judge(); len(r.wrongs) > 0 {
		t.Fatal(noticed + r.wrongs[0])
	}
}

// workDir returns a folder for the disks, in memory if possible. Syncs do not matter, because the
// machines decide what a crash keeps.
func workDir(t *testing.T) string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "seriatim-bubble-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func encodeHistory(events []history.Event) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.Bytes()
}
