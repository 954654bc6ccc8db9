package http2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	frame "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/limits"
)

// peer is a client that writes any frames. It is used in a bubble, where time passes only when
// nothing else can happen.
type peer struct {
	t      *testing.T
	server *Server
	conn   net.Conn
	out    *frame.Framer
	block  bytes.Buffer
	coder  *hpack.Encoder
	frames chan said
}

// said is a frame that the server sent.
type said struct {
	kind   frame.FrameType
	stream uint32
	code   frame.ErrCode // of a reset or a GOAWAY
	status string        // of a HEADERS frame
	length int           // of the frame
	data   int           // bytes of the body
	ping   [8]byte
}

// dialPeer connects and writes the preface, or another text. The server blocks when too many of its
// frames were not read.
func dialPeer(t *testing.T, handler http.HandlerFunc, preface string) *peer {
	t.Helper()
	here, there := net.Pipe()
	p := &peer{t: t, conn: here, out: frame.NewFramer(here, nil), frames: make(chan said, 100_000)}
	p.coder = hpack.NewEncoder(&p.block)
	p.server = New(t.Context(), Config{
		Handler: handler, Now: time.Now, Others: func(c net.Conn) { _ = c.Close() }, Logger: slog.New(slog.DiscardHandler),
	})
	p.server.Serve(there)
	go p.read()
	t.Cleanup(func() {
		_ = here.Close() // it may be closed already
		clustertest.Check(t, p.server.Shutdown(context.Background()))
		for range p.frames { // until all goroutines are gone
		}
	})
	p.write([]byte(preface))
	return p
}

// read reads the server's frames until the end of the connection.
func (p *peer) read() {
	defer close(p.frames)
	in := frame.NewFramer(nil, p.conn)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := in.ReadFrame()
		if err != nil {
			return
		}
		one := said{kind: f.Header().Type, stream: f.Header().StreamID, length: int(f.Header().Length)}
		switch f := f.(type) {
		case *frame.DataFrame:
			one.data = len(f.Data())
		case *frame.MetaHeadersFrame:
			one.status = f.PseudoValue("status")
		case *frame.RSTStreamFrame:
			one.code = f.ErrCode
		case *frame.GoAwayFrame:
			one.code = f.ErrCode
		case *frame.PingFrame:
			one.ping = f.Data
		}
		p.frames <- one
	}
}

// write writes bytes. The server may have closed the connection already.
func (p *peer) write(b []byte) {
	p.t.Helper()
	if _, err := p.conn.Write(b); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Fatal(err)
	}
}

// begin sends SETTINGS, as clients do first.
func (p *peer) begin(settings ...frame.Setting) *peer {
	p.t.Helper()
	p.sent(p.out.WriteSettings(settings...))
	return p
}

func (p *peer) sent(err error) {
	p.t.Helper()
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Fatal(err)
	}
}

// request begins a request with additional headers, given as names and values.
func (p *peer) request(stream uint32, ended bool, headers ...string) {
	p.t.Helper()
	p.block.Reset()
	all := append([]string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "h"}, headers...)
	for i := 0; i < len(all); i += 2 {
		clustertest.Must(p.t, p.coder.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}))
	}
	p.sent(p.out.WriteHeaders(frame.HeadersFrameParam{StreamID: stream, BlockFragment: p.block.Bytes(), EndStream: ended,
		EndHeaders: true}))
}

// until returns the first frame that is wanted, or a zero frame at the end of the connection.
func (p *peer) until(wanted func(said) bool) said {
	for f := range p.frames {
		if wanted(f) {
			return f
		}
	}
	return said{}
}

// wantReset waits until a stream is reset.
func (p *peer) wantReset(stream uint32, code frame.ErrCode) {
	p.t.Helper()
	f := p.until(func(f said) bool { return f.stream == stream && f.kind == frame.FrameRSTStream })
	if f.stream != stream || f.code != code {
		p.t.Errorf("stream %d: got %+v, want %v", stream, f, code)
	}
}

