package http1

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The text of a large body shares the memory it was read into. It must not change when more bytes
// arrive on the connection, also while it is handled.
func TestTextsOfBodiesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		s := newServer(t, Config{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text, whole := BodyText(r)
			if !whole {
				t.Error("a body that is not whole")
			}
			texts = append(texts, text)
			time.Sleep(2 * watchAfter)
		})})
		conn, reader := dial(t, s)
		var sent []string
		for i, size := range []int{1 << 20, 100, readBufferKeepMax, 3 * readBufferKeepMax, 0, 1<<20 + 1, readBufferKeepMax + 1} {
			sent = append(sent, strings.Repeat(string(rune('a'+i)), size))
		}
		go func() {
			for _, body := range sent {
				write(t, conn, post(body)) // its first byte is read while the handler runs
			}
		}()
		for range sent {
			wantAnswer(t, reader, http.StatusOK, "")
		}
		for i, want := range sent {
			if texts[i] != want {
				t.Errorf("body %d of %d bytes became %.20q", i, len(want), texts[i])
			}
		}
		_ = conn.Close()
		shutdown(t, s)
	})
}
