// Package httpwire is the HTTP/1.1 of the load generator: one connection with one request at
// a time, written for little processor time.
package httpwire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
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

// AnswerBytesMax bounds what is read of one answer.
const AnswerBytesMax = 64 << 20

const (
	readBytes = 16 << 10
	dialTime  = 5 * time.Second
)

// Conn is one keep-alive HTTP/1.1 connection of the load generator. It
// writes requests by hand and reads no more of an answer than it needs, because
// generator and servers often share the processors: net/http would cost as much
// as the server's work for the request. Used by one goroutine.
type Conn struct {
	Address string      // host:port
	TLS     *tls.Config // nil: clear text; its ServerName is that of Address
	timeout time.Duration
	conn    net.Conn // nil when not connected
	release func() bool
	reader  *bufio.Reader
	until   time.Time // deadline set on conn
	request []byte
	body    []byte
	signer  *sigv4.Signer // nil: requests are not signed
}

// Answer is what the generator reads of an answer. The body is valid until
// the next call.
type Answer struct {
	Status int
	Code   string // of an error
	Body   []byte
}

// CutError is a failure below HTTP: the server may have done the work.
type CutError struct {
	Code string // what it is counted as
	Err  error
}

// Error is the code and its cause.
func (e *CutError) Error() string { return e.Code + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *CutError) Unwrap() error { return e.Err }

// New makes a Conn, which connects with its first request. Answers may take the timeout, and
// requests are signed unless signer is nil.
func New(address string, timeout time.Duration, signer *sigv4.Signer) *Conn {
	return &Conn{Address: address, timeout: timeout, signer: signer}
}

// Call sends one request and reads its answer. wait comes on top of the
// timeout. After an error the next call connects anew.
func (c *Conn) Call(ctx context.Context, action string, body []byte, wait time.Duration) (Answer, error) {
	if err := c.Open(ctx); err != nil {
		return Answer{}, Cut(err)
	}
	// Moving the deadline costs as much as a small parse, so it is moved
	// only once it has come a quarter nearer.
	limit := c.timeout + wait
	if now := time.Now(); c.until.Before(now.Add(limit)) {
		c.until = now.Add(limit + limit/4)
		if err := c.conn.SetDeadline(c.until); err != nil {
			c.Close()
			return Answer{}, Cut(err)
		}
	}
	b := append(c.request[:0], "POST / HTTP/1.1\r\nHost: "...)
	b = append(b, c.Address...)
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
		c.Close()
		return Answer{}, Cut(err)
	}
	answer, keep, err := c.read()
	if err != nil || !keep {
		c.Close()
	}
	if err != nil {
		return Answer{}, Cut(err)
	}
	return answer, nil
}

// appendSignature appends the headers of a signature.
func (c *Conn) appendSignature(b []byte, action string, body []byte) []byte {
	r := &http.Request{
		Method: http.MethodPost, Host: c.Address, URL: &url.URL{Path: "/"}, Header: http.Header{"X-Amz-Target": {"AmazonSQS." + action}},
	}
	c.signer.Sign(r, string(body))
	for _, name := range []string{"X-Amz-Date", "Authorization"} {
		b = append(append(append(append(b, "\r\n"...), name...), ": "...), r.Header[name][0]...)
	}
	return b
}

// Open connects if needed. The end of ctx closes the connection, whatever is
// being waited for on it.
func (c *Conn) Open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	if c.TLS != nil {
		if conn, err = c.secure(ctx, conn); err != nil {
			return err
		}
	}
	c.conn, c.until = conn, time.Time{}
	c.release = context.AfterFunc(ctx, func() { conn.Close() })
	if c.reader == nil {
		c.reader = bufio.NewReaderSize(conn, readBytes)
	}
	c.reader.Reset(conn)
	return nil
}

// secure shakes hands, or closes the connection.
func (c *Conn) secure(ctx context.Context, plain net.Conn) (net.Conn, error) {
	config := c.TLS.Clone()
	config.ServerName, _, _ = net.SplitHostPort(c.Address) // it was dialed
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // the error is that of the handshake
		return nil, err
	}
	return conn, nil
}

// Close closes the connection. The next request opens another.
func (c *Conn) Close() {
	if c.conn == nil {
		return
	}
	c.release()
	c.conn.Close()
	c.conn = nil
}

// read reads status line, headers and body; keep is false if the server is
// going to close the connection.
func (c *Conn) read() (answer Answer, keep bool, err error) {
	line, err := c.line()
	if err != nil {
		return answer, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return answer, false, fmt.Errorf("no HTTP/1.1 answer: %q", line)
	}
	if answer.Status, err = strconv.Atoi(string(line[9:12])); err != nil {
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
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > AnswerBytesMax {
				return answer, false, fmt.Errorf("wrong Content-Length: %q", value)
			}
		} else if value, ok := headerValue(line, "transfer-encoding"); ok {
			chunked = bytes.EqualFold(value, []byte("chunked"))
		} else if value, ok := headerValue(line, "connection"); ok {
			keep = !bytes.EqualFold(value, []byte("close"))
		} else if value, ok := headerValue(line, "x-amzn-query-error"); ok {
			code, _, _ := bytes.Cut(value, []byte(";"))
			answer.Code = string(code)
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
	answer.Body = c.body
	if answer.Code == "" && answer.Status != 200 {
		answer.Code = "HTTP " + strconv.Itoa(answer.Status)
	}
	return answer, keep, err
}

func (c *Conn) line() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *Conn) readBody(length int) error {
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err := io.ReadFull(c.reader, c.body)
	return err
}

func (c *Conn) readChunks() error {
	c.body = c.body[:0]
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil || int(size) > AnswerBytesMax-len(c.body) {
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

// Cut names a failure below HTTP.
func Cut(err error) error {
	code := "ConnectionLost"
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		code = "ConnectionRefused"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		code = "Timeout"
	}
	return &CutError{Code: code, Err: err}
}
