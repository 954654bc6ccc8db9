package consensus

import (
	"testing"
	"testing/synctest"
	"time"
)

// Writing counts towards the minimal time for the bytes, but a slow write is not compensated.
func TestPacer(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []time.Duration // of 100 bytes each, which take at least 10 ms
		want   time.Duration
	}{
		{"no time", []time.Duration{0, 0, 0}, 30 * time.Millisecond},
		{"part of the time", []time.Duration{5 * time.Millisecond, 8 * time.Millisecond, 0}, 30 * time.Millisecond},
		{"more than it may", []time.Duration{50 * time.Millisecond, 0, 0}, 70 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			p := NewPacer(SnapshotPolicy{SyncBytes: 100, BytesPerSecond: 10_000}, func() time.Duration { return time.Since(began) })
			for _, write := range c.writes {
				time.Sleep(write)
				if !p.Wrote(t.Context(), 60) || !p.Wrote(t.Context(), 40) {
					t.Fatal("the wait ended early")
				}
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: took %v, want %v", c.name, took, c.want)
			}
		})
	}
}

// While there is no pressure, a state is written at a quarter of the rate.
func TestPacerTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := NewPacer(SnapshotPolicy{SyncBytes: 100, BytesPerSecond: 10_000}, func() time.Duration { return time.Since(began) })
		p.maySlowDown = func(written int64) bool { return written != 200 }
		for range 3 {
			if !p.Wrote(t.Context(), 100) {
				t.Fatal("the wait ended early")
			}
		}
		if took, want := time.Since(began), (4+1+4)*10*time.Millisecond; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}
