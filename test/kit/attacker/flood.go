package attacker

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
)

// A Flood is a set of connections that send unsigned requests as fast as the server answers, or attack
// by AMQP.
type Flood struct {
	Addresses []string // of client ports
	Conns     int      // to each of them
	Depth     int      // requests in each write
	HTTP2     bool
	Deaf      bool // reads no answer
	AMQP      AMQP // empty: HTTP
}

// Run floods until ctx ends, and returns the number of bytes in answers.
func (f Flood) Run(ctx context.Context) int64 {
	var conns sync.WaitGroup
	var answered atomic.Int64
	for _, address := range f.Addresses {
		for range f.Conns {
			conns.Go(func() {
				for ctx.Err() == nil { // connects again after the server has closed it
					answered.Add(f.connect(ctx, address))
				}
			})
		}
	}
	conns.Wait()
	return answered.Load()
}

// connect floods over one connection until it ends.
func (f Flood) connect(ctx context.Context, address string) (answered int64) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		return 0
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var reading sync.WaitGroup
	reading.Go(func() {
		if f.Deaf || f.AMQP == Unread {
			return
		}
		answered, _ = io.Copy(io.Discard, conn)
		_ = conn.Close() // the server closed it, or the flood ended
	})
	if f.AMQP != "" {
		f.AMQP.attack(ctx, conn, len(f.Addresses)*f.Conns)
		if f.AMQP == Unread {
			<-ctx.Done()
		}
		reading.Wait() // for the server to close it
		return answered
	}
	requests := strings.Repeat(whole, f.Depth)
	h2 := newFrames()
	for ctx.Err() == nil {
		if f.HTTP2 {
			requests = h2.requests(f.Depth)
		}
		if _, err := io.WriteString(conn, requests); err != nil {
			break
		}
	}
	reading.Wait()
	return answered
}

const whole = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: " +
	"application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"

// frames writes HTTP/2 frames of requests, with the largest flow-control windows.
type frames struct {
	out     bytes.Buffer
	block   bytes.Buffer
	encoder *hpack.Encoder
	stream  uint32 // of the last request
	begun   bool
}

func newFrames() *frames {
	f := &frames{}
	f.encoder = hpack.NewEncoder(&f.block)
	return f
}

// Kinds and flags of frames.
const (
	frameData         = 0
	frameHeaders      = 1
	frameSettings     = 4
	frameWindowUpdate = 8
	flagEnd           = 1 // of a stream; of settings: acknowledged
	flagEndHeaders    = 4
)

func (f *frames) frame(kind, flags byte, stream uint32, content []byte) {
	f.out.Write([]byte{byte(len(content) >> 16), byte(len(content) >> 8), byte(len(content)), kind, flags})
	f.out.Write(binary.BigEndian.AppendUint32(nil, stream))
	f.out.Write(content)
}

// requests returns the frames of count further requests.
func (f *frames) requests(count int) string {
	f.out.Reset()
	if !f.begun {
		f.begun, f.stream = true, 1
		f.out.WriteString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		const initialWindow = 4
		f.frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, initialWindow}, 1<<30))
		f.frame(frameSettings, flagEnd, 0, nil)
		f.frame(frameWindowUpdate, 0, 0, binary.BigEndian.AppendUint32(nil, 1<<31-1-65535))
	}
	for range count {
		f.block.Reset()
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":path", Value: "/"}, {Name: ":scheme", Value: "http"},
			{Name: ":authority", Value: "h"},
			{Name: "content-type", Value: "application/x-amz-json-1.0"}, {Name: "x-amz-target", Value: "AmazonSQS.ListQueues"},
		} {
			_ = f.encoder.WriteField(field) // a buffer never fails
		}
		f.frame(frameHeaders, flagEndHeaders, f.stream, f.block.Bytes())
		f.frame(frameData, flagEnd, f.stream, []byte("{}"))
		f.stream += 2
	}
	return f.out.String()
}
