package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

const (
	benchReadBytes = 16 << 10
	benchDialTime  = 5 * time.Second
)

// benchConn is one keep-alive HTTP/1.1 connection of the load generator. It
// writes requests by hand and reads no more of an answer than it needs, because
// generator and servers often share the processors: net/http would cost as much
// as the server's work for the request. Used by one goroutine.
type benchConn struct {
	address string // host:port
	timeout time.Duration
	conn    net.Conn // nil when not connected
	release func() bool
	reader  *bufio.Reader
	until   time.Time // deadline set on conn
	request []byte
	body    []byte
	signer  *sigv4.Signer // nil: requests are not signed
}

// benchAnswer is what the generator reads of an answer. The body is valid until
// the next call.
type benchAnswer struct {
	status int
	code   string // of an error
	body   []byte
}

// benchCutError is a failure below HTTP: the server may have done the work.
type benchCutError struct {
	code string // what it is counted as
	err  error
}

func (e *benchCutError) Error() string { return e.code + ": " + e.err.Error() }
func (e *benchCutError) Unwrap() error { return e.err }

func newBenchConn(address string, timeout time.Duration, signer *sigv4.Signer) *benchConn {
	return &benchConn{address: address, timeout: timeout, signer: signer}
}

// call sends one request and reads its answer. wait comes on top of the
// timeout. After an error the next call connects anew.
func (c *benchConn) call(ctx context.Context, action string, body []byte, wait time.Duration) (benchAnswer, error) {
	if err := c.open(ctx); err != nil {
		return benchAnswer{}, cut(err)
	}
	// Moving the deadline costs as much as a small parse, so it is moved
	// only once it has come a quarter nearer.
	limit := c.timeout + wait
	if now := time.Now(); c.until.Before(now.Add(limit)) {
		c.until = now.Add(limit + limit/4)
		if err := c.conn.SetDeadline(c.until); err != nil {
			c.close()
			return benchAnswer{}, cut(err)
		}
	}
	b := append(c.request[:0], "POST / HTTP/1.1\r\nHost: "...)
	b = append(b, c.address...)
	b = append(b, "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS."...)
	b = append(b, action...)
	if c.signer != nil {
		b = c.appendSignature(b, action, body)
	}
	b = append(b, "\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	c.request = append(b, body...)
	if _, err := c.conn.Write(c.request); err != nil {
		c.close()
		return benchAnswer{}, cut(err)
	}
	answer, keep, err := c.read()
	if err != nil || !keep {
		c.close()
	}
	if err != nil {
		return benchAnswer{}, cut(err)
	}
	return answer, nil
}

// appendSignature appends the headers of a signature.
func (c *benchConn) appendSignature(b []byte, action string, body []byte) []byte {
	r := &http.Request{
		Method: http.MethodPost, Host: c.address, URL: &url.URL{Path: "/"}, Header: http.Header{"X-Amz-Target": {"AmazonSQS." + action}},
	}
	c.signer.Sign(r, string(body))
	for _, name := range []string{"X-Amz-Date", "Authorization"} {
		b = append(append(append(append(b, "\r\n"...), name...), ": "...), r.Header[name][0]...)
	}
	return b
}

// open connects if needed. The end of ctx closes the connection, whatever is
// being waited for on it.
func (c *benchConn) open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: benchDialTime}
	conn, err := dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return err
	}
	c.conn, c.until = conn, time.Time{}
	c.release = context.AfterFunc(ctx, func() { conn.Close() })
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(conn, benchReadBytes)
	}
	c.reader.Reset(conn)
	return nil
}

func (c *benchConn) close() {
	if c.conn == nil {
		return
	}
	c.release()
	c.conn.Close()
	c.conn = nil
}

// read reads status line, headers and body; keep is false if the server is
// going to close the connection.
func (c *benchConn) read() (answer benchAnswer, keep bool, err error) {
	line, err := c.line()
	if err != nil {
		return answer, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return answer, false, fmt.Errorf("no HTTP/1.1 answer: %q", line)
	}
	if answer.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return answer, false, fmt.Errorf("no HTTP status: %q", line)
	}
	length, chunked, keep := -1, false, true
	for {
		if line, err = c.line(); err != nil {
			return answer, false, err
		}
		if len(line) == 0 {
			break
		}
		if value, ok := headerValue(line, "content-length"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > answerBytesMax {
				return answer, false, fmt.Errorf("wrong Content-Length: %q", value)
			}
		} else if value, ok := headerValue(line, "transfer-encoding"); ok {
			chunked = bytes.EqualFold(value, []byte("chunked"))
		} else if value, ok := headerValue(line, "connection"); ok {
			keep = !bytes.EqualFold(value, []byte("close"))
		} else if value, ok := headerValue(line, "x-amzn-query-error"); ok {
			code, _, _ := bytes.Cut(value, []byte(";"))
			answer.code = string(code)
		}
	}
	switch {
	case chunked:
		err = c.readChunks()
	case length >= 0:
		err = c.readBody(length)
	default:
		err = errors.New("an answer without a length")
	}
	answer.body = c.body
	if answer.code == "" && answer.status != 200 {
		answer.code = "HTTP " + strconv.Itoa(answer.status)
	}
	return answer, keep, err
}

func (c *benchConn) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *benchConn) readBody(length int) error {
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.reader, c.body)
	return err
}

func (c *benchConn) readChunks() error {
	c.body = c.body[:0]
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil || int(size) > answerBytesMax-len(c.body) {
			return fmt.Errorf("wrong chunk size: %q", line)
		}
		old := len(c.body)
		c.body = append(c.body, make([]byte, size)...)
		if _, err := io.ReadFull(c.reader, c.body[old:]); err != nil {
			return err
		}
		if _, err := c.line(); err != nil || size == 0 {
			return err
		}
	}
}

// headerValue is the value of a header line with this lower-case name.
func headerValue(line []byte, name string) ([]byte, bool) {
	if len(line) <= len(name) || line[len(name)] != ':' {
		return nil, false
	}
	for i := range len(name) {
		c := line[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return nil, false
		}
	}
	return bytes.TrimSpace(line[len(name)+1:]), true
}

// cut names a failure below HTTP.
func cut(err error) error {
	code := "ConnectionLost"
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		code = "ConnectionRefused"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		code = "Timeout"
	}
	return &benchCutError{code: code, err: err}
}
