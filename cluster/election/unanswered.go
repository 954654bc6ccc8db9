package election

import (
	"sync"
	"time"
)

// A leader may be heard now and then and yet be of no use. Behind a line that is too slow
// for what clients send, its heartbeats reach one follower now and the other then, never
// so late that a majority finds it silent at one time, while its entries are confirmed
// too late for any client. Such a leader answers no question, either. So one that answers
// none for a heartbeat timeout is missing, silent or not.

// unansweredMin is how many questions in a row must be without an answer, besides the
// time: a follower that was paused itself has asked only one or two.
const unansweredMin = 4

// isUseless counts one more question or call without an answer, and reports whether the
// leader is missing for want of answers.
func (d *FailureDetector) isUseless(u *unanswered, leader Leadership, asked time.Duration) bool {
	count, lasting := u.another(leader, asked, d.options.Clock.Monotonic())
	return count >= unansweredMin && lasting >= d.options.Heartbeat
}

// unanswered counts the questions to a leader that have no answer. One answer between
// them may be luck; two in a row end the count, and so does a time without questions.
// Safe for concurrent use.
type unanswered struct {
	pause time.Duration // without questions, after which the count begins anew

	mu     sync.Mutex
	leader Leadership
	since  time.Duration // monotonic time of the first
	last   time.Duration
	count  int
	luck   bool // the last one had an answer
}

// answered is told of an answer.
func (u *unanswered) answered() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.luck {
		u.count = 0
	}
	u.luck = true
}

// another counts a question put to the leader at a time, and returns how many there are
// and how long ago the first was put.
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
