package http2

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	frame "golang.org/x/net/http2"

	"github.com/seriatimq/seriatim/transport/limits"
)

// A flood of frames that are cheap for the client and of no use ends the connection, for each kind
// of frame.
func TestFloodsEndTheConnection(t *testing.T) {
	for name, act := range map[string]func(p *peer, n int){
		"empty continuations": func(p *peer, n int) {
			p.sent(p.out.WriteHeaders(frame.HeadersFrameParam{StreamID: 3, BlockFragment: []byte{0x82}}))
			for range 2 * n {
				p.sent(p.out.WriteContinuation(3, false, nil))
			}
		},
		"windows of the connection": func(p *peer, n int) {
			for range n {
				p.sent(p.out.WriteWindowUpdate(0, 1))
			}
		},
		"windows of a stream that is over": func(p *peer, n int) {
			for range n {
				p.sent(p.out.WriteWindowUpdate(1, 1))
			}
		},
		"trailers of a stream that is over": func(p *peer, n int) {
			for range n {
				p.write(appendHeaders(nil, 1, appendField(nil, "a", "b"), true))
			}
		},
		"data of a stream that is over": func(p *peer, n int) {
			for range n {
				p.sent(p.out.WriteData(1, false, []byte("x")))
			}
		},
		"padding without data": func(p *peer, n int) {
			p.request(3, false)
			for range n {
				p.sent(p.out.WriteDataPadded(3, false, nil, make([]byte, 10)))
			}
		},
		"headers that HTTP/2 does not have": func(p *peer, n int) {
			for i := range n {
				p.request(uint32(3+2*i), true, "connection", "close")
			}
		},
		"priorities": func(p *peer, n int) {
			for range n {
				p.sent(p.out.WritePriority(1, frame.PriorityParam{StreamDep: 3}))
			}
		},
		"frames that nobody knows": func(p *peer, n int) {
			for range n {
				p.sent(p.out.WriteRawFrame(0x77, 0, 0, nil))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := dialPeer(t, readAll, frame.ClientPreface).begin()
				p.request(1, true)
				p.wantAnswer(1, "200")
				act(p, idleFramesMax+100)
				p.wantGoAway(frame.ErrCodeEnhanceYourCalm)
			})
		})
	}
}

// A client may send a window update for each piece of an answer, however small and frequent the
// pieces are.
func TestWindowsOfManyPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const piece, pieces = 10, 2 * idleFramesMax
		p := dialPeer(t, func(w http.ResponseWriter, _ *http.Request) {
			for range pieces {
				_, _ = w.Write(make([]byte, piece))
				_ = http.NewResponseController(w).Flush()
			}
		}, frame.ClientPreface).begin()
		p.request(1, true)
		for got := 0; got < piece*pieces; {
			f := p.until(func(f said) bool { return f.kind == frame.FrameData || f.kind == frame.FrameGoAway })
			if f.kind != frame.FrameData {
				t.Fatalf("after %d bytes: %+v", got, f)
			}
			if got += f.data; f.data > 0 {
				p.sent(p.out.WriteWindowUpdate(0, uint32(f.data)))
				p.sent(p.out.WriteWindowUpdate(1, uint32(f.data)))
			}
		}
	})
}

// A connection without requests ends as idle, whichever other frames the client sends.
func TestIdleConnectionsEnd(t *testing.T) {
	for name, say := range map[string]func(p *peer){
		"windows":  func(p *peer) { p.sent(p.out.WriteWindowUpdate(0, 1)) },
		"settings": func(p *peer) { p.begin() },
		"resets":   func(p *peer) { p.sent(p.out.WriteRSTStream(1, frame.ErrCodeCancel)) },
		"data":     func(p *peer) { p.sent(p.out.WriteData(1, false, []byte("x"))) },
		"trailers": func(p *peer) { p.write(appendHeaders(nil, 1, appendField(nil, "a", "b"), true)) },
		"answers":  func(p *peer) { p.sent(p.out.WritePing(true, [8]byte{})) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := dialPeer(t, readAll, frame.ClientPreface).begin()
				p.request(1, true)
				p.wantAnswer(1, "200")
				const every = 5 * time.Second // less than pingAfter
				begun := time.Now()
				for time.Since(begun) <= limits.IdleTimeout {
					time.Sleep(every)
					say(p)
				}
				p.wantGoAway(frame.ErrCodeNo)
				if after := time.Since(begun); after > limits.IdleTimeout+2*every {
					t.Errorf("closed after %v", after)
				}
			})
		})
	}
}

