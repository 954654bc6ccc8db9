package transport

import (
	"net/http"
	"strconv"
	"time"
)

// answerKeepMax is the largest answer whose buffer is kept for the next.
const answerKeepMax = 64 << 10

// http1Answer is the answer to one request, sent when the handler is done. It
// implements http.ResponseWriter. Used by one goroutine.
type http1Answer struct {
	conn   *http1Conn
	header http.Header
	status int     // 0: none yet
	body   []byte  // as long as its length is unknown
	out    *[]byte // the whole answer, once its length is known
}

func (a *http1Answer) reset() {
	clear(a.header)
	a.status, a.body, a.out = 0, nil, nil
}

// Header is what the answer will say besides its body.
func (a *http1Answer) Header() http.Header { return a.header }

// WriteHeader sets the status. The first one counts.
func (a *http1Answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write adds to the body. What is written in one piece, with its length said
// before, is copied only once.
func (a *http1Answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.out != nil {
		return 0, http.ErrContentLength
	}
	declared := a.header["Content-Length"]
	if len(a.body) > 0 || len(declared) != 1 || declared[0] != strconv.Itoa(len(p)) {
		a.body = append(a.body, p...)
		return len(p), nil
	}
	a.compose(p)
	return len(p), nil
}

// compose makes the whole answer.
func (a *http1Answer) compose(body []byte) {
	s := a.conn.server
	a.out = s.answers.Get().(*[]byte)
	*a.out = a.append((*a.out)[:0], body, s.now(), a.conn.last())
}

// finish sends the answer with one write.
func (a *http1Answer) finish() error {
	a.WriteHeader(http.StatusOK)
	if a.out == nil {
		a.compose(a.body)
	}
	c, out := a.conn, a.out
	a.body, a.out = nil, nil
	if now := c.server.now(); c.writeUntil.Sub(now) < writeTimeout {
		c.writeUntil = now.Add(writeTimeout + deadlineSlack)
		if err := c.conn.SetWriteDeadline(c.writeUntil); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(*out)
	if cap(*out) <= answerKeepMax {
		c.server.answers.Put(out)
	}
	return err
}

// append writes status line, headers and body. Lengths are those of the body,
// whatever the handler said.
func (a *http1Answer) append(b, body []byte, now time.Time, last bool) []byte {
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
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		return append(b, '\r', '\n')
	}
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// appendLine appends a header's value, which must not end its line.
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
