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
	"os"
	"runtime"
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

// Final reports whether repeating the call cannot help.
func (e *StatusError) Final() bool {
	return e.Code == codes.InvalidArgument || e.Code == codes.NotFound || e.Code == codes.PermissionDenied
}

// link is a connection with the calls under way on it. One goroutine at a time reads.
type link struct {
	conn    net.Conn
	timeout time.Duration
	release func() bool
	input

	mu sync.Mutex // the rest
	heads
	calls   map[uint32]*call // by their stream
	stream  uint32           // the last one
	until   time.Time        // deadline set on conn
	room    *sync.Cond       // that there may be room, or broken or ended is set
	out     bytes.Buffer     // frames to write
	spare   bytes.Buffer     // the memory of those written last
	writing bool             // a goroutine is
	writer  *http2.Framer    // to out
	window  int64            // how much may be sent on all streams
	initial int64            // window of a new stream
	frame   int64            // bytes of the largest frame to send
	broken  error
}

// input is what belongs to the goroutine that reads.
type input struct {
	buffer *bufio.Reader
	reader *http2.Framer // of buffer
	table  *hpack.Decoder
	fields []byte // of a block of headers that is not whole yet
	last   bool   // that block ends its stream
	about  *call  // whose headers are being read; nil: of no call under way
	unread int    // bytes that the server was not told of
}

// call is a call on its way. Until it has ended it belongs to the goroutine that reads, except
// for what needs the mutex of the link.
type call struct {
	stream  uint32
	status  codes.Code
	message string // of status
	data    []byte // of answers, not taken yet
	taken   int    // of data
	unread  int    // bytes that the server was not told of
	// over is told once when the call has ended or the link is broken; nil: the caller reads
	// by itself.
	over chan struct{}

	window int64     // how much may be sent; with the mutex
	until  time.Time // when the answer must be there; with the mutex
	ended  bool      // by the server; with the mutex
}

// dial connects. The end of ctx closes the connection, whatever is being waited
// for on it; timeout bounds how long an answer may take.
func dial(ctx context.Context, address string, timeout time.Duration, header func(method string) http.Header, readBytes int) (*link, error) {
	dialer := net.Dialer{Timeout: dialTime}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &link{
		conn: conn, timeout: timeout, calls: make(map[uint32]*call), initial: 65535, window: 65535, frame: frameBytesMax,
		heads:   heads{address: address, header: header, added: make(map[string]addition), known: make(map[string][]byte)},
		release: context.AfterFunc(ctx, func() { conn.Close() }),
	}
	l.room = sync.NewCond(&l.mu)
	l.writer = http2.NewFramer(&l.out, nil)
	l.encoder = hpack.NewEncoder(&l.block)
	l.buffer = bufio.NewReaderSize(conn, readBytes)
	l.reader = http2.NewFramer(nil, l.buffer)
	l.reader.SetReuseFrames()
	l.reader.SetMaxReadFrameSize(frameBytesMax)
	l.table = hpack.NewDecoder(tableBytes, l.field)
	l.out.WriteString(http2.ClientPreface)
	if err := errors.Join(
		l.writer.WriteSettings(http2.Setting{ID: http2.SettingEnablePush}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow}),
		l.writer.WriteWindowUpdate(0, connectionWindow),
	); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *link) close() {
	l.release()
	l.conn.Close()
}

// fail ends all that waits for the connection, which is closed. It needs the mutex.
func (l *link) fail(err error) error {
	if l.broken != nil {
		return l.broken
	}
	l.broken = err
	l.conn.Close()
	l.room.Broadcast()
	for stream, c := range l.calls {
		delete(l.calls, stream)
		if c.over != nil {
			c.over <- struct{}{}
		}
	}
	return err
}

