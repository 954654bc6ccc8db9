package transport

import (
	"testing"
	"time"
)

func TestSample(t *testing.T) {
	t.Parallel()
	var s Sample
	at := time.Unix(1_700_000_000, 0)
	now := func() time.Time { return at }
	lines, stand := 0, 0
	for range 10_000 {
		if of := s.take(now); of > 0 {
			lines, stand = lines+1, stand+of
		}
	}
	if want := sampleAll + (10_000-sampleAll)/samplePart; lines != want || stand != 10_000 {
		t.Errorf("%d lines, want %d; they stand for %d of 10000 requests", lines, want, stand)
	}
	at = at.Add(time.Second)
	if of := s.take(now); of != 1 {
		t.Errorf("the first request of another second: %d", of)
	}
	if of := (*Sample)(nil).take(now); of != 1 {
		t.Errorf("without a sample: %d", of)
	}
}