// wantGoAway waits until the server ends the connection.
func (p *peer) wantGoAway(code frame.ErrCode) {
	p.t.Helper()
	f := p.until(func(f said) bool { return f.kind == frame.FrameGoAway })
	if f.kind != frame.FrameGoAway || f.code != code {
		p.t.Errorf("got %+v, want %v", f, code)
	}
	for range p.frames { // until the connection is closed
	}
}

// wantAnswer waits for the header of a stream's answer.
func (p *peer) wantAnswer(stream uint32, status string) {
	p.t.Helper()
	if f := p.until(func(f said) bool { return f.stream == stream }); f.status != status {
		p.t.Errorf("stream %d: got %+v, want status %s", stream, f, status)
	}
}

// readAll answers when it has read the whole body.
func readAll(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

// An error of the client ends the connection with a certain code.
func TestMistakesEndTheConnection(t *testing.T) {
	for name, c := range map[string]struct {
		code frame.ErrCode
		act  func(p *peer)
	}{
		"no settings at first": {frame.ErrCodeProtocol, func(p *peer) { p.request(1, true) }},
		"an even stream":       {frame.ErrCodeProtocol, func(p *peer) { p.begin().request(2, true) }},
		"an earlier stream": {frame.ErrCodeProtocol, func(p *peer) {
			p.begin().request(5, true)
			p.wantAnswer(5, "200")
			p.request(3, true)
		}},
		"data before its stream": {frame.ErrCodeProtocol, func(p *peer) { p.sent(p.begin().out.WriteData(1, true, []byte("x"))) }},
		"a window of no stream":  {frame.ErrCodeProtocol, func(p *peer) { p.sent(p.begin().out.WriteWindowUpdate(9, 1)) }},
		"a reset of no stream":   {frame.ErrCodeProtocol, func(p *peer) { p.sent(p.begin().out.WriteRSTStream(9, frame.ErrCodeCancel)) }},
		"a promise": {frame.ErrCodeProtocol, func(p *peer) {
			p.sent(p.begin().out.WritePushPromise(frame.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: []byte{0x82},
				EndHeaders: true}))
		}},
		"a frame that is too large": {frame.ErrCodeFrameSize, func(p *peer) { p.begin().write([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1}) }},
		"headers of nonsense": {frame.ErrCodeCompression, func(p *peer) {
			p.sent(p.begin().out.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff},
				EndHeaders: true}))
		}},
		"a window beyond all bounds": {frame.ErrCodeFlowControl, func(p *peer) { p.sent(p.begin().out.WriteWindowUpdate(0, windowMax)) }},
		"a first window beyond all bounds": {frame.ErrCodeFlowControl, func(p *peer) {
			p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1 << 31})
		}},
		"endless headers": {frame.ErrCodeProtocol, func(p *peer) {
			p.begin()
			piece := appendField(nil, "a", strings.Repeat("x", 16_000))
			p.sent(p.out.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: piece}))
			for range 20 {
				p.sent(p.out.WriteContinuation(1, false, piece))
			}
		}},
		"more headers after a wrong one": {frame.ErrCodeProtocol, func(p *peer) {
			p.sent(p.begin().out.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: appendField(nil, "a b", "x")}))
			p.sent(p.out.WriteContinuation(1, true, appendField(nil, "c", "x")))
		}},
		"half a header": {frame.ErrCodeCompression, func(p *peer) {
			p.sent(p.begin().out.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0, 5, 'a'}, EndHeaders: true}))
		}},
		"pings without end": {frame.ErrCodeEnhanceYourCalm, func(p *peer) {
			p.begin()
			for range idleFramesMax {
				p.sent(p.out.WritePing(false, [8]byte{}))
			}
		}},
		"settings without end": {frame.ErrCodeEnhanceYourCalm, func(p *peer) {
			p.begin(slices.Repeat([]frame.Setting{{ID: frame.SettingInitialWindowSize, Val: 1}}, settingsMax+1)...)
		}},
		"mistakes without end": {frame.ErrCodeEnhanceYourCalm, func(p *peer) {
			p.begin().request(1, false)
			for range idleFramesMax {
				p.write(appendWindowUpdate(nil, 1, 0))
			}
		}},
		"empty data without end": {frame.ErrCodeEnhanceYourCalm, func(p *peer) {
			p.begin().request(1, false)
			for range idleFramesMax {
				p.sent(p.out.WriteData(1, false, nil))
			}
		}},
		"more than the window of the connection": {frame.ErrCodeFlowControl, func(p *peer) {
			p.begin()
			block := make([]byte, frameBytesMax)
			for stream := uint32(1); stream < 12; stream += 2 {
				p.request(stream, false)
				for range windowOfStream / frameBytesMax {
					p.sent(p.out.WriteData(stream, false, block))
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := dialPeer(t, func(_ http.ResponseWriter, r *http.Request) {
					if name != "an earlier stream" {
						<-r.Context().Done()
					}
				}, frame.ClientPreface)
				c.act(p)
				p.wantGoAway(c.code)
			})
		})
	}
}

