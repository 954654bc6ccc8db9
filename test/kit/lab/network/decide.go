package network

import (
	"math/rand/v2"
	"time"
)

// line is the state of one direction between two hosts: its random source, and how long it is busy.
// One goroutine uses it; others only read the counts.
type line struct {
	random *rand.Rand
	free   time.Duration // when a slow line has sent all its frames
	counts [classes]tally
}

// newLine returns a line with its own random source, so that its faults do not depend on the
// traffic of other lines.
func newLine(seed uint64, from, to int) *line {
	return &line{random: rand.New(rand.NewPCG(seed, uint64(from)<<32|uint64(to)))}
}

// backlogMax is the buffer of a slow line, in time. Beyond it, the line drops frames like a
// router.
const backlogMax = 2 * time.Second

// verdict is the decision about a frame.
type verdict struct {
	drop      bool
	reset     bool // drop, and break the connection
	corrupt   bool
	garble    bool
	duplicate bool
	wait      time.Duration
	place     uint64 // which byte is altered
}

// decide returns what to do with a frame, and counts it. now is the time since the start of the
// switch, by which flapping lines are cut.
func (l *line) decide(link Link, class Class, p packet, size int, now time.Duration) verdict {
	tally := &l.counts[class]
	dropped := func(why Effect) verdict {
		tally[why].Add(1)
		return verdict{drop: true, reset: why == Reset}
	}
	switch {
	case link.Cut || link.Flap > 0 && now/link.Flap%2 == 1:
		return dropped(Cut)
	case link.HalfOpen && p.flags()&(tcpFIN|tcpRST) != 0:
		return dropped(Hidden)
	case l.draw(link.Reset) && p.protocol == protoTCP && len(p.text()) > 0:
		return dropped(Reset)
	case l.draw(link.Loss):
		return dropped(Lost)
	}
	v := verdict{corrupt: l.draw(link.Corrupt), garble: l.draw(link.Garble), duplicate: l.draw(link.Duplicate), wait: link.Delay}
	if link.Jitter > 0 {
		v.wait += time.Duration(l.random.Int64N(int64(link.Jitter)))
	}
	if link.Rate > 0 {
		l.free = max(l.free, now)
		if l.free-now > backlogMax {
			return dropped(Overflowed)
		}
		l.free += time.Duration(size) * 8 * time.Second / time.Duration(link.Rate)
		v.wait += l.free - now
	}
	if v.corrupt || v.garble {
		v.place = l.random.Uint64()
	}
	tally[Passed].Add(1)
	for _, d := range []struct {
		done bool
		what Effect
	}{{v.wait > 0, Late}, {v.duplicate, Duplicated}, {v.corrupt, Corrupted}, {v.garble, Garbled}} {
		if d.done {
			tally[d.what].Add(1)
		}
	}
	return v
}

// draw returns true with the given probability.
func (l *line) draw(part float64) bool { return part > 0 && l.random.Float64() < part }
