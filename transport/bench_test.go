package transport

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/http1"
)

// BenchmarkRequest is a request and its answer on one connection over loopback,
// by net/http and by the server of plain requests. The client writes and reads
// bytes only.
func BenchmarkRequest(b *testing.B) {
	const request = "POST / HTTP/1.1\r\nHost: 127.0.0.1:9324\r\nContent-Type: application/x-amz-json-1.0\r\n" +
		"X-Amz-Target: AmazonSQS.SendMessage\r\nContent-Length: 400\r\n\r\n"
	answer := []byte(strings.Repeat("y", 200))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, whole := http1.BodyText(r); !whole {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		w.Header()["Content-Type"] = []string{"application/x-amz-json-1.0"}
		w.Header()["Content-Length"] = []string{"200"}
		_, _ = w.Write(answer)
	})
	for _, c := range []struct {
		name string
		now  func() time.Time
	}{{"net-http", nil}, {"http1", time.Now}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Listen(b.Context(), Config{Addr: "127.0.0.1:0", Handler: handler, Logger: quiet(), Now: c.now})
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
