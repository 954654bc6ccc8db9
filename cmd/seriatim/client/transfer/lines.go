package transfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// Pace limits the rate of messages.
type Pace struct {
	perSecond float64
	begun     time.Time
}

// NewPace returns a pace of so many messages a second; 0 means no limit.
func NewPace(perSecond float64) *Pace { return &Pace{perSecond: perSecond, begun: time.Now()} }

// Wait returns when count messages may have been handled.
func (p *Pace) Wait(ctx context.Context, count int64) error {
	if p.perSecond <= 0 {
		return ctx.Err()
	}
	until := p.begun.Add(time.Duration(float64(count) / p.perSecond * float64(time.Second)))
	left := time.Until(until)
	if left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