// A mistake in one stream ends only that stream.
func TestMistakesEndTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, readAll, frame.ClientPreface).begin()
		for i, c := range []struct {
			code frame.ErrCode
			act  func(stream uint32)
		}{
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "Upper", "x") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "late", "x", ":path", "/again") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, ":protocol", "websocket") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, ":path", "/again") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, ":status", "200") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "a name", "x") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "", "x") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "x", "a\x00b") }},
			{frame.ErrCodeProtocol, func(s uint32) { p.request(s, true, "content-length", "1") }},
			{frame.ErrCodeProtocol, func(s uint32) {
				p.request(s, false, "content-length", "1")
				p.sent(p.out.WriteData(s, true, []byte("xy")))
			}},
			{frame.ErrCodeProtocol, func(s uint32) {
				p.request(s, false, "content-length", "3")
				p.sent(p.out.WriteData(s, true, []byte("xy")))
			}},
			{frame.ErrCodeFlowControl, func(s uint32) {
				p.request(s, false)
				p.sent(p.out.WriteWindowUpdate(s, windowMax))
			}},
			{frame.ErrCodeProtocol, func(s uint32) {
				p.request(s, false)
				p.write(appendWindowUpdate(nil, s, 0))
			}},
		} {
			stream := uint32(2*i + 1)
			c.act(stream)
			p.wantReset(stream, c.code)
		}
		p.request(101, true)
		p.wantAnswer(101, "200")
		pieces := append([]byte{0x83, 0x84, 0x86}, appendField(nil, "x", "in pieces")...)
		p.sent(p.out.WriteHeaders(frame.HeadersFrameParam{StreamID: 201, BlockFragment: pieces[:5], EndStream: true}))
		p.sent(p.out.WriteContinuation(201, false, pieces[5:9]))
		p.sent(p.out.WriteContinuation(201, true, pieces[9:]))
		p.wantAnswer(201, "200")
		for i, header := range [][]string{{"connection", "close"}, {"te", "gzip"}, {"content-length", "x"},
			{"x", strings.Repeat("x", limits.HeaderBytesMax)}} {
			stream := uint32(203 + 2*i)
			if i < 3 {
				p.request(stream, true, header...)
				p.wantAnswer(stream, "400")
				continue
			}
			block := append([]byte{0x83, 0x84, 0x86}, appendField(nil, header[0], header[1])...)
			p.write(appendHeaders(nil, stream, block, true))
			p.wantAnswer(stream, "431")
		}
	})
}

