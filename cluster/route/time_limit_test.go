package route

import (
	"testing"
	"testing/synctest"
	"time"
)

// A call has its whole timeout and at most a little more, whenever it begins. Calls that begin at
// about the same time end together.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout, part = 32 * time.Second, time.Second
		limit := timeLimit{timeout: timeout}
		begin, ends := time.Now(), map[<-chan struct{}]bool{}
		var last <-chan struct{}
		for range 100 {
			call := limit.begin()
			began := time.Since(begin)
			go func() {
				<-call
				if took := time.Since(begin) - began; took < timeout || took > timeout+part {
					t.Errorf("a call that began after %v had %v", began, took)
				}
			}()
			ends[call], last = true, call
			time.Sleep(part / 10)
		}
		if n := len(ends); n < 9 || n > 11 {
			t.Errorf("calls of ten parts had %d ends", n)
		}
		<-last
		time.Sleep(part)
		select {
		case <-limit.begin():
			t.Error("a call was over when it began, after a time without calls")
		default:
		}
		time.Sleep(timeout + part) // until the last call has ended
	})
}