// A change of the windows of all streams wakes only the streams that can send more. Otherwise one
// cheap frame would cause much work.
func TestWindowsWakeStreamsThatCanContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 200)) }, frame.ClientPreface)
		p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 100})
		for i := range uint32(streamsMax) {
			p.request(2*i+1, true)
		}
		p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: 0})
		synctest.Wait() // all windows are at -100
		const frames = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range uint32(frames) {
			p.begin(frame.Setting{ID: frame.SettingInitialWindowSize, Val: i % 2 * 50})
			p.sent(p.out.WriteWindowUpdate(0, 1))
			synctest.Wait()
		}
		runtime.ReadMemStats(&after)
		// A stream that is woken and waits again allocates a timer.
		if made := after.Mallocs - before.Mallocs; made > frames*streamsMax/2 {
			t.Errorf("%d allocations for %d frames and %d streams", made, frames, streamsMax)
		}
	})
}

// The stream that a connection keeps for its next request contains nothing of the client, and it is
// not kept after a request with many headers.
func TestKeptStreamIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := dialPeer(t, readAll, frame.ClientPreface).begin()
		id := uint32(1)
		ask := func(headers ...string) *stream {
			p.request(id, true, headers...)
			p.wantAnswer(id, "200")
			id += 2
			synctest.Wait()
			c := p.server.open.List()[0]
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.streams.kept) == 0 {
				return nil
			}
			return c.streams.kept[0]
		}
		for range checkEvery + aloneMin {
			ask()
		}
		st := ask("x-long", strings.Repeat("x", 10_000))
		if len(st.blank.Header)+len(st.request.Header)+len(st.values) > 0 || cap(st.values) > keptHeadersMax || st.request.Host != "" {
			t.Errorf("kept are %d headers, room for %d, host %q", len(st.blank.Header), cap(st.values), st.request.Host)
		}
		var many []string
		for i := range keptHeadersMax + 1 {
			many = append(many, "x-"+strings.Repeat("x", i), "y")
		}
		if st = ask(many...); st != nil {
			t.Errorf("a stream with %d headers is kept", len(st.values))
		}
	})
}

// Concurrent requests reuse the streams of earlier ones, up to a limit. An idle connection keeps
// none.
func TestStreamsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var commit chan struct{}
		wait := func(http.ResponseWriter, *http.Request) { <-commit }
		p := dialPeer(t, wait, frame.ClientPreface).begin()
		kept := func() int {
			synctest.Wait()
			c := p.server.open.List()[0]
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.streams.kept)
		}
		id := uint32(1)
		for range 3 {
			commit = make(chan struct{}) // closed, never sent on
			for i := range keptMax + 5 {
				p.request(id, true)
				id += 2
				if left := max(keptMax-1-i, 0); id > 2*(keptMax+5) && kept() != left {
					t.Errorf("%d streams are left after %d requests, want %d", kept(), i+1, left)
				}
			}
			close(commit)
			if n := kept(); n != keptMax {
				t.Errorf("%d streams are kept, want %d", n, keptMax)
			}
		}
		time.Sleep(pingAfter + time.Second) // in the bubble
		if n := kept(); n != 0 {
			t.Errorf("%d streams are kept by a connection that waits", n)
		}
	})
}
