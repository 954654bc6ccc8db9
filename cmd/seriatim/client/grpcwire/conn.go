package grpcwire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

const (
	dialTime = 5 * time.Second
	// What the server may send before it is told that it was read: enough never
	// to wait for that.
	streamWindow     = 64 << 20
	connectionWindow = 1 << 30
	// frameBytesMax is the largest frame that anybody takes without being asked.
	frameBytesMax   = 16 << 10
	frameHeader     = 9 // bytes of what is before the content of a frame
	messageBytesMax = 16 << 20
	// prefixBytes is what comes before a message: whether it is compressed, and its
	// length.
	prefixBytes = 5
)

// StatusError is the status of a call that is no success.
type StatusError struct {
	Code    codes.Code
	Message string
}

func (e *StatusError) Error() string { return e.Code.String() + ": " + e.Message }

// Conn is a connection. One goroutine may send while another receives.
type Conn struct {
	conn    net.Conn
	timeout time.Duration
	until   time.Time // deadline set on conn
	release func() bool
	buffer  *bufio.Reader
	reader  *http2.Framer // of buffer
	table   *hpack.Decoder
	fields  []byte // of a block of headers that is not whole yet
	last    bool   // that block ends its stream

	heads
	call
	unread [2]int // bytes that the server was not told of: of the stream, of the connection

	mu      sync.Mutex // the rest
	room    *sync.Cond // that there may be room, or broken is set
	out     bytes.Buffer
	writer  *http2.Framer // to out
	windows [2]int64      // how much may be sent: of the stream, of the connection
	initial int64         // windows[0] of a new stream
	frame   int64         // bytes of the largest frame to send
	broken  error
}

// call is the one call that a connection carries at a time.
type call struct {
	stream  uint32
	status  codes.Code
	message string // of status
	ended   bool   // by the server
	data    []byte // of answers, not taken yet
	taken   int    // of data
}

// Dial connects. The end of ctx closes the connection, whatever is being waited
// for on it; timeout bounds how long an answer may take.
func Dial(ctx context.Context, address string, timeout time.Duration, header func(method string) http.Header) (*Conn, error) {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		conn: conn, timeout: timeout, heads: heads{address: address, header: header, added: make(map[string]addition), known: make(map[string][]byte)}, initial: 65535, windows: [2]int64{0, 65535}, frame: frameBytesMax,
		release: context.AfterFunc(ctx, func() { conn.Close() }),
	}
	c.room = sync.NewCond(&c.mu)
	c.writer = http2.NewFramer(&c.out, nil)
	c.encoder = hpack.NewEncoder(&c.heads.block)
	c.buffer = bufio.NewReaderSize(conn, frameHeader+frameBytesMax)
	c.reader = http2.NewFramer(nil, c.buffer)
	c.reader.SetReuseFrames()
	c.reader.SetMaxReadFrameSize(frameBytesMax)
	c.table = hpack.NewDecoder(tableBytes, c.field)
	c.out.WriteString(http2.ClientPreface)
	if err := errors.Join(
		c.writer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow}),
		c.writer.WriteWindowUpdate(0, connectionWindow),
	); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() {
	c.release()
	c.conn.Close()
}

// Call makes a call with one message each way, which Message began. The answer is
// valid until the next call; wait comes on top of the timeout.
func (c *Conn) Call(method string, message []byte, wait time.Duration) ([]byte, error) {
	if err := c.begin(method, wait); err != nil {
		return nil, err
	}
	if err := c.put(message, true, c.readFor); err != nil && !c.ended {
		return nil, err
	}
	for !c.ended {
		if err := c.readFrame(); err != nil {
			return nil, err
		}
	}
	if c.status != codes.OK {
		return nil, &StatusError{c.status, c.message}
	}
	answer, whole, err := c.take()
	if err == nil && !whole {
		err = io.ErrUnexpectedEOF
	}
	return answer, err
}

// errEnded says that the server ended the call before it read the whole message.
var errEnded = errors.New("the server has ended the call")

// readFor reads a frame while there is no room for the rest of a message.
func (c *Conn) readFor() error {
	if err := c.readFrame(); err != nil || !c.ended {
		return err
	}
	return errEnded
}

