package transport

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

func TestContentTypeOfGRPC(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		"application/grpc": true, "application/grpc+proto": true, "application/grpc;x=1": true,
		"application/grpc-web": false, "application/grpcx": false, "application/json": false, "": false,
	} {
		if got := isGRPC(contentType); got != want {
			t.Errorf("%q: %v", contentType, got)
		}
	}
}
