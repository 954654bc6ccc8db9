package grpc

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// A client sees the same status, trailers, and message as if the library had served the call,
// whatever the form of the request. Only texts about malformed messages may differ.
func TestUnaryAsTheLibrary(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	send, err := proto.Marshal(&seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}})
	clustertest.Must(t, err)
	unknown, err := proto.Marshal(&seriatimpb.SendRequest{Queue: "none-at-all-%-ü",
		Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}})
	clustertest.Must(t, err)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	through := &http.Transport{Protocols: &protocols}
	defer through.CloseIdleConnections()
	call := func(path string, header http.Header, body []byte) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.port.Addr().String()+path,
			io.NopCloser(bytes.NewReader(body)))
		clustertest.Must(t, err)
		r.Header = header
		answer, err := through.RoundTrip(r)
		if err != nil {
			return "failed"
		}
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		out := fmt.Sprint(answer.StatusCode, answer.Header["Content-Type"], err, len(content), answer.Trailer["Grpc-Status"],
			answer.Trailer["Seriatim-Node"])
		if len(answer.Trailer["X-Seriatim-Index"]) == 1 {
			out += " at an index"
		}
		if details, err := base64.RawStdEncoding.DecodeString(answer.Trailer.Get("Grpc-Status-Details-Bin")); err == nil &&
			len(details) > 0 {
			out += fmt.Sprintf(" %q %q", answer.Trailer.Get("Grpc-Message"), details)
		}
		return out
	}
	const path = "/seriatim.v1.Queues/Send"
	plain := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	with := func(name, value string) http.Header {
		h := plain.Clone()
		h.Set(name, value)
		return h
	}
	unaries := f.server.unaries
	f.send(name, "g", "a") // further ones are duplicates
	for what, c := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"plain":                     {plain, framed(send)},
		"a codec":                   {with("Content-Type", "application/grpc+proto"), framed(send)},
		"another codec":             {with("Content-Type", "application/grpc+json"), framed(send)},
		"an unknown queue":          {plain, framed(unknown)},
		"a timeout":                 {with("Grpc-Timeout", "10S"), framed(send)},
		"a long timeout":            {with("Grpc-Timeout", "99999999H"), framed(send)},
		"a bad timeout":             {with("Grpc-Timeout", "10X"), framed(send)},
		"an unknown compression":    {with("Grpc-Encoding", "other"), framed(send)},
		"no compression":            {with("Grpc-Encoding", "identity"), framed(send)},
		"compressed without saying": {plain, append([]byte{1}, framed(send)[1:]...)},
		"nothing":                   {plain, nil},
		"half a prefix":             {plain, []byte{0, 0}},
		"half a message":            {plain, framed(send)[:10]},
		"no message of protobuf":    {plain, framed(bytes.Repeat([]byte{0xff}, 20))},
		"a message too long":        {plain, []byte{0, 0xff, 0xff, 0xff, 0xff}},
		"an empty message":          {plain, framed(nil)},
	} {
		f.server.unaries = unaries
		ours := call(path, c.header, c.body)
		f.server.unaries = nil
		if library := call(path, c.header, c.body); ours != library {
			t.Errorf("%s: got %s, want %s", what, ours, library)
		}
	}
	f.server.unaries = unaries
	// The library would serve the first message, but a request with two is surely a mistake.
	if got := call(path, plain, framed(send, send)); !strings.Contains(got, fmt.Sprintf("[%d]", codes.Internal)) {
		t.Errorf("two messages: got %s", got)
	}
}

// Compressed messages are refused: decompressing those of unauthenticated callers would take unbounded
// memory.
func TestCompressionIsRefused(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	compressed := grpc.UseCompressor(gzip.Name)
	in := &seriatimpb.SendRequest{Queue: name, Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}}
	_, err := f.client.Send(t.Context(), in, compressed)
	wantStatus(t, err, codes.Unimplemented, "Unimplemented")
	stream, err := f.client.SendStream(t.Context(), compressed)
	clustertest.Must(t, err)
	_ = stream.Send(&seriatimpb.SendStreamRequest{Queue: name}) // the answer may have come before it
	_, err = stream.Recv()
	wantStatus(t, err, codes.Unimplemented, "Unimplemented")
	header, err := stream.Header()
	if got := header.Get("grpc-accept-encoding"); err != nil || len(got) != 1 || got[0] != "identity" {
		t.Errorf("the client is told of %q, %v", got, err)
	}
}

func TestTimeouts(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1H": time.Hour, "2M": 2 * time.Minute, "3S": 3 * time.Second, "4m": 4 * time.Millisecond, "5u": 5 * time.Microsecond, "6n": 6,
		"00000000n": 1, "99999999H": 1<<63 - 1,
	} {
		if got, ok := parseTimeout(text); !ok || got != want {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "1", "S", "-1S", "+1S", "1s", "123456789S", " 1S", "1 S"} {
		if got, ok := parseTimeout(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{"plain text.": "plain text.", "100%\n": "100%25%0A", "ü": "%C3%BC", "\xff": "%EF%BF%BD"} {
		if got := escaped(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The server serves every unary method of the API itself, and also the health check.
func TestUnaryMethods(t *testing.T) {
	f := newFixture(t, nil)
	for path, shape := range f.server.methods {
		_, here := f.server.unaries[path]
		if want := (methodName(path) != "" || path == healthPath+"Check") && !shape.client && !shape.server; here != want {
			t.Errorf("%s: %v, want %v", path, here, want)
		}
	}
	if len(f.server.unaries) < len(methodTable)/2 {
		t.Errorf("%d methods", len(f.server.unaries))
	}
}

// TestTimeoutOfTheCall makes a call wait for longer than its client's timeout. The status is
// DeadlineExceeded, whichever side notices first.
func TestTimeoutOfTheCall(t *testing.T) {
	f := newFixture(t, nil)
	body, err := proto.Marshal(&seriatimpb.AcceptSessionRequest{Queue: f.create(nil), WaitSeconds: 20})
	clustertest.Must(t, err)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	through := &http.Transport{Protocols: &protocols}
	defer through.CloseIdleConnections()
	message := append([]byte{0, 0, 0, 0, byte(len(body))}, body...)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+f.port.Addr().String()+"/seriatim.v1.Sessions/AcceptSession", bytes.NewReader(message))
	clustertest.Must(t, err)
	r.Header = http.Header{"Content-Type": {contentType}, "Te": {"trailers"}, "Grpc-Timeout": {"200m"}}
	answer, err := through.RoundTrip(r)
	clustertest.Must(t, err)
	defer answer.Body.Close()
	clustertest.Must(t, clustertest.Err(io.Copy(io.Discard, answer.Body)))
	if got := answer.Trailer.Get("Grpc-Status") + answer.Header.Get("Grpc-Status"); got != fmt.Sprint(uint32(codes.DeadlineExceeded)) {
		t.Errorf("status %s: %s", got, answer.Trailer.Get("Grpc-Message"))
	}
}
