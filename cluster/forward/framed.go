package forward

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// On a connection of peernet.KindForward both ends speak in frames:
//
//	kind(u8) zero(u8 x 3) size(u32) CRC-32C of the content(u32) CRC-32C of the 12 bytes before(u32) content
//
// with numbers little-endian. The content is a RequestFrame or an AnswerFrame of
// peer.proto, as on the streams of gRPC that programs before it have. The head has a
// checksum of its own, so that nobody takes memory for a length that the network
// invented.
const (
	framedHead = 16
	// framedReadAhead takes several small frames with one call.
	framedReadAhead = 16 << 10
	// framedKeepMax is the largest buffer that is kept for the next frame.
	framedKeepMax = 256 << 10
	// framedStep is how much memory is taken at once for content that is still to come:
	// enough for a message of the largest body.
	framedStep = 2 << 20
)

// frameKind is what a frame carries. The numbers are part of the protocol between
// nodes and are never reused.
type frameKind uint8

const (
	framedRequests frameKind = 1
	framedAnswers  frameKind = 2
	framedEnd      frameKind = 3 // the node asks nothing more
	framedAlive    frameKind = 4 // the node has nothing to say
)

// An end that said nothing for silenceMax says so. One that was not heard of for
// silentTicks times as long is gone: its machine may have stopped without a word.
const (
	silenceMax  = 5 * time.Second
	silentTicks = 3
)

// errDamagedFrame is the error of what no node of this program has sent.
var errDamagedFrame = errors.New("a frame of another node is damaged")

// framedConn is one end of a connection. One goroutine reads; writing is safe for
// concurrent use.
type framedConn struct {
	conn net.Conn
	in   *bufio.Reader

	mu  sync.Mutex
	out []byte // the frame being written

	written, read atomic.Uint64 // frames
	ended         atomic.Bool   // the other end has said that it asks nothing more
	closed        atomic.Bool

	// Used by tick only.
	writtenBefore, readBefore uint64
	silent                    int // ticks since a frame was read
}

// newFramedConn speaks on a connection until close.
func newFramedConn(conn net.Conn) *framedConn {
	c := &framedConn{conn: conn, in: bufio.NewReaderSize(conn, framedReadAhead)}
	time.AfterFunc(silenceMax, c.tick)
	return c
}

// close ends the connection; more than once is allowed.
func (c *framedConn) close() error {
	c.closed.Store(true)
	return c.conn.Close()
}

// tick looks whether both ends have said something.
func (c *framedConn) tick() {
	if c.closed.Load() {
		return
	}
	written, read := c.written.Load(), c.read.Load()
	if c.silent++; read != c.readBefore || c.ended.Load() {
		c.silent = 0
	}
	if c.silent == silentTicks {
		_ = c.close() // whoever reads or writes finds out
		return
	}
	// Who holds the lock is writing.
	if written == c.writtenBefore && c.mu.TryLock() {
		c.begin()
		_ = c.write(framedAlive) // whoever reads finds out
		c.mu.Unlock()
	}
	c.writtenBefore, c.readBefore = c.written.Load(), read
	time.AfterFunc(silenceMax, c.tick)
}

// begin leaves room for the head of a frame. The caller holds mu.
func (c *framedConn) begin() { c.out = append(c.out[:0], make([]byte, framedHead)...) }

// write writes the frame in out, with one call. The caller holds mu.
func (c *framedConn) write(kind frameKind) error {
	content := c.out[framedHead:]
	if len(content) > frameLimit {
		return fmt.Errorf("a frame of %d bytes for another node is larger than it takes", len(content))
	}
	putFramedHead(c.out, kind, content)
	_, err := c.conn.Write(c.out)
	if cap(c.out) > framedKeepMax {
		c.out = nil
	}
	c.written.Add(1)
	return err
}

func putFramedHead(head []byte, kind frameKind, content []byte) {
	head[0] = byte(kind)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(content)))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(content, castagnoli))
	binary.LittleEndian.PutUint32(head[12:], crc32.Checksum(head[:12], castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// next reads a frame that says something. The error is io.EOF if the other end has
// closed the connection or has said that nothing follows. Any other ends the connection.
func (c *framedConn) next(want frameKind) ([]byte, error) {
	for {
		kind, content, err := readFramed(c.in)
		if err != nil {
			_ = c.close() // whoever writes finds out
			return nil, err
		}
		c.read.Add(1)
		switch {
		case kind == want:
			return content, nil
		case kind == framedEnd && len(content) == 0:
			c.ended.Store(true)
			return nil, io.EOF
		case kind == framedAlive && len(content) == 0:
		default:
			_ = c.close()
			return nil, fmt.Errorf("%w: kind %d with %d bytes", errDamagedFrame, kind, len(content))
		}
	}
}

// readFramed reads one frame. The content is the caller's.
func readFramed(in *bufio.Reader) (kind frameKind, content []byte, err error) {
	head, err := in.Peek(framedHead)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(head[12:]) != crc32.Checksum(head[:12], castagnoli) {
		return 0, nil, fmt.Errorf("%w: its head has another checksum", errDamagedFrame)
	}
	kind = frameKind(head[0])
	size, sum := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if head[1] != 0 || head[2] != 0 || head[3] != 0 || size > frameLimit {
		return 0, nil, fmt.Errorf("%w: kind %d with %d bytes", errDamagedFrame, kind, size)
	}
	_, _ = in.Discard(framedHead) // it was peeked
	content = make([]byte, min(int(size), framedStep))
	for at := 0; ; {
		if _, err := io.ReadFull(in, content[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
		if at = len(content); at == int(size) {
			break
		}
		content = append(content, make([]byte, min(int(size)-at, at))...)
	}
	if crc32.Checksum(content, castagnoli) != sum {
		return 0, nil, fmt.Errorf("%w: its content has another checksum", errDamagedFrame)
	}
	return kind, content, nil
}
