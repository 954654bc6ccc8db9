package grpc

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/holders"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

// unaryMethod is a method with one message each way.
type unaryMethod struct {
	service any
	handle  func(service any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error)
}

// plain reports whether serveUnary can serve a request for a unary method, and its timeout.
// The library serves or refuses all others.
func plain(r *http.Request) (timeout time.Duration, ok bool) {
	if r.Method != http.MethodPost {
		return 0, false
	}
	if kind := r.Header["Content-Type"]; len(kind) != 1 || kind[0] != contentType && kind[0] != contentType+"+proto" {
		return 0, false
	}
	given := r.Header["Grpc-Timeout"]
	if len(given) == 0 {
		return 0, true
	}
	return parseTimeout(given[0])
}

const contentType = "application/grpc"

// freeBytes is the part of a message that does not count against the budget.
const freeBytes = limits.FreeBytes

var timeoutUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// parseTimeout parses a timeout: up to eight digits and a unit.
func parseTimeout(text string) (time.Duration, bool) {
	if len(text) < 2 || len(text) > 9 {
		return 0, false
	}
	unit, known := timeoutUnits[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 64)
	if !known || err != nil {
		return 0, false
	}
	if n > uint64(math.MaxInt64/unit) {
		return math.MaxInt64, true
	}
	return max(time.Duration(n)*unit, 1), true
}

// serveUnary serves a call of a unary method in the goroutine of its request and with one
// write, where the library takes four goroutines and three writes.
func (s *Server) serveUnary(w http.ResponseWriter, r *http.Request, m unaryMethod, timeout time.Duration) {
	in := &inbound{account: allowance{budget: s.Budget}, request: r, unary: true}
	defer in.account.close()
	if s.verify(w, in, r) != nil {
		return
	}
	ctx := context.WithValue(r.Context(), holders.CallerKey{}, in)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	decode := func(request any) error {
		message, err := in.readMessage(ctx, r.Body)
		if err != nil {
			return err
		}
		if err := unmarshal(message, request.(proto.Message)); err != nil {
			return status.Errorf(codes.Internal, "The message cannot be read: %v", err)
		}
		return nil
	}
	answer, err := m.handle(m.service, ctx, decode, s.unary)
	var out []byte
	if err == nil {
		out, err = framedAnswer(answer.(proto.Message))
	}
	h := w.Header()
	h["Content-Type"], h["Date"] = r.Header["Content-Type"], nil
	trailers := trailersOf(w)
	if c := in.call; c != nil {
		c.eachTrailer(trailers)
	}
	if err != nil {
		addStatus(trailers, status.Convert(err))
	} else {
		trailers.AddTrailer(trailerStatus, "0")
		_, _ = w.Write(out) // an error means that the client is gone
	}
}

// trailerWriter takes the trailers of an answer. Those of package http2 implement it.
type trailerWriter interface{ AddTrailer(name, value string) }

func trailersOf(w http.ResponseWriter) trailerWriter {
	if trailers, ok := w.(trailerWriter); ok {
		return trailers
	}
	return prefixedTrailers{w.Header()}
}

// prefixedTrailers writes the trailers of any other http.ResponseWriter.
type prefixedTrailers struct{ header http.Header }

func (p prefixedTrailers) AddTrailer(name, value string) {
	p.header.Set(http.TrailerPrefix+name, value)
}

const (
	trailerStatus  = "grpc-status"
	trailerMessage = "grpc-message"
	trailerDetails = "grpc-status-details-bin"
)

// addStatus adds the trailers of a call that failed.
func addStatus(trailers trailerWriter, s *status.Status) {
	trailers.AddTrailer(trailerStatus, strconv.Itoa(int(s.Code())))
	if s.Message() != "" {
		trailers.AddTrailer(trailerMessage, escaped(s.Message()))
	}
	if p := s.Proto(); len(p.GetDetails()) > 0 {
		if details, err := proto.Marshal(p); err == nil {
			trailers.AddTrailer(trailerDetails, base64.RawStdEncoding.EncodeToString(details))
		}
	}
}

// escaped encodes the text of a status for a header.
func escaped(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			_, _ = fmt.Fprintf(&out, "%%%02X", c) // a builder never fails
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// answerBytes is more than the size of most answers.
const answerBytes = 128

// framedAnswer encodes a message with its prefix.
func framedAnswer(m proto.Message) ([]byte, error) {
	out, err := marshalAppend(make([]byte, prefixBytes, answerBytes), m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "The answer cannot be written: %v", err)
	}
	if len(out)-prefixBytes > math.MaxUint32 {
		return nil, status.Error(codes.ResourceExhausted, "The answer is too long.")
	}
	binary.BigEndian.PutUint32(out[1:prefixBytes], uint32(len(out)-prefixBytes))
	return out, nil
}

// readMessage reads the only message of a call, which counts until the call is over.
func (in *inbound) readMessage(ctx context.Context, body io.Reader) ([]byte, error) {
	prefix := make([]byte, prefixBytes, freeBytes/8)
	if _, err := io.ReadFull(body, prefix); err != nil {
		return nil, bodyError(ctx, err)
	}
	size := int64(binary.BigEndian.Uint32(prefix[1:]))
	switch {
	case size > messageBytesMax:
		return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, messageBytesMax)
	case prefix[0] != 0:
		return nil, status.Error(codes.Internal, "The message is compressed, and the header does not say how.")
	}
	message, err := in.readWhole(ctx, body, prefix[:0], size)
	if err != nil {
		return nil, bodyError(ctx, err)
	}
	var more [1]byte
	switch n, err := body.Read(more[:]); {
	case n > 0:
		return nil, status.Error(codes.Internal, errMoreMessages.Error())
	case !errors.Is(err, io.EOF):
		return nil, bodyError(ctx, err)
	}
	return message, nil
}

// readWhole reads size bytes into a buffer, which grows with the bytes that have arrived, not
// with the announced size.
func (in *inbound) readWhole(ctx context.Context, body io.Reader, buffer []byte, size int64) ([]byte, error) {
	for int64(len(buffer)) < size {
		if len(buffer) == cap(buffer) {
			next := min(int64(2*cap(buffer)), size)
			if next > freeBytes {
				if err := in.account.acquire(ctx, next-int64(cap(buffer))); err != nil {
					return nil, err
				}
			}
			buffer = append(make([]byte, 0, next), buffer...)
		}
		n, err := body.Read(buffer[len(buffer):min(int64(cap(buffer)), size)])
		if buffer = buffer[:len(buffer)+n]; err != nil && int64(len(buffer)) < size {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return buffer, nil
}

// bodyError converts the error of reading a body.
func bodyError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, budget.ErrExhausted):
		return errBudget
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Errorf(codes.Internal, "The message is incomplete: %v", err)
}
