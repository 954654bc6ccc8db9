package transport

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// BenchmarkRequest compares net/http with package http1: one request and its answer on a connection
// over loopback. The client only writes and reads bytes.
func BenchmarkRequest(b *testing.B) {
	const request = "POST / HTTP/1.1\r\nHost: 127.0.0.1:9324\r\nContent-Type: application/x-amz-json-1.0\r\n" +
		"X-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 400\r\n\r\n"
	answer := []byte(strings.Repeat("y", 200))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unverified.From(r.Context()).Verified()
		if _, whole := http1.BodyText(r); !whole {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		w.Header()["Content-Type"] = []string{"application/x-amz-json-1.0"}
		w.Header()["Content-Length"] = []string{"200"}
		_, _ = w.Write(answer)
	})
	for _, c := range []struct {
		name string
		net  bool // served by net/http
	}{{"net-http", true}, {"http1", false}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Listen(b.Context(), Config{Addr: "127.0.0.1:0", Handler: handler, Logger: quiet(), Now: time.Now, NetHTTP: c.net})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Shutdown(b.Context())
			conn, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			whole := []byte(request + strings.Repeat("x", 400))
			reader := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(whole); err != nil {
					b.Fatal(err)
				}
				for {
					line, err := reader.ReadSlice('\n')
					if err != nil {
						b.Fatal(err)
					}
					if len(line) <= 2 {
						break
					}
				}
				if _, err := reader.Discard(len(answer)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCall measures a request with a body and an answer with trailers, as in gRPC, on one
// connection over loopback.
func BenchmarkCall(b *testing.B) {
	answer := []byte(strings.Repeat("y", 200))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unverified.From(r.Context()).Verified()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/grpc"}
		_, _ = w.Write(answer)
		w.Header()[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	})
	s, err := Listen(b.Context(), Config{Addr: "127.0.0.1:0", Handler: handler, Logger: quiet(), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Shutdown(b.Context())
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	call := newRawCall(b, conn)
	b.ReportAllocs()
	for b.Loop() {
		call.do(b)
	}
}

// rawCall holds a connection and the encoded frames of a request.
type rawCall struct {
	conn    net.Conn
	request []byte
	body    int // the offset of the body's frame in it
	stream  uint32
	reader  *bufio.Reader
}

func newRawCall(b *testing.B, conn net.Conn) *rawCall {
	b.Helper()
	var block, out bytes.Buffer
	e := hpack.NewEncoder(&block)
	e.SetMaxDynamicTableSize(0)
	for _, f := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/seriatim.v1.Queues/Send"},
		{":authority", "127.0.0.1:9324"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			b.Fatal(err)
		}
	}
	framer := http2.NewFramer(&out, nil)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		b.Fatal(err)
	}
	if err := http2.NewFramer(conn, nil).WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}); err != nil {
		b.Fatal(err)
	}
	if err := http2.NewFramer(conn, nil).WriteWindowUpdate(0, 1<<30); err != nil {
		b.Fatal(err)
	}
	c := &rawCall{conn: conn, stream: 1, reader: bufio.NewReader(conn)}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}); err != nil {
		b.Fatal(err)
	}
	c.body = out.Len()
	if err := framer.WriteData(1, true, bytes.Repeat([]byte("x"), 400)); err != nil {
		b.Fatal(err)
	}
	c.request = out.Bytes()
	return c
}

// do writes the request and reads until its stream has ended.
func (c *rawCall) do(b *testing.B) {
	const header, stream, ended = 9, 5, 1
	binary.BigEndian.PutUint32(c.request[stream:], c.stream)
	binary.BigEndian.PutUint32(c.request[c.body+stream:], c.stream)
	if _, err := c.conn.Write(c.request); err != nil {
		b.Fatal(err)
	}
	for {
		h, err := c.reader.Peek(header)
		if err != nil {
			b.Fatal(err)
		}
		last := binary.BigEndian.Uint32(h[stream:]) == c.stream && h[4]&ended != 0
		if _, err := c.reader.Discard(header + int(binary.BigEndian.Uint32(append([]byte{0}, h[:3]...)))); err != nil {
			b.Fatal(err)
		}
		if last {
			break
		}
	}
	c.stream += 2
}
