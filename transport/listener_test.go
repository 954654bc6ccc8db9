package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/limits"
)

// echo answers with a description of the request as its handler sees it.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
		return
	}
	var names []string
	for name, values := range r.Header {
		names = append(names, name+"="+strings.Join(values, ","))
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s %s %s %s %d %q %s", r.Method, r.Host, r.URL, r.RequestURI, r.ContentLength, body, strings.Join(names, " "))
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text)
})

// dial opens a connection that is closed at the end of the test.
func dial(t *testing.T, s *Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	clustertest.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	clustertest.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn, bufio.NewReader(conn)
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	clustertest.Must(t, clustertest.Err(io.WriteString(conn, text)))
}

// answerOf reads one answer.
func answerOf(t *testing.T, r *bufio.Reader) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	clustertest.Must(t, err)
	body, err := io.ReadAll(response.Body)
	clustertest.Must(t, err)
	response.Body.Close()
	return response, string(body)
}

// TestSameAsNetHTTP sends the same requests to net/http and to this server. Neither handlers nor
// clients may see a difference.
func TestSameAsNetHTTP(t *testing.T) {
	large := strings.Repeat("0123456789", 30_000)
	for name, text := range map[string]string{
		"plain":              "POST / HTTP/1.1\r\nHost: h:9\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nok",
		"empty body":         "POST /0/orders.fifo HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"lower case names":   "POST / HTTP/1.1\r\nhost: h\r\nx-amz-target: AmazonSQS.X\r\ncontent-length: 1\r\n\r\nx",
		"unusual names":      "POST / HTTP/1.1\r\nHost: h\r\nsERIATIM-oP-ID: 7\r\nContent-Length: 1\r\n\r\nx",
		"repeated header":    "POST / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-B: 2\r\nx-a: 3\r\nContent-Length: 1\r\n\r\nx",
		"spaces":             "POST / HTTP/1.1\r\nHost:h\r\nX-A:  1 \t\r\nX-B:\r\nContent-Length: 1\r\n\r\nx",
		"large":              "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n" + large,
		"many headers":       "POST / HTTP/1.1\r\nHost: h\r\n" + headerLines(200) + "Content-Length: 1\r\n\r\nx",
		"keep-alive":         "POST / HTTP/1.1\r\nHost: h\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
		"query":              "POST /?Action=X&a=%20 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"escapes":            "POST /a%2Fb HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"two slashes":        "POST //a/b HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"absolute target":    "POST http://other/x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"chunked":            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"chunked and length": "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"no length":          "POST / HTTP/1.1\r\nHost: h\r\n\r\n",
		"get":                "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"version 1.0":        "POST / HTTP/1.0\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
		"closing":            "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
		"no host":            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
		"two hosts":          "POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 1\r\n\r\nx",
		"two lengths":        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
		"negative length":    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nx",
		"signed length":      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
		"bare line feeds":    "POST / HTTP/1.1\nHost: a\nContent-Length: 1\n\nx\r\n\r\n",
		"mixed line ends":    "POST / HTTP/1.1\r\nHost: a\nX-A: 1\r\nContent-Length: 1\r\n\r\nx",
		"space before colon": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 1\r\n\r\nx",
		"folded header":      "POST / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\r\nContent-Length: 1\r\n\r\nx",
		"control character":  "POST / HTTP/1.1\r\nHost: a\r\nX-A: \x01\r\nContent-Length: 1\r\n\r\nx",
		"no header":          "POST / HTTP/1.1\r\n\r\n",
		"no colon":           "POST / HTTP/1.1\r\nHost: a\r\nnonsense\r\nContent-Length: 1\r\n\r\nx",
		"other method":       "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
		"no HTTP":            "hello there\r\n\r\n",
		"too long a header":  "POST / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("a", 2*limits.HeaderBytesMax) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var answers [2]string
			for i, netHTTP := range []bool{true, false} {
				s, err := Listen(t.Context(), Config{Addr: "127.0.0.1:0", Logger: quiet(), Handler: echo, Now: time.Now, NetHTTP: netHTTP})
				clustertest.Must(t, err)
				conn, reader := dial(t, s)
				_, _ = io.WriteString(conn, text) // it may be refused before it is read
				answers[i] = described(t, reader)
				conn.Close()
				shutdown(t, s)
			}
			// A refused request is not read, so closing its connection may lose the answer.
			if answers[0] != answers[1] && answers[0] != "" && answers[1] != "" {
				t.Errorf("net/http answers\n%.500s\nhere it is\n%.500s", answers[0], answers[1])
			}
		})
	}
}

// described returns a description of an answer, empty if it was lost.
func described(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		return ""
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	if response.Header.Get("Date") == "" && response.StatusCode == http.StatusOK {
		t.Error("an answer without a date")
	}
	return fmt.Sprint(response.Proto, " ", response.Status, " ", response.ContentLength, " ", response.Close, " ", string(body))
}

func headerLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "X-H%d: %d\r\n", i, i)
	}
	return b.String()
}

// TestManyOnOneConnection sends requests in pieces, pipelined, and served by http1 and net/http in
// turn over one connection.
func TestManyOnOneConnection(t *testing.T) {
	s := listen(t, Config{Handler: echo})
	conn, reader := dial(t, s)
	post := func(body string) string {
		return fmt.Sprintf("POST /%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", strings.Repeat("p", len(body)%5), len(body),
			body)
	}
	expect := func(body string) {
		t.Helper()
		if _, got := answerOf(t, reader); !strings.Contains(got, fmt.Sprintf("%q", body)) {
			t.Errorf("got %.200s, want the body %.50s", got, body)
		}
	}
	send(t, conn, post("one"))
	expect("one")
	send(t, conn, post("two")+post("three")+post("four")) // pipelined
	for _, body := range []string{"two", "three", "four"} {
		expect(body)
	}
	for _, b := range []byte(post("piecemeal")) {
		send(t, conn, string(b))
	}
	expect("piecemeal")
	large := strings.Repeat("l", 200_000)
	send(t, conn, post(large)+post("after"))
	expect(large)
	expect("after")
	send(t, conn, post("last")+"GET /get HTTP/1.1\r\nHost: h\r\n\r\n"+post("there"))
	expect("last")
	if _, got := answerOf(t, reader); !strings.HasPrefix(got, "GET h /get") {
		t.Errorf("got %s", got)
	}
	expect("there")
	conn.Close()
	shutdown(t, s)
}

// TestAnswers checks the ways in which a handler may answer.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		length  int64
		body    string
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, 200, 0, ""},
		"status":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); w.WriteHeader(200) }, 503, 0, ""},
		"pieces": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a")); _, _ = w.Write([]byte("b")) }, 200, 2,
			"ab"},
		"with its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(400)
			_, _ = w.Write([]byte("ab"))
		}, 400, 2, "ab"},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, 0, ""},
		"line ends in a header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-A"] = []string{"1\r\nX-B: 2"}
		}, 200, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := listen(t, Config{Handler: c.handler})
			conn, reader := dial(t, s)
			for range 2 {
				send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
				response, body := answerOf(t, reader)
				if response.StatusCode != c.status || response.ContentLength != c.length || body != c.body ||
					response.Header.Get("X-B") != "" {
					t.Errorf("got %+v %q", response, body)
				}
			}
			conn.Close()
			shutdown(t, s)
		})
	}
}

// TestLeavingCancels checks that a waiting request is cancelled when its client closes the
// connection.
func TestLeavingCancels(t *testing.T) {
	waits, over := make(chan struct{}), make(chan error, 1)
	s := listen(t, Config{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(waits)
		select {
		case <-r.Context().Done():
			over <- nil
		case <-time.After(time.Minute):
			over <- fmt.Errorf("nobody noticed")
		}
		panic(http.ErrAbortHandler)
	})})
	conn, _ := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	<-waits
	conn.Close()
	clustertest.Check(t, <-over)
	shutdown(t, s)
}

// TestRequestDuringSlowOne checks that a request that arrives while the one before it is served is
// not lost.
func TestRequestDuringSlowOne(t *testing.T) {
	release := make(chan struct{})
	s := listen(t, Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Equal(body, []byte("slow")) {
			<-release
		}
		_, _ = w.Write(body)
	})})
	conn, reader := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nslow")
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nnext")
	time.AfterFunc(150*time.Millisecond, func() { close(release) })
	for _, want := range []string{"slow", "next"} {
		if _, body := answerOf(t, reader); body != want {
			t.Errorf("got %q, want %q", body, want)
		}
	}
	conn.Close()
	shutdown(t, s)
}

// TestClosingAfterAnswers checks that without keep-alives each connection ends after its answer,
// and idle connections end at once.
func TestClosingAfterAnswers(t *testing.T) {
	s := listen(t, Config{Handler: echo})
	idle, idleReader := dial(t, s)
	send(t, idle, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	answerOf(t, idleReader)
	s.KeepAlives(false)
	if _, err := idleReader.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v", err)
	}
	conn, reader := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	if response, _ := answerOf(t, reader); !response.Close {
		t.Error("the answer does not say that the connection ends")
	}
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("after the answer: %v", err)
	}
	s.KeepAlives(true)
	again, againReader := dial(t, s)
	for range 2 {
		send(t, again, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
		answerOf(t, againReader)
	}
	shutdown(t, s)
}

// TestShutdownCloses checks that requests which outlast the context of Shutdown are cancelled.
func TestShutdownCloses(t *testing.T) {
	waits, over := make(chan struct{}), make(chan struct{})
	s := listen(t, Config{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(waits)
		<-r.Context().Done()
		close(over)
	})})
	conn, _ := dial(t, s)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
	<-waits
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("no error")
	}
	<-over
}
