package unauthenticated

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seriatimq/seriatim/test/kit/attacker"
)

// caller attacks the client and the admin port without credentials.
type caller struct{ *attacker.Client }

// First bytes of requests that never end.
const (
	halfHeader = "POST / HTTP/1.1\r\nHost: h\r\nX-A: "
	halfBody   = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: " +
		"application/x-amz-json-1.0\r\nContent-Length: 1000000\r\n\r\n{"
	halfHello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" // of TLS
	whole     = "POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ListQueues\r\nContent-Type: " +
		"application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n{}"
)

// malformed returns first bytes of malformed or too large requests.
func malformed() []string {
	random := make([]byte, 100<<10)
	_, _ = rand.Read(random)
	noise := string(random)
	return []string{
		noise, "GET / HTTP/1.1\r\nHost: h\r\nX-A: " + strings.Repeat("a", 1<<20), "POST /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("X-A: b\r\n", 100_000),
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n" + noise, halfHello,
		"\x16\x03\x03\xff\xff" + noise,
	}
}

func (s caller) sendMalformed(address string) {
	for _, first := range malformed() {
		s.Dial(address, first)
	}
}

// ignoreAnswers sends requests and reads no answers, until the server stops reading.
func (s caller) ignoreAnswers(address string) {
	conn := s.Dial(address, "")
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

// speak opens an HTTP/2 connection.
func (s caller) speak(address string) (*http2.Framer, net.Conn) {
	conn := s.Dial(address, http2.ClientPreface)
	if conn == nil {
		return nil, nil
	}
	framer := http2.NewFramer(conn, nil)
	_ = framer.WriteSettings()
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until it is closed
	return framer, conn
}

// head returns the header block of an HTTP/2 request.
func head() []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for _, f := range []string{":method=POST", ":scheme=http", ":path=/", ":authority=h", "x-amz-target=AmazonSQS.ListQueues",
		"content-type=application/x-amz-json-1.0"} {
		name, value, _ := strings.Cut(f[1:], "=")
		_ = encoder.WriteField(hpack.HeaderField{Name: f[:1] + name, Value: value})
	}
	return b.Bytes()
}

// openStreams opens requests whose bodies never come.
func (s caller) openStreams(address string, conns, each int) {
	for range conns {
		framer, _ := s.speak(address)
		for i := range each {
			if framer == nil || framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head(),
				EndHeaders: true}) != nil {
				break
			}
		}
	}
}

// floods write one frame each. These frames cost the sender almost nothing.
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

// flood sends frames of one kind until the server closes the connection, frames at most.
func (s caller) flood(address string, frames int, one func(*http2.Framer, int) error) {
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

// shakeHands starts TLS handshakes, completes some of them, and sends nothing more.
func (s caller) shakeHands(ctx context.Context, address string, count int) {
	for range count {
		s.Dial(address, halfHello)
		s.Dial(address, whole) // without TLS
		s.shakeHand(ctx, address)
	}
}

// shakeHand completes a TLS handshake.
func (s caller) shakeHand(ctx context.Context, address string) {
	if conn := s.Dial(address, ""); conn != nil {
		//nolint:gosec // an attacker trusts every certificate
		_ = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2"}}).HandshakeContext(ctx)
	}
}