// The server sends no more than the windows permit, and in the end everything.
func TestWindowsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 300_000
		p := dialPeer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) }, frame.ClientPreface)
		p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 10})
		p.request(1, true)
		got, permitted := 0, 10
		take := func() {
			synctest.Wait()
			for len(p.frames) > 0 {
				got += (<-p.frames).data
			}
			if got != min(permitted, size) {
				t.Fatalf("got %d bytes, %d were permitted", got, permitted)
			}
		}
		take()
		p.sent(p.out.WriteWindowUpdate(1, 100))
		permitted += 100
		take()
		p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 20_010})
		permitted += 20_000
		take()
		p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 0}) // the window is negative now
		p.sent(p.out.WriteWindowUpdate(1, 20_010))
		take()
		p.sent(p.out.WriteWindowUpdate(1, size))
		permitted = windowAtFirst // the window of the connection
		take()
		p.sent(p.out.WriteWindowUpdate(0, size))
		permitted = size
		take()
	})
}

// After a client has reduced its header table, the next headers reduce it to zero. Decoders such as
// nghttp2's require that.
func TestTableOfHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, readAll, frame.ClientPreface).begin(frame.Setting{ID: frame.SettingHeaderTableSize, Val: 0})
		var lengths []int
		for stream := uint32(1); stream <= 5; stream += 2 {
			p.request(stream, true)
			answer := p.until(func(f said) bool { return f.kind == frame.FrameHeaders })
			if lengths = append(lengths, answer.length); answer.status != "200" {
				t.Fatalf("got %+v", answer)
			}
		}
		if lengths[0] != lengths[1]+1 || lengths[1] != lengths[2] {
			t.Errorf("the headers of three answers take %d bytes; the first should take one more than the others", lengths)
		}
	})
}

// Useless frames are counted per second, also if the client never pauses. Here each write ends in
// the middle of a frame.
func TestIdleFramesOfALongBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, readAll, frame.ClientPreface).begin()
		p.request(1, false)
		ping := appendPing(nil, false, [8]byte{})
		p.write(ping[:frameHeader])
		for range 2 * idleFramesMax {
			time.Sleep(time.Second / idleFramesMax * 2)
			p.write(append(bytes.Clone(ping[frameHeader:]), ping[:frameHeader]...))
		}
		p.write(ping[frameHeader:])
		p.sent(p.out.WriteData(1, true, nil))
		p.wantAnswer(1, "200")
	})
}

// Two callers on one connection are served concurrently, also if the requests of each always fall
// between those of the other.
func TestTwoCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		p := dialPeer(t, func(http.ResponseWriter, *http.Request) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(passAfter / 2)
			running.Add(-1)
		}, frame.ClientPreface).begin()
		stream := uint32(1)
		call := func() {
			p.request(stream, true)
			stream += 2
		}
		answered := func() { p.until(func(f said) bool { return f.kind == frame.FrameHeaders }) }
		for range 2 * aloneMin {
			call()
			answered()
		}
		if n := most.Load(); n != 1 {
			t.Fatalf("one caller had %d requests running", n)
		}
		call()
		for range 2 * checkEvery {
			call()
			answered()
		}
		if n := most.Load(); n != 2 {
			t.Errorf("two callers had %d requests running", n)
		}
	})
}

// A client at the limit of streams may open another one as soon as one has ended.
func TestStreamsMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := dialPeer(t, func(http.ResponseWriter, *http.Request) { <-release }, frame.ClientPreface).begin()
		for i := range uint32(streamsMax) {
			p.request(2*i+1, true)
		}
		for i := range uint32(streamsMax) {
			release <- struct{}{}
			if f := p.until(func(f said) bool { return f.kind == frame.FrameHeaders }); f.status != "200" {
				t.Fatalf("got %+v", f)
			}
			p.request(2*(streamsMax+i)+1, true)
		}
		synctest.Wait()
		close(release)
		for range streamsMax {
			if f := p.until(func(f said) bool {
				return f.kind == frame.FrameHeaders ||
					f.kind == frame.FrameRSTStream
			}); f.status != "200" {
				t.Fatalf("got %+v", f)
			}
		}
	})
}

