package forward

import "time"

// A node may lead and answer no calls: its consensus messages arrive, but this stream is cut or
// stuck. So while calls wait, the link checks at intervals whether a frame came, and calls Silent
// if none did. Receives do not count: they may wait for a message.

// expectAnswers begins these checks, unless they are running. The caller holds mu.
func (l *Link) expectAnswers() {
	if !l.looking {
		l.looking = true
		l.lookAgain()
	}
}

func (l *Link) lookAgain() {
	heard := l.heard.Load()
	time.AfterFunc(l.options.Silence, func() { l.look(heard) })
}

// look is one of the checks; before is the number of frames at the one before.
func (l *Link) look(before uint64) {
	l.mu.Lock()
	l.looking = l.unanswered > 0 && l.life.Err() == nil
	again := l.looking
	l.mu.Unlock()
	if !again {
		return
	}
	if l.heard.Load() == before {
		l.options.Silent()
	}
	l.lookAgain()
}
