package main

// handed are the goroutines that a message passes in a server of hashicorp/raft beside the
// one that has its connection: at the leader the one that gathers messages into entries, the
// main loop, and the one that applies; a confirmation passes the one that tells the main
// loop. A follower has the main loop. A nil *handed has none of them.
type handed struct {
	gather, apply, told stage // nil in a follower
	loop                stage
}

// stage is a goroutine that does what it is handed, one after the other.
type stage chan func()

func newStage() stage {
	s := make(stage)
	go func() {
		for work := range s {
			work()
		}
	}()
	return s
}

func newHanded(leader bool) *handed {
	h := &handed{loop: newStage()}
	if leader {
		h.gather, h.apply, h.told = newStage(), newStage(), newStage()
	}
	return h
}

// do has work done in the main loop and returns when all have handed it on.
func (h *handed) do(work func() error) (err error) {
	if h == nil {
		return work()
	}
	done := make(chan struct{})
	finish := func() { close(done) }
	if h.gather == nil {
		h.loop <- func() { err = work(); finish() }
	} else {
		h.gather <- func() { h.loop <- func() { err = work(); h.apply <- finish } }
	}
	<-done
	return err
}

// confirm tells the main loop that a follower has synced.
func (h *handed) confirm(tell func()) {
	if h == nil {
		tell()
		return
	}
	h.told <- tell
}
