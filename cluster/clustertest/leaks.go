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

// watched holds the names of tests that called VerifyNoLeaks.
var watched sync.Map

// leakTimeout bounds the end of a goroutine after its test.
const leakTimeout = 5 * time.Second

// mayOutlive lists functions whose goroutines may stay. The gossip library does not wait for its
// probes when it stops; they end within their timeout. The consensus library leaves some futures
// unanswered when it stops, and a goroutine that waits for one never ends.
var mayOutlive = []string{
	"memberlist.(*Memberlist).probe", "memberlist.(*Memberlist).sendPingAndWaitForAck", "memberlist.(*Memberlist).handleIndirectPing",
	"consensus.(*Group).await.func",
}

// endless lists, by test, a function that waits forever.
var endless sync.Map

// MayWaitForEver allows goroutines of this test in a function that waits forever, because the test
// ended its counterpart like a process. Call it before VerifyNoLeaks.
func MayWaitForEver(t *testing.T, function string) {
	endless.Store(t.Name(), function)
	t.Cleanup(func() { endless.Delete(t.Name()) })
}

// VerifyNoLeaks fails the test if goroutines that it began, directly or indirectly, remain after
// all later cleanups. An inherited label separates them from those of concurrent tests. Further
// calls do nothing.
func VerifyNoLeaks(t *testing.T) {
	t.Helper()
	if _, again := watched.LoadOrStore(t.Name(), true); again {
		return
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("test", t.Name())))
	t.Cleanup(func() {
		watched.Delete(t.Name())
		pprof.SetGoroutineLabels(t.Context()) // without labels for this goroutine
		for _, stack := range stillLeft(t.Name()) {
			t.Errorf("left running: %s", stack)
		}
	})
}

// stillLeft waits for the goroutines of a test to end, and returns those that do not.
func stillLeft(test string) []string {
	look, timeout := time.NewTicker(time.Millisecond), time.NewTimer(leakTimeout)
	defer look.Stop()
	defer timeout.Stop()
	for {
		left := goroutinesOf(test)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-timeout.C:
			return left
		case <-look.C:
		}
	}
}

// goroutinesOf returns the stacks of the goroutines that a test began.
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
	if function, found := endless.Load(test); found {
		functions = append(slices.Clip(functions), function.(string))
	}
	for _, function := range functions {
		if strings.Contains(stack, function) {
			return true
		}
	}
	return false
}
