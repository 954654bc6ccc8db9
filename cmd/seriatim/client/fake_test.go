package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// connection is the key of a net.Conn in the context of a request.
type connection struct{}

// node is a server that counts the requests it got. It stands for an admin port and for a client port.
func node(t *testing.T, serve http.HandlerFunc) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		serve(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) }
	server.Start()
	t.Cleanup(server.Close)
	return server.URL, asked
}

// says answers requests to the admin port.
func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the caller may be gone
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// breaks closes the connection after it has read the request.
func breaks(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Context().Value(connection{}).(net.Conn).Close()
	panic(http.ErrAbortHandler)
}

// speaks answers calls of the native API.
func speaks(answer func(method string, in proto.Message) (proto.Message, error)) http.HandlerFunc {
	server := grpc.NewServer(grpc.UnaryInterceptor(func(_ context.Context, in any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any,
		error) {
		return answer(path.Base(info.FullMethod), in.(proto.Message))
	}))
	seriatimpb.RegisterQueuesServer(server, seriatimpb.UnimplementedQueuesServer{})
	seriatimpb.RegisterOperationsServer(server, seriatimpb.UnimplementedOperationsServer{})
	return server.ServeHTTP
}

// replies answers every call of the native API with one message.
func replies(m proto.Message) http.HandlerFunc {
	return speaks(func(string, proto.Message) (proto.Message, error) { return m, nil })
}

// refuses answers every call of the native API with one error.
func refuses(code codes.Code, reason, text string) http.HandlerFunc {
	return speaks(func(string, proto.Message) (proto.Message, error) { return nil, refusal(code, reason, text) })
}

// refusal returns an error as the server returns it.
func refusal(code codes.Code, reason, text string) error {
	s, err := status.New(code, text).WithDetails(&errdetails.ErrorInfo{Domain: "seriatim", Reason: reason})
	if err != nil {
		return err
	}
	return s.Err()
}

// call is one request that the fake server saw.
type call struct {
	Action string
	Input  any // a proto.Message of the native API, or the text of a body
}

// fakeServer answers each request with a fixed answer and records them: a method of the native API
// with a message, and a method and path of the admin port with a document, after its status unless
// that is 200.
func fakeServer(t *testing.T, answers map[string]any) (endpoint string, calls func() []call) {
	t.Helper()
	var mu sync.Mutex
	var seen []call
	find := func(action string, in any) any {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, call{action, in})
		answer, ok := answers[action]
		if !ok {
			t.Errorf("unexpected call %s %v", action, in)
		}
		return answer
	}
	api := speaks(func(method string, in proto.Message) (proto.Message, error) {
		answer, ok := find(method, in).(proto.Message)
		if !ok {
			return nil, status.Error(codes.Internal, "the test has no answer")
		}
		return answer, nil
	})
	endpoint, _ = node(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			api(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer, _ := find(r.Method+" "+r.URL.RequestURI(), string(body)).(string)
		status, text, _ := strings.Cut(answer, " ")
		if code, err := strconv.Atoi(status); err == nil {
			w.WriteHeader(code)
			answer = text
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	})
	return endpoint, func() []call {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// counted returns the attributes of a queue with message counts.
func counted(visible, inFlight, delayed string) *seriatimpb.GetQueueAttributesResponse {
	return &seriatimpb.GetQueueAttributesResponse{Attributes: map[string]string{
		"QueueArn": "arn:aws:sqs:us-east-1:000000000000:q", "ApproximateNumberOfMessages": visible,
		"ApproximateNumberOfMessagesNotVisible": inFlight, "ApproximateNumberOfMessagesDelayed": delayed,
	}}
}

// outcomes returns the outcomes of entries: empty texts for success, reasons for failures.
func outcomes(reasons ...string) (list []*seriatimpb.Outcome) {
	for _, reason := range reasons {
		o := &seriatimpb.Outcome{}
		if reason != "" {
			o.Failure = &seriatimpb.Failure{Code: int32(codes.InvalidArgument), Reason: reason, Message: "expired"}
		}
		list = append(list, o)
	}
	return list
}
