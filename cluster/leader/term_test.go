package leader

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
)

func TestTakeOverWritesTheSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		var key string
		s.options.Replica.Read(func(v queue.View) {
			key = v.Setting(queue.SettingReceiptKey)
			for name, want := range map[string]string{
				queue.SettingClusterID:     "solo-cluster",
				queue.SettingMinimumWindow: "1",
				queue.SettingAWSCooldowns:  "true",
			} {
				if got := v.Setting(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
		if len(key) != 32 {
			t.Fatalf("the receipt key is %q", key)
		}
		if version := s.options.Replica.FormatVersion(); version != format.CurrentVersion {
			t.Fatalf("format version %d", version)
		}
		if again, err := s.missingIdentity(); err != nil || len(again) != 0 {
			t.Fatalf("the next leader would write %v again (%v)", again, err)
		}
		if again := s.missingSettings(); len(again) != 0 {
			t.Fatalf("the next leader would write %v again", again)
		}
	})
}

// An idle cluster writes nothing until a deadline is due.
func TestClockCommandsOnlyWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		s.create(standard, queue.Attribute{Name: "MessageRetentionPeriod", Value: "60"})
		idle := s.group.CommitIndex()
		time.Sleep(24 * time.Hour)
		if got := s.group.CommitIndex(); got != idle {
			t.Fatalf("%d entries in an idle day", got-idle)
		}
		s.send(standard, "old")
		time.Sleep(59 * time.Second)
		if got := s.group.CommitIndex(); got != idle+1 {
			t.Fatalf("%d entries before the deadline, want the send only", got-idle)
		}
		time.Sleep(2 * time.Second)
		s.options.Replica.Read(func(v queue.View) {
			if stats, _ := v.Stats(standard); stats.Visible != 0 {
				t.Errorf("the message outlived its retention: %+v", stats)
			}
		})
		got := uint64(0)
		s.options.Counters.Queues.Read(func(_ string, totals Totals) { got += totals[ExpiredMessages] })
		if got != 1 {
			t.Errorf("%d expired messages counted", got)
		}
		after := s.group.CommitIndex()
		time.Sleep(time.Hour)
		if got := s.group.CommitIndex(); got != after {
			t.Fatalf("%d more entries after the deadline", got-after)
		}
	})
}

func TestMoveTask(t *testing.T) {
	cases := []struct {
		name     string
		rate     queue.Int
		messages int
		atLeast  time.Duration
		atMost   time.Duration
	}{
		{"as fast as possible", queue.Int{}, 250, 0, time.Second},
		{"paced", queue.Some(20), 100, 4 * time.Second, 6 * time.Second},
		{"slower than a step", queue.Some(1), 5, 4 * time.Second, 6 * time.Second},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startSolo(t)
				s.create("dead")
				s.create("alive", queue.Attribute{Name: "RedrivePolicy",
					Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"1"}`})
				for i := range test.messages {
					s.send("dead", fmt.Sprint(i))
				}
				begun := time.Now()
				s.do(&queue.StartMoveTask{Source: "dead", Destination: "alive", MaxPerSecond: test.rate})
				for running := true; running; {
					time.Sleep(100 * time.Millisecond)
					s.options.Replica.Read(func(v queue.View) { running = len(v.RunningMoveTasks()) > 0 })
				}
				s.options.Replica.Read(func(v queue.View) {
					if stats, _ := v.Stats("alive"); stats.Visible != int64(test.messages) {
						t.Errorf("%d messages arrived, want %d", stats.Visible, test.messages)
					}
				})
				if took := time.Since(begun); took < test.atLeast || took > test.atMost {
					t.Errorf("took %v, want between %v and %v", took, test.atLeast, test.atMost)
				}
			})
		})
	}
}

// Before a large step of log time, a leader waits for other clocks, for a limited time.
func TestAwaitClocks(t *testing.T) {
	const state = queue.Timestamp(1_000_000)
	for _, test := range []struct {
		name     string
		state    queue.Timestamp
		step     time.Duration
		informed time.Duration // arrival of the other clocks; 0: never
		want     time.Duration // duration of the wait
	}{
		{"a new cluster", 0, time.Hour, 0, 0},
		{"a clock behind the log", state, -time.Hour, 0, 0},
		{"a small step", state, 30 * time.Second, 0, 0},
		{"a large step that others confirm", state, time.Hour, 2 * time.Second, 2 * time.Second},
		{"a large step of which nobody knows", state, time.Hour, 0, awaitClocksMax},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				informed := make(chan struct{})
				if test.informed > 0 {
					time.AfterFunc(test.informed, func() { close(informed) })
				}
				l := &Term{options: Options{
					Clock: clustertest.NewHandClock(int64(state) + test.step.Milliseconds()), ClockStepMax: 30 * time.Second,
					ClocksKnown: informed, Log: slog.New(slog.DiscardHandler),
				}}
				begun := time.Now()
				clustertest.Must(t, l.awaitClocks(t.Context(), test.state))
				if waited := time.Since(begun); waited != test.want {
					t.Errorf("waited %v, want %v", waited, test.want)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := l.awaitClocks(ctx, test.state); test.want == awaitClocksMax && err == nil {
					t.Error("goes on although its time is over")
				}
			})
		})
	}
}

// A replay makes steps until it is complete. Pressure refuses its steps, because they add messages.
// The next leader continues it.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		s := startSolo(t, func(o *Options) {
			o.Refuse = func(frame []byte) Outcome {
				if full.Load() && !Essential(frame) {
					return Outcome{Verdict: Overloaded}
				}
				return Outcome{}
			}
		})
		const topic, queueARN = "arn:aws:sns:us-east-1:000000000000:t.fifo", "arn:aws:sqs:us-east-1:000000000000:q.fifo"
		s.create("q.fifo")
		s.do(&queue.CreateTopic{Topic: "t.fifo", TopicARN: topic, Attributes: []queue.Attribute{
			{Name: "ArchivePolicy", Value: `{"MessageRetentionPeriod":"1"}`}, {Name: "FifoTopic", Value: "true"},
		}})
		messages := 5 * limits.ReplayStepMax / 2
		publish := func(i int) {
			s.do(&queue.Publish{Topic: "t.fifo", Endpoint: "http://localhost", Entries: []queue.PublishEntry{{
				Message: fmt.Sprint(i), GroupID: "g", GroupIDGiven: true, DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
			}}})
		}
		for i := range messages {
			publish(i)
		}
		stored := func() (n int64, status string) {
			s.options.Replica.Read(func(v queue.View) {
				stats, _ := v.Stats("q.fifo")
				list, _ := v.SubscriptionAttributes(v.ListSubscriptions(0, 1)[0].SubscriptionARN)
				status, _ = attributes.ValueOf(list, "ReplayStatus")
				n = stats.Visible
			})
			return n, status
		}
		full.Store(true)
		s.do(&queue.Subscribe{Topic: "t.fifo", Endpoint: queueARN, Attributes: []queue.Attribute{
			{Name: "ReplayPolicy", Value: `{"PointType":"Timestamp","StartingPoint":"1970-01-01T00:00:00.000Z"}`},
		}})
		time.Sleep(10 * stepPause)
		if n, status := stored(); n != 0 || status != "Pending" {
			t.Errorf("where there is no room: %d messages, %q", n, status)
		}
		full.Store(false)
		s.next()
		time.Sleep(10 * stepPause)
		publish(messages)
		if n, status := stored(); n != int64(messages)+1 || status != "Completed" {
			t.Errorf("%d of %d messages, %q", n, messages+1, status)
		}
	})
}