// A client that resets its requests at once does not get more running handlers than others.
func TestResetsFreeNoHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		running := make(chan struct{}, 10*streamsMax)
		p := dialPeer(t, func(http.ResponseWriter, *http.Request) {
			running <- struct{}{}
			<-release
		}, frame.ClientPreface).begin()
		for i := range uint32(3 * streamsMax) {
			p.request(2*i+1, true)
			p.sent(p.out.WriteRSTStream(2*i+1, frame.ErrCodeCancel))
		}
		synctest.Wait()
		if n := len(running); n != streamsMax {
			t.Errorf("%d handlers are running, want %d", n, streamsMax)
		}
		p.wantReset(2*streamsMax+1, frame.ErrCodeRefusedStream)
		close(release)
		synctest.Wait()
		p.request(10_001, true)
		p.wantAnswer(10_001, "200")
	})
}

// Goroutines of a handler may read its request after the client gave up and the handler returned.
// The request must not change for them.
func TestRequestStaysForWhoOutlivesItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *http.Request, 1)
		p := dialPeer(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("name") == "first" {
				requests <- r
				<-r.Context().Done()
			}
		}, frame.ClientPreface).begin()
		p.request(1, false, "name", "first")
		synctest.Wait()
		p.sent(p.out.WriteRSTStream(1, frame.ErrCodeCancel))
		synctest.Wait()
		for id := uint32(3); id < 9; id += 2 {
			p.request(id, true, "name", "another")
			p.wantAnswer(id, "200")
		}
		if r := <-requests; r.Header.Get("name") != "first" || r.URL.Path == "" {
			t.Errorf("the request has become %v %v", r.URL, r.Header)
		}
	})
}

// A body of which a reset discarded a part is incomplete, even if it had arrived completely.
func TestResetBodyIsNotWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, some = 10_000, 4096
		read, reset := make(chan struct{}), make(chan struct{})
		p := dialPeer(t, func(_ http.ResponseWriter, r *http.Request) {
			clustertest.Check(t, clustertest.Err(io.ReadFull(r.Body, make([]byte, some))))
			close(read)
			<-reset
			if rest, err := io.ReadAll(r.Body); err == nil {
				t.Errorf("%d bytes are taken for a body of %d", some+len(rest), size)
			}
		}, frame.ClientPreface).begin()
		p.request(1, false)
		p.sent(p.out.WriteData(1, true, make([]byte, size)))
		<-read
		p.sent(p.out.WriteRSTStream(1, frame.ErrCodeCancel))
		synctest.Wait()
		close(reset)
		synctest.Wait()
	})
}

// A silent connection ends: at once if a frame is incomplete, after a while if it has no request,
// and with a request if the client answers no pings.
func TestSilence(t *testing.T) {
	for _, c := range []struct {
		name    string
		preface string
		act     func(p *peer)
		after   time.Duration
	}{
		{"half a preface", frame.ClientPreface[:10], func(*peer) {}, limits.HeaderTimeout},
		{"half a frame", frame.ClientPreface, func(p *peer) { p.write([]byte{0, 0, 8}) }, limits.HeaderTimeout},
		{"half a header", frame.ClientPreface, func(p *peer) {
			p.begin()
			p.sent(p.out.WriteHeaders(frame.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}}))
		}, limits.HeaderTimeout},
		{"no answer to a ping", frame.ClientPreface, func(p *peer) { p.begin().request(1, true) }, pingAfter + pingTimeout},
		{"no request", frame.ClientPreface, func(p *peer) {
			p.begin()
			for f := range p.frames {
				if f.kind == frame.FramePing {
					p.sent(p.out.WritePing(true, f.ping))
				}
			}
		}, limits.IdleTimeout + lingering},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				p := dialPeer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, c.preface)
				c.act(p)
				for range p.frames { // until the connection is closed
				}
				if after := time.Since(begun); after < c.after || after > c.after+pingAfter+pingTimeout {
					t.Errorf("closed after %v, want %v", after, c.after)
				}
			})
		})
	}
}

