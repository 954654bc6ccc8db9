package clustertest

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// watched are the tests that verify already.
var watched sync.Map

// leakPatience is how long a goroutine that was told to end may take.
const leakPatience = 5 * time.Second

// mayOutlive lists functions whose goroutines may be left. The gossip library does not wait for
// its probes when it stops; they end within their timeout. The consensus library leaves some
// futures unanswered when it stops, and nothing else ends a goroutine that waits for one.
var mayOutlive = []string{
	"memberlist.(*Memberlist).probe", "memberlist.(*Memberlist).sendPingAndWaitForAck", "memberlist.(*Memberlist).handleIndirectPing",
	"consensus.(*Group).await.func",
}

// stranded are, by test, functions that wait for what will never come, which it knows.
var stranded sync.Map

// MayWaitForEver has VerifyNoLeaks, which is called after it, not mind goroutines of this
// test that are in a function: they wait for one that the test ended as if it were a process.
func MayWaitForEver(t *testing.T, function string) {
	stranded.Store(t.Name(), function)
	t.Cleanup(func() { stranded.Delete(t.Name()) })
}

// VerifyNoLeaks fails the test if a goroutine that it began, or that one of these began,
// is left after all cleanups that are registered after this call. Tests that run beside
// this one do not matter: goroutines are told apart by a label that they inherit. Calls
// after the first do nothing.
func VerifyNoLeaks(t *testing.T) {
	t.Helper()
	if _, again := watched.LoadOrStore(t.Name(), true); again {
		return
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("test", t.Name())))
	t.Cleanup(func() {
		watched.Delete(t.Name())
		pprof.SetGoroutineLabels(t.Context()) // this one, without labels, goes on
		for _, stack := range stillLeft(t.Name()) {
			t.Errorf("left running: %s", stack)
		}
	})
}

// stillLeft gives the goroutines of a test time to end, and returns those that do not.
func stillLeft(test string) []string {
	look, patience := time.NewTicker(time.Millisecond), time.NewTimer(leakPatience)
	defer look.Stop()
	defer patience.Stop()
	for {
		left := goroutinesOf(test)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-patience.C:
			return left
		case <-look.C:
		}
	}
}

// goroutinesOf are the stacks of the goroutines that a test began.
func goroutinesOf(test string) (stacks []string) {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return []string{err.Error()}
	}
	label := fmt.Sprintf("# labels: {%q:%q}\n", "test", test)
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, label) && !outlives(test, stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

func outlives(test, stack string) bool {
	functions := mayOutlive
	if function, found := stranded.Load(test); found {
		functions = append(slices.Clip(functions), function.(string))
	}
	for _, function := range functions {
		if strings.Contains(stack, function) {
			return true
		}
	}
	return false
}
