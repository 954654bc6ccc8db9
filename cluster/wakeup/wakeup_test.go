package wakeup

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignalHoldsOneToken(t *testing.T) {
	s := NewSignal()
	s.Notify()
	s.Notify() // does not block
	<-s
	select {
	case <-s:
		t.Error("two notifications left two tokens")
	default:
	}
	s.Notify()
	<-s
}

func TestBroadcastWakesAllWhoWait(t *testing.T) {
	var b Broadcast
	b.Notify() // no goroutine waits
	first, second := b.Changed(), b.Changed()
	select {
	case <-first:
		t.Error("woken by what came before")
	default:
	}
	b.Notify()
	<-first
	<-second
	select {
	case <-b.Changed():
		t.Error("woken by what came before")
	default:
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !Sleep(t.Context(), time.Minute) || time.Since(began) != time.Minute {
			t.Errorf("slept %v of a minute", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if Sleep(ctx, time.Minute) || time.Since(began) != time.Second {
			t.Errorf("slept %v although the context ended after a second", time.Since(began))
		}
	})
}