// A silent stream stays open while the client answers pings, and the time for its body is the one
// that its handler sets.
func TestLongStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/endless" {
				_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
			}
			readAll(w, r)
		}, frame.ClientPreface).begin()
		p.request(1, false, ":path", "/") // this request is invalid, as :path is given twice
		p.wantReset(1, frame.ErrCodeProtocol)
		p.request(3, false)
		begun := time.Now()
		for f := range p.frames {
			if f.kind == frame.FramePing {
				p.sent(p.out.WritePing(true, f.ping))
			}
			if f.kind == frame.FrameRSTStream && f.stream == 3 {
				break
			}
		}
		if after := time.Since(begun); after != limits.BodyTimeout {
			t.Errorf("a body had %v", after)
		}
	})
}

// A connection that does not begin with HTTP/2 is handed over with all its bytes.
func TestOthers(t *testing.T) {
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/1.1\r\nHost: h\r\n\r\n", "P\x00"} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			given := make(chan net.Conn, 1) // the one connection
			s := New(t.Context(), Config{Now: time.Now, Others: func(c net.Conn) { given <- c }, Logger: slog.New(slog.DiscardHandler)})
			s.Serve(there)
			clustertest.Must(t, clustertest.Err(here.Write([]byte(text))))
			got := make([]byte, len(text))
			conn := <-given
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
			_, _ = here.Close(), conn.Close() // they were pipes
			clustertest.Check(t, s.Shutdown(t.Context()))
		})
	}
}

// FuzzConn sends arbitrary bytes after the preface. The server must answer with complete frames,
// respect the default windows, and end with the connection.
func FuzzConn(f *testing.F) {
	block := append([]byte{0x83, 0x86, 0x84}, appendField(nil, "a", "b")...)
	settings := appendSettings(nil)
	request := appendHeaders(nil, 1, block, false)
	for _, input := range [][]byte{
		append(append(bytes.Clone(settings), request...), appendData(nil, 1, []byte("hello"), true)...),
		append(append(bytes.Clone(settings), request...), appendReset(nil, 1, 8)...),
		append(append(bytes.Clone(settings), appendHeaders(nil, 1, block, true)...), appendHeaders(nil, 3, block, true)...),
		append(bytes.Clone(settings), appendPing(nil, false, [8]byte{1})...),
		append(bytes.Clone(settings), appendGoAway(nil, 0, 0)...),
		append(bytes.Clone(settings), appendWindowUpdate(nil, 0, 1<<20)...),
		appendSettings(nil, frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1 << 20}),
		append(bytes.Clone(settings), appendHeaders(nil, 1, bytes.Repeat(appendField(nil, "a", "b"), 10_000), true)...),
	} {
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		synctest.Test(t, func(t *testing.T) {
			p := dialPeer(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				w.Header().Set(http.TrailerPrefix+"T", "t")
				_, _ = w.Write(append(body, make([]byte, 2*windowAtFirst)...))
			}, frame.ClientPreface)
			p.write(input)
			synctest.Wait()
			sent, permitted := 0, windowAtFirst
			in := frame.NewFramer(nil, bytes.NewReader(input))
			for {
				f, err := in.ReadFrame()
				if err != nil {
					break
				}
				if more, ok := f.(*frame.WindowUpdateFrame); ok && more.StreamID == 0 {
					permitted += int(more.Increment)
				}
			}
			for len(p.frames) > 0 {
				sent += (<-p.frames).data
			}
			if sent > permitted {
				t.Errorf("%d bytes were sent, %d permitted", sent, permitted)
			}
			_ = p.conn.Close() // a pipe
			synctest.Wait()
			if n := p.server.Panics(); n > 0 {
				t.Errorf("%d panics", n)
			}
			if open := p.server.open.List(); len(open) > 0 {
				t.Errorf("%d connections are left", len(open))
			}
		})
	})
}
