package httpwire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func codeOf(err error) string {
	if lost, ok := errors.AsType[*CutError](err); ok {
		return lost.Code
	}
	return ""
}

func TestConnection(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch string(body) {
		case "refuse":
			w.Header().Set("x-amzn-query-error", "QueueDoesNotExist;Sender")
			http.Error(w, "no", http.StatusBadRequest)
			return
		case "close":
			w.Header().Set("Connection", "close")
		case "chunks":
			for part := range slices.Chunk([]byte(long), 30_000) {
				w.Write(part)
				w.(http.Flusher).Flush()
			}
			return
		}
		fmt.Fprintf(w, "%s %s %s %s", r.RemoteAddr, r.Header.Get("X-Amz-Target"), r.Header.Get("Content-Type"), body)
	}))
	defer server.Close()
	c := New(strings.TrimPrefix(server.URL, "http://"), time.Minute, nil)
	defer c.Close()
	call := func(body string) Answer {
		t.Helper()
		answer, err := c.Call(t.Context(), "Test", []byte(body), 0)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	first := string(call("x").Body)
	if !strings.HasSuffix(first, " AmazonSQS.Test application/x-amz-json-1.0 x") {
		t.Errorf("the server saw %s", first)
	}
	if a := call("refuse"); a.Status != 400 || a.Code != "QueueDoesNotExist" || string(a.Body) != "no\n" {
		t.Errorf("refusal: %+v", a)
	}
	if a := call("chunks"); string(a.Body) != long {
		t.Errorf("%d bytes in chunks, want %d", len(a.Body), len(long))
	}
	if again := string(call("x").Body); again != first {
		t.Errorf("another connection: %s, then %s", first, again)
	}
	call("close")
	if again := string(call("x").Body); again == first {
		t.Error("the connection was used again although the server said it closes it")
	}
}

func TestConnectionBreaks(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	answers := []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "SSH-2.0 hello there\r\n", "HTTP/1.1 200 OK\r\n\r\n"}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, answer := range answers {
			conn, err := listener.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				t.Error(err)
			}
			io.WriteString(conn, answer)
			conn.Close()
		}
	}()
	c := New(listener.Addr().String(), time.Minute, nil)
	for _, answer := range answers {
		if got, err := c.Call(t.Context(), "Test", nil, 0); err == nil || codeOf(err) != "ConnectionLost" {
			t.Errorf("answer %q: %+v, %v", answer, got, err)
		}
	}
	<-served
	listener.Close()
	if _, err := c.Call(t.Context(), "Test", nil, 0); codeOf(err) != "ConnectionRefused" {
		t.Errorf("nobody listens: %v", err)
	}
}
