package forward

import "time"

// A node may lead and answer no calls: consensus hears it, and what is said on this stream
// gets lost, or its end of the stream is stuck. So while calls wait, the link looks at
// intervals whether anything came, and says so if nothing did. Receives do not count: they
// may wait for a message.

// expectAnswers begins these looks, unless they go on. The caller holds mu.
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

// look is one of the looks; before is how many frames had come at the one before.
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
