package http1

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Every request gets its own answer, also if requests are suspended, resumed, slow, pipelined, or
// cut off. A lost answer would let its client wait forever.
func TestNoAnswerIsLost(t *testing.T) {
	w := newWaiters(t, nil, 0)
	w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := func() { _, _ = out.Write(body) }
		pause := []time.Duration{0, time.Microsecond, time.Millisecond, watchAfter - time.Millisecond, watchAfter,
			watchAfter + time.Millisecond}[rand.IntN(6)]
		if rand.IntN(4) == 0 { // like a call that does not wait for messages
			time.Sleep(pause)
			answer()
			return
		}
		resume, _ := Suspend(out, answer)
		if pause == 0 && rand.IntN(2) == 0 {
			resume()
			return
		}
		ended := make(chan struct{}) // closed after the pause or the client's departure
		ctx := r.Context()
		go func() {
			defer close(ended)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			resume()
		}()
		if rand.IntN(4) == 0 {
			<-ended // the request resumes before its handler returns
		}
	})
	var clients sync.WaitGroup
	for client := range 32 {
		clients.Go(func() {
			for round := range 8 {
				askAndLeave(t, w.address, fmt.Sprintf("%d.%d", client, round))
			}
		})
	}
	clients.Wait()
}

// askAndLeave sends requests over one connection and checks each answer. At the end it closes the
// connection without waiting for an answer.
func askAndLeave(t *testing.T, address, name string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	reader := bufio.NewReader(conn)
	for n := 0; n < 12; {
		text, first := "", n
		for range 1 + rand.IntN(3) { // often several requests in one write
			text += post(fmt.Sprintf("%s.%d", name, n))
			n++
		}
		cut := rand.IntN(len(text) + 1)
		_, _ = io.WriteString(conn, text[:cut])
		if rand.IntN(3) == 0 {
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		}
		_, _ = io.WriteString(conn, text[cut:])
		for ; first < n; first++ {
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Errorf("request %s.%d got no answer: %v", name, first, err)
				return
			}
			body, _ := io.ReadAll(response.Body)
			if want := fmt.Sprintf("%s.%d", name, first); string(body) != want {
				t.Errorf("request %s got the answer %q", want, body)
			}
		}
	}
	_, _ = io.WriteString(conn, post("left"))
}
