package http1

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

// answerKeepMax bounds the buffers that are kept for later answers.
const answerKeepMax = 64 << 10

// answer is an http.ResponseWriter that sends the answer when the handler has returned. Used by
// one goroutine.
type answer struct {
	conn   *conn
	header http.Header
	status int     // 0: none yet
	body   []byte  // while its length is unknown
	out    *[]byte // the encoded answer, once its length is known
	taken  int64   // bytes of the budget that out holds
}

func (a *answer) reset() {
	clear(a.header)
	a.status, a.body, a.out = 0, nil, nil
}

// Header returns the header of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader sets the status. Only the first call counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write adds to the body. It copies only once if the header declares the length of p. If the
// budget has no room, Write fails with budget.ErrExhausted and sends nothing: the handler may
// write another, shorter answer.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.out != nil {
		return 0, http.ErrContentLength
	}
	if len(a.body) > 0 || !a.declares(len(p)) {
		a.body = append(a.body, p...)
		return len(p), nil
	}
	if err := a.compose(p); err != nil {
		a.status = 0
		return 0, err
	}
	return len(p), nil
}

// declares reports whether the header declares this length.
func (a *answer) declares(length int) bool {
	var digits [20]byte
	declared := a.header["Content-Length"]
	return len(declared) == 1 && declared[0] == string(strconv.AppendInt(digits[:0], int64(length), 10))
}

// compose encodes the answer.
func (a *answer) compose(body []byte) error {
	s := a.conn.server
	if size := int64(len(body)); size > limits.FreeBytes {
		if err := s.Budget.Acquire(a.conn.ctx, size, budget.WaitMax); err != nil {
			return err
		}
		a.taken = size
	}
	a.out = s.answers.Get().(*[]byte)
	*a.out = a.append((*a.out)[:0], body, s.Now(), a.conn.closing())
	return nil
}

// finish sends the answer with one write.
func (a *answer) finish() error {
	a.WriteHeader(http.StatusOK)
	if a.out == nil && a.compose(a.body) != nil {
		a.status = http.StatusServiceUnavailable
		clear(a.header)
		_ = a.compose(nil) // needs no budget
	}
	defer a.drop()
	c := a.conn
	if err := c.setWriteDeadline(c.server.Now(), limits.WriteLimit(a.taken, c.server.Budget.Scarce())); err != nil {
		return err
	}
	_, err := c.conn.Write(*a.out)
	return err
}

// drop releases the memory of the answer.
func (a *answer) drop() {
	if a.out != nil && cap(*a.out) <= answerKeepMax {
		a.conn.server.answers.Put(a.out)
	}
	a.conn.server.Budget.Release(a.taken)
	a.body, a.out, a.taken = nil, nil, 0
}

// setWriteDeadline gives the client at least this much time to read, and more if that saves
// moving the deadline for each answer.
func (c *conn) setWriteDeadline(now time.Time, limit time.Duration) error {
	if left := c.writeUntil.Sub(now); left >= limit && left <= limit+deadlineSlack {
		return nil
	}
	c.writeUntil = now.Add(limit)
	if limit == limits.WriteTimeout {
		c.writeUntil = c.writeUntil.Add(deadlineSlack)
	}
	return c.conn.SetWriteDeadline(c.writeUntil)
}

// append appends status line, header and body. It ignores a Content-Length of the handler.
func (a *answer) append(b, body []byte, now time.Time, closing bool) []byte {
	if a.status == http.StatusOK {
		b = append(b, "HTTP/1.1 200 OK\r\n"...)
	} else {
		b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(a.status), 10)
		b = append(append(b, ' '), http.StatusText(a.status)...)
		b = append(b, '\r', '\n')
	}
	for name, values := range a.header {
		if name == "Content-Length" || name == "Date" || name == "Connection" {
			continue
		}
		for _, value := range values {
			b = append(append(b, name...), ':', ' ')
			b = append(appendLine(b, value), '\r', '\n')
		}
	}
	b = append(b, a.conn.server.dateHeader(now)...)
	if closing {
		b = append(b, "Connection: close\r\n"...)
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return append(b, '\r', '\n')
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// appendLine appends the value of a header with line ends replaced by blanks.
func appendLine(b []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; c == '\r' || c == '\n' {
			b = append(b, ' ')
		} else {
			b = append(b, c)
		}
	}
	return b
}
