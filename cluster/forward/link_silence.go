package forward

import "time"

// A leader may answer no calls although its consensus messages arrive, because this stream is cut
// or stuck. While calls wait, the link checks at intervals for frames and calls Silent if none
// came. Receives do not count: they may wait for a message.

// expectAnswers begins the checks, unless they run. The caller holds mu.
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

// look makes one check. before is the number of frames at the last one.
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
