package strangers

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stranger is somebody on another machine. What he gets for an answer is no error.
type stranger struct {
	t    *testing.T
	from net.IP
	mu   sync.Mutex
	open []net.Conn
}

// dial connects and says something; the connection stays until hangUp. It is nil if
// nobody took it.
func (s *stranger) dial(address, first string) net.Conn {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: s.from}, Timeout: patience}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	s.open = append(s.open, conn)
	s.mu.Unlock()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Error(err)
	}
	_, _ = io.WriteString(conn, first)
	return conn
}

func (s *stranger) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.open {
		conn.Close()
	}
	s.open = nil
}

// hold opens so many connections that say this and nothing more.
func (s *stranger) hold(address string, count int, first string) {
	for range count {
		s.dial(address, first)
	}
}

// Beginnings of requests that never end.
const (
	halfHeader = "POST / HTTP/1.1\r\nHost: h\r\nX-A: "
	halfBody   = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 1000000\r\n\r\n{"
	halfHello  = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // of TLS
	whole      = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"
)

// annoy tries what is no request, or too large a one.
func (s *stranger) annoy(address string) {
	noise := make([]byte, 100<<10)
	_, _ = rand.Read(noise)
	for _, first := range []string{
		string(noise), "GET / HTTP/1.1\r\nHost: h\r\nX-A: " + strings.Repeat("a", 1<<20), "POST /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("X-A: b\r\n", 100_000), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n" + string(noise), halfHello, "\x16\x03\x03\xff\xff" + string(noise),
	} {
		s.dial(address, first)
	}
}

// ignoreAnswers asks without end and reads nothing, until the server takes no more.
func (s *stranger) ignoreAnswers(address string) {
	conn := s.dial(address, "")
	if conn == nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	for {
		if _, err := io.WriteString(conn, strings.Repeat(whole, 100)); err != nil {
			return
		}
	}
}

// speak opens a connection over HTTP/2.
func (s *stranger) speak(address string) (*http2.Framer, net.Conn) {
	conn := s.dial(address, http2.ClientPreface)
	if conn == nil {
		return nil, nil
	}
	framer := http2.NewFramer(conn, nil)
	_ = framer.WriteSettings()
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until it is closed
	return framer, conn
}

// head is the header of a request over HTTP/2.
func head() []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for _, f := range []string{":method=POST", ":scheme=http", ":path=/", ":authority=h", "x-amz-target=AmazonSQS.ListQueues", "content-type=application/x-amz-json-1.0"} {
		name, value, _ := strings.Cut(f[1:], "=")
		_ = encoder.WriteField(hpack.HeaderField{Name: f[:1] + name, Value: value})
	}
	return b.Bytes()
}

// openStreams opens requests whose bodies never come.
func (s *stranger) openStreams(address string, conns, each int) {
	for range conns {
		framer, _ := s.speak(address)
		for i := range each {
			if framer == nil || framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head(), EndHeaders: true}) != nil {
				break
			}
		}
	}
}

// floods are frames that cost the sender next to nothing: each writes one.
var floods = map[string]func(f *http2.Framer, i int) error{
	"pings": func(f *http2.Framer, _ int) error { return f.WritePing(false, [8]byte{}) },
	"settings": func(f *http2.Framer, i int) error {
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(i % 100)})
	},
	"windows": func(f *http2.Framer, _ int) error { return f.WriteWindowUpdate(0, 1) },
	"resets": func(f *http2.Framer, i int) error {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head(), EndHeaders: true})
		if err != nil {
			return err
		}
		return f.WriteRSTStream(uint32(2*i+1), http2.ErrCodeCancel)
	},
	"empty continuations": func(f *http2.Framer, i int) error {
		if i == 0 {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head()})
		}
		return f.WriteContinuation(1, false, nil)
	},
	"headers without end": func(f *http2.Framer, i int) error {
		if i == 0 {
			return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head()})
		}
		return f.WriteContinuation(1, false, bytes.Repeat([]byte{0, 1, 'a', 1, 'b'}, 1000))
	},
}

// flood sends frames of a kind, until the server has had enough, or so many were sent.
func (s *stranger) flood(address string, frames int, one func(*http2.Framer, int) error) {
	framer, _ := s.speak(address)
	if framer == nil {
		return
	}
	for i := range frames {
		if one(framer, i) != nil {
			return
		}
	}
}

// shakeHands begins handshakes of TLS, ends some, and says nothing over those.
func (s *stranger) shakeHands(address string, count int) {
	for range count {
		s.dial(address, halfHello)
		s.dial(address, whole) // without TLS
		if conn := s.dial(address, ""); conn != nil {
			//nolint:gosec // a stranger believes everybody
			_ = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}).HandshakeContext(s.t.Context())
		}
	}
}
