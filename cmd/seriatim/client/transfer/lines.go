package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// lineMax bounds a line: a message has up to 1 MiB, and JSON can make a byte six long.
const lineMax = 8 << 20

// lines reads lines and knows the offset behind the last one.
type lines struct {
	in     *bufio.Reader
	offset int64
	number int64
	long   []byte // reused memory for lines longer than the buffer
}

func newLines(from io.Reader) *lines { return &lines{in: bufio.NewReaderSize(from, 256<<10)} }

// next returns the next line without its end, which is valid until the next call. whole reports that
// the line ended with a newline.
func (l *lines) next() (line []byte, whole bool, err error) {
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.offset += int64(len(part))
		if err == nil && len(l.long) == 0 {
			l.number++
			return part[:len(part)-1], true, nil
		}
		l.long = append(l.long, part...)
		switch {
		case len(l.long) > lineMax:
			return nil, false, fmt.Errorf("line %d is longer than %d MiB", l.number+1, lineMax>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.long) > 0:
			l.number++
			return l.long, false, nil
		case err != nil:
			return nil, false, err
		}
		l.number++
		return bytes.TrimSuffix(l.long, []byte{'\n'}), true, nil
	}
}

// paceSlack bounds the time that a late caller makes up for, because timers end late.
const paceSlack = 100 * time.Millisecond

// Pace limits the rate of messages, in total over all callers. Safe for concurrent use.
type Pace struct {
	perSecond float64

	mu   sync.Mutex
	next time.Time // end of the time reserved for messages
}

// NewPace returns a pace of so many messages a second; 0 means no limit.
func NewPace(perSecond float64) *Pace { return &Pace{perSecond: perSecond, next: time.Now()} }

// Wait reserves the time of count handled messages, and returns when it is over.
func (p *Pace) Wait(ctx context.Context, count int64) error {
	if p.perSecond <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Until(p.reserve(count)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reserve returns the end of the time of count messages.
func (p *Pace) reserve(count int64) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := time.Now().Add(-paceSlack); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(time.Duration(float64(count) / p.perSecond * float64(time.Second)))
	return p.next
}

// AtOnce returns how many callers may each handle a batch at the same time: up to most, and not more
// than the rate allows in a second.
func (p *Pace) AtOnce(most, batch int) int {
	if p.perSecond <= 0 {
		return most
	}
	return max(1, int(min(float64(most), p.perSecond/float64(batch))))
}

// CountLines counts the lines of a file and goes back to its beginning.
func CountLines(file io.ReadSeeker) (count int64, err error) {
	in := newLines(file)
	for err == nil {
		_, _, err = in.next()
	}
	if !errors.Is(err, io.EOF) {
		return 0, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return in.number, err
}