// Open begins a call with streams. It has no deadline.
func (c *Conn) Open(method string) error { return c.begin(method, -1) }

// Send sends a message, which Message began, on the stream. It waits while the
// server does not read.
func (c *Conn) Send(message []byte) error { return c.put(message, false, c.awaitRoom) }

// CloseSend says that no further message comes.
func (c *Conn) CloseSend() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writer.WriteData(c.stream, true, nil); err != nil {
		return err
	}
	return c.flush()
}

// Receive receives a message, which is valid until the next Receive. The error is
// io.EOF when the server has ended the stream well.
func (c *Conn) Receive() ([]byte, error) {
	message, err := c.receive()
	if err != nil {
		c.mu.Lock()
		c.broken = err
		c.mu.Unlock()
		c.room.Broadcast()
	}
	return message, err
}

func (c *Conn) receive() ([]byte, error) {
	for {
		message, whole, err := c.take()
		switch {
		case whole || err != nil:
			return message, err
		case c.ended && c.status != codes.OK:
			return nil, &StatusError{c.status, c.message}
		case c.ended:
			return nil, io.EOF
		}
		if err := c.readFrame(); err != nil {
			return nil, err
		}
	}
}

// begin writes the header of a call. wait is below zero if it has no deadline.
func (c *Conn) begin(method string, wait time.Duration) error {
	// Moving the deadline costs as much as a small parse, so it is moved only once
	// it has come a quarter nearer.
	limit := c.timeout + wait
	if now := time.Now(); wait < 0 {
		if err := c.conn.SetDeadline(time.Time{}); err != nil {
			return err
		}
	} else if c.until.Before(now.Add(limit)) {
		c.until = now.Add(limit + limit/4)
		if err := c.conn.SetDeadline(c.until); err != nil {
			return err
		}
	}
	if c.stream += 2; c.stream == 2 {
		c.stream = 1
	}
	c.status, c.message, c.ended, c.data, c.taken, c.unread[0] = codes.Unknown, "no status", false, c.data[:0], 0, 0
	c.mu.Lock()
	defer c.mu.Unlock()
	c.windows[0] = c.initial
	return c.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.encode(method), EndHeaders: true})
}

// put writes a message, and calls await while there is no room for it.
func (c *Conn) put(message []byte, last bool, await func() error) error {
	binary.BigEndian.PutUint32(message[1:prefixBytes], uint32(len(message)-prefixBytes))
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(message) > 0 {
		n := min(int64(len(message)), c.windows[0], c.windows[1], c.frame)
		if n <= 0 {
			err := c.flush()
			if err == nil {
				c.mu.Unlock()
				err = await()
				c.mu.Lock()
			}
			if err != nil {
				return err
			}
			continue
		}
		c.windows[0] -= n
		c.windows[1] -= n
		if err := c.writer.WriteData(c.stream, last && n == int64(len(message)), message[:n]); err != nil {
			return err
		}
		message = message[n:]
	}
	return c.flush()
}

// awaitRoom waits until the receiver of the stream has heard of more room.
func (c *Conn) awaitRoom() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.broken == nil && min(c.windows[0], c.windows[1]) <= 0 {
		c.room.Wait()
	}
	return c.broken
}

// flush writes what is in out. The caller holds mu.
func (c *Conn) flush() error {
	_, err := c.conn.Write(c.out.Bytes())
	c.out.Reset()
	return err
}

// take takes a whole message from what was received.
func (c *Conn) take() (message []byte, whole bool, err error) {
	rest := c.data[c.taken:]
	if len(rest) < prefixBytes {
		return nil, false, nil
	}
	size := binary.BigEndian.Uint32(rest[1:prefixBytes])
	if rest[0] != 0 || size > messageBytesMax {
		return nil, false, fmt.Errorf("a message of %d bytes, compressed with %d", size, rest[0])
	}
	if len(rest) < prefixBytes+int(size) {
		return nil, false, nil
	}
	c.taken += prefixBytes + int(size)
	return rest[prefixBytes : c.taken-len(c.data)+len(rest)], true, nil
}
