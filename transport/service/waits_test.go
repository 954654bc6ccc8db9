package service

import (
	"context"
	"testing"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := NewWaits(ctx)
	first := w.Context()
	if first.Err() != nil {
		t.Error("ended before Drain")
	}
	w.Drain()
	if first.Err() == nil || w.Context().Err() == nil {
		t.Error("Drain ended nothing")
	}
	w.Undrain(ctx)
	second := w.Context()
	if first.Err() == nil || second.Err() != nil {
		t.Error("Undrain brings back what ended, or nothing new")
	}
	cancel()
	if second.Err() == nil {
		t.Error("outlives its parent")
	}
}
