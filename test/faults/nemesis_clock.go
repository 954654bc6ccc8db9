package faults

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// clockFaults need a fault build, whose clocks can be set.
func clockFaults() []fault {
	var faults []fault
	for _, offset := range []time.Duration{
		100 * time.Millisecond, -100 * time.Millisecond, 5 * time.Second, -5 * time.Second,
		10 * time.Minute, -10 * time.Minute, time.Hour, -time.Hour,
	} {
		faults = append(faults, fault{name: fmt.Sprintf("clock %+.1fs", offset.Seconds()), area: areaClock, least: 2 * time.Second,
			most: 15 * time.Second, begin: jump(offset)})
	}
	return append(faults,
		fault{name: "clock slow", area: areaClock, least: 5 * time.Second, most: 15 * time.Second, begin: rate(0.5)},
		fault{name: "clock fast", area: areaClock, least: 5 * time.Second, most: 15 * time.Second, begin: rate(2)},
		fault{name: "clock strobe", area: areaClock, least: 0, most: 0, begin: strobe},
		fault{name: "clocks of all +5s", area: areaClock, least: 2 * time.Second, most: 10 * time.Second, begin: jumpAll},
	)
}

// setClock moves a node's clock until the injection ends.
func (s *injection) setClock(ctx context.Context, n *harness.Node, offset time.Duration, rate float64) error {
	s.touch(history.TouchClock, n)
	if rate == 1 {
		s.did[len(s.did)-1].Count = offset.Milliseconds()
	}
	s.undo(func() error {
		if !n.Running() {
			return nil // it starts with a correct clock
		}
		short, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := s.testbed.admin(short, n, http.MethodPut, "/v1/clock", `{"offsetMs":0,"rate":1}`)
		if err != nil && !n.Running() {
			return nil
		}
		return err
	})
	return s.testbed.admin(ctx, n, http.MethodPut, "/v1/clock", fmt.Sprintf(`{"offsetMs":%d,"rate":%g}`, offset.Milliseconds(), rate))
}

// clockTarget chooses like target, but does not claim the node: a clock can be wrong while the
// process is killed or paused.
func (s *injection) clockTarget(ctx context.Context) (*harness.Node, error) {
	if s.random.IntN(2) == 0 {
		return s.leader(ctx)
	}
	running := s.testbed.cluster.Running()
	if len(running) == 0 {
		return nil, errBusy
	}
	return running[s.random.IntN(len(running))], nil
}

func jump(offset time.Duration) func(*injection, context.Context) error {
	return func(s *injection, ctx context.Context) error {
		n, err := s.clockTarget(ctx)
		if err != nil {
			return err
		}
		return s.setClock(ctx, n, offset, 1)
	}
}

func rate(rate float64) func(*injection, context.Context) error {
	return func(s *injection, ctx context.Context) error {
		n, err := s.clockTarget(ctx)
		if err != nil {
			return err
		}
		return s.setClock(ctx, n, 0, rate)
	}
}

// strobe switches a clock between the right time and 10 s more, 20 times a second.
func strobe(s *injection, ctx context.Context) error {
	n, err := s.clockTarget(ctx)
	if err != nil {
		return err
	}
	if err := s.setClock(ctx, n, 0, 1); err != nil {
		return err
	}
	for i := range 100 {
		// If it is refused, the next one makes up for it.
		_ = s.testbed.admin(ctx, n, http.MethodPut, "/v1/clock", fmt.Sprintf(`{"offsetMs":%d,"rate":1}`, i%2*10_000))
		if !pause(ctx, 50*time.Millisecond) || !n.Running() {
			break
		}
	}
	return nil
}

func jumpAll(s *injection, ctx context.Context) error {
	for _, n := range s.testbed.cluster.Running() {
		if err := s.setClock(ctx, n, 5*time.Second, 1); err != nil {
			return err
		}
	}
	return nil
}
