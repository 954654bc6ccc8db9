package election

import (
	"sync"
	"time"
)

// A leader may be useless without being silent. Behind a link that is too slow for its clients'
// messages, its heartbeats reach one follower at a time, never so late that a majority finds it
// silent, while entries are confirmed too late for any client. Such a leader answers no questions
// either. So a leader that answers none for a heartbeat timeout is missing, silent or not.

// unansweredMin is the least number of unanswered questions in a row, besides the time: a follower
// that was paused itself has asked only one or two.
const unansweredMin = 4

// isUseless counts an unanswered question or call, and reports whether the leader is missing for
// lack of answers.
func (d *FailureDetector) isUseless(u *unanswered, leader Leadership, asked time.Duration) bool {
	count, lasting := u.another(leader, asked, d.options.Clock.Monotonic())
	return count >= unansweredMin && lasting >= d.options.Heartbeat
}

// unanswered counts questions to a leader without an answer. A single answer does not reset the
// count, but two in a row do, and so does a pause without questions. Safe for concurrent use.
type unanswered struct {
	pause time.Duration // without questions, which resets the count

	mu     sync.Mutex
	leader Leadership
	since  time.Duration // monotonic time of the first question
	last   time.Duration
	count  int
	luck   bool // the last question was answered
}

func (u *unanswered) answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.luck {
		u.count = 0
	}
	u.luck = true
}

// another counts a question sent at a time. It returns the count and the time since the first
// question.
func (u *unanswered) another(leader Leadership, asked, now time.Duration) (count int, lasting time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == 0 || leader != u.leader || asked-u.last > u.pause {
		u.leader, u.since, u.count = leader, asked, 0
	}
	u.last, u.luck = now, false
	u.count++
	return u.count, now - u.since
}
