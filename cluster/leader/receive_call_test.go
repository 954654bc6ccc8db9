package leader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
)

func (s *solo) receive(ctx context.Context, request ReceiveRequest) Outcome {
	answer := make(chan Outcome, 1)
	var completed atomic.Bool
	call := s.NewReceive(ctx, request, func(o Outcome) {
		if completed.Swap(true) {
			s.t.Errorf("a second outcome: %+v", o)
			return
		}
		answer <- o
	})
	defer context.AfterFunc(ctx, call.HangUp)()
	go call.Begin() // its outcome is awaited
	return <-answer
}

// waitingCall begins a waiting receive.
func (s *solo) waitingCall(ctx context.Context, wait time.Duration, complete func(Outcome)) *ReceiveCall {
	cmd := &queue.ReceiveMessages{Queue: standard, MaxMessages: queue.Some(1)}
	frame, err := codec.AppendCommand(nil, cmd)
	clustertest.Must(s.t, err)
	call := s.NewReceive(ctx, ReceiveRequest{Request: Request{Frame: frame, MinimumVersion: codec.MinimumVersion(cmd)}, Command: cmd,
		Wait: wait}, complete)
	go call.Begin() // its outcome is counted
	return call
}

func TestParkedCallsHaveNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		before := runtime.NumGoroutine()
		const calls = 2000
		var ended atomic.Int64
		for range calls {
			s.waitingCall(t.Context(), 20*time.Second, func(Outcome) { ended.Add(1) })
		}
		synctest.Wait()
		if waiting, more := s.waiting.number(), runtime.NumGoroutine()-before; waiting != calls || more > calls/10 {
			t.Errorf("%d of %d wait, with %d goroutines", waiting, calls, more)
		}
		s.stop()
		synctest.Wait()
		if got := ended.Load(); got != calls {
			t.Errorf("%d of %d have an outcome when leadership is lost", got, calls)
		}
	})
}

// With concurrent events, each call has one outcome, each message goes to one receive, and no
// receive keeps waiting.
func TestReceiveCallsEndOnce(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			s := startSolo(t)
			s.create(standard)
			const calls, messages = 300, 150
			outcomes := make([]atomic.Int64, calls)
			var mu sync.Mutex
			unknown, received := 0, map[string]int{}
			var all, others sync.WaitGroup
			all.Add(calls)
			for i := range calls {
				others.Go(func() {
					random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // not a secret
					time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
					call := s.waitingCall(t.Context(), time.Duration(1+random.IntN(100))*time.Millisecond, func(o Outcome) {
						defer all.Done()
						outcomes[i].Add(1)
						mu.Lock()
						defer mu.Unlock()
						switch {
						case o.Verdict == Unknown:
							unknown++
						case o.Verdict == Answered && o.Response.Err == nil:
							for _, m := range o.Response.Result.(queue.MessagesReceived).Messages {
								received[m.Body.String()]++
							}
						}
					})
					if random.IntN(3) == 0 {
						time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
						call.HangUp()
					}
				})
			}
			for i := range messages {
				others.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					s.send(standard, fmt.Sprint(i))
				})
			}
			others.Wait()
			all.Wait()
			synctest.Wait()
			for i := range outcomes {
				if n := outcomes[i].Load(); n != 1 {
					t.Errorf("call %d has %d outcomes", i, n)
				}
			}
			if n := s.waiting.number(); n != 0 {
				t.Errorf("%d wait at the end", n)
			}
			for {
				left := bodies(t, s.poll(t.Context(), queue.ReceiveMessages{Queue: standard, MaxMessages: queue.Some(10)}, 0))
				if len(left) == 0 {
					break
				}
				for _, body := range left {
					received[body]++
				}
			}
			if missing := messages - len(received); missing > unknown {
				t.Errorf("%d messages are missing, and %d calls ended with an unknown outcome", missing, unknown)
			}
			for body, n := range received {
				if n > 1 {
					t.Errorf("message %s was received %d times", body, n)
				}
			}
		})
	}
}

// A late event for an earlier wait does not end the current one; its time still runs out.
func TestCallIsResumedForAWaitThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard)
		ended := make(chan Outcome, 1)
		began := time.Now()
		call := s.waitingCall(t.Context(), 5*time.Second, func(o Outcome) { ended <- o })
		synctest.Wait()
		call.resume()
		synctest.Wait()
		call.resume()
		if o := <-ended; o.Verdict != Answered || time.Since(began) != 5*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), o)
		}
		s.stop()
	})
}