// begin writes the header of a call. wait is below zero if it has no deadline.
func (l *link) begin(c *call, method string, wait time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if err := l.limit(c, wait); err != nil {
		return l.fail(err)
	}
	if l.stream += 2; l.stream == 2 {
		l.stream = 1
	}
	c.stream, c.status, c.message, c.ended, c.data, c.taken, c.unread = l.stream, codes.Unknown, "no status", false, c.data[:0], 0, 0
	c.window = l.initial
	l.calls[c.stream] = c
	return l.writer.WriteHeaders(http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: l.encode(method), EndHeaders: true})
}

// limit bounds how long a call may take. Moving the deadline of the connection costs as much
// as a small parse, so it is moved only once it has come a quarter nearer; then calls
// are looked for that have lasted too long beside others. It needs the mutex.
func (l *link) limit(c *call, wait time.Duration) error {
	if wait < 0 {
		return l.conn.SetDeadline(time.Time{})
	}
	now, limit := time.Now(), l.timeout+wait
	c.until = now.Add(limit)
	if !l.until.Before(c.until) {
		return nil
	}
	for _, other := range l.calls {
		if now.After(other.until) {
			return os.ErrDeadlineExceeded
		}
	}
	l.until = c.until.Add(limit / 4)
	return l.conn.SetDeadline(l.until)
}

// put writes a message, and calls await while there is no room for it.
func (l *link) put(c *call, message []byte, last bool, await func(*call) error) error {
	binary.BigEndian.PutUint32(message[1:prefixBytes], uint32(len(message)-prefixBytes))
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(message) > 0 {
		n := min(int64(len(message)), c.window, l.window, l.frame)
		if n <= 0 {
			err := l.flush()
			if err == nil {
				l.mu.Unlock()
				err = await(c)
				l.mu.Lock()
			}
			if err != nil {
				return err
			}
			continue
		}
		c.window -= n
		l.window -= n
		if err := l.writer.WriteData(c.stream, last && n == int64(len(message)), message[:n]); err != nil {
			return err
		}
		message = message[n:]
	}
	return l.flush()
}

// errEnded says that the server ended the call before it read the whole message.
var errEnded = errors.New("the server has ended the call")

// awaitRoom waits until the goroutine that reads has heard of more room.
func (l *link) awaitRoom(c *call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.broken == nil && !c.ended && min(c.window, l.window) <= 0 {
		l.room.Wait()
	}
	if c.ended {
		return errEnded
	}
	return l.broken
}

// flush writes what is in out, unless another goroutine writes, which then takes that along.
// Where there are several calls, others that are ready append first, so that one
// write takes all. It needs the mutex, and lets go of it while it writes.
func (l *link) flush() error {
	if l.writing || l.broken != nil {
		return l.broken
	}
	l.writing = true
	for l.out.Len() > 0 && l.broken == nil {
		if len(l.calls) > 1 {
			l.mu.Unlock()
			runtime.Gosched()
			l.mu.Lock()
		}
		l.out, l.spare = l.spare, l.out
		l.mu.Unlock()
		_, err := l.conn.Write(l.spare.Bytes())
		l.mu.Lock()
		l.spare.Reset()
		if err != nil {
			_ = l.fail(err) // which is what broken says
		}
	}
	l.writing = false
	return l.broken
}

// find is the call of a stream, nil if it has none under way.
func (l *link) find(stream uint32) *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[stream]
}

// end notes that the server has ended a call.
func (l *link) end(c *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[c.stream] != c {
		return
	}
	delete(l.calls, c.stream)
	c.ended = true
	l.room.Broadcast()
	if c.over != nil {
		c.over <- struct{}{}
	}
}

// take takes a whole message from what was received.
func (c *call) take() (message []byte, whole bool, err error) {
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

// answer is what a call with one message each way has brought.
func (c *call) answer() ([]byte, error) {
	if c.status != codes.OK {
		return nil, &StatusError{c.status, c.message}
	}
	answer, whole, err := c.take()
	if err == nil && !whole {
		err = io.ErrUnexpectedEOF
	}
	return answer, err
}
