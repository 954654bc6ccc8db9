package grpcwire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echo answers each message of a stream with the same, and refuses an empty one.
func echo(_ any, stream grpc.ServerStream) error {
	for {
		in := new(wrapperspb.BytesValue)
		if err := stream.RecvMsg(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(in.GetValue()) == 0 {
			return status.Error(codes.InvalidArgument, "The value is empty.")
		}
		if err := stream.SendMsg(in); err != nil {
			return err
		}
	}
}

// listenEcho starts a server of grpc-go that calls echo.
func listenEcho(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Echo", Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: echo, ServerStreams: true, ClientStreams: true},
	}}, nil)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// dialEcho connects to such a server.
func dialEcho(t *testing.T) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), listenEcho(t), time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const methodEcho = "/test.Echo/Echo"

func value(text []byte) []byte { return Text(Message(nil), 1, text) }

func wantValue(t *testing.T, message, want []byte) {
	t.Helper()
	var got []byte
	err := Fields(message, func(_ protowire.Number, text []byte, _ uint64) error {
		got = text
		return nil
	})
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back, %v, want %d", len(got), err, len(want))
	}
}

// Calls follow each other on one connection, through refusals, and with messages that are
// larger than the windows of the server.
func TestCalls(t *testing.T) {
	c := dialEcho(t)
	for _, size := range []int{1, 100, 1 << 20, 3} {
		text := bytes.Repeat([]byte{'x'}, size)
		answer, err := c.Call(methodEcho, value(text), 0)
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		wantValue(t, answer, text)
		var refused *StatusError
		if _, err := c.Call(methodEcho, value(nil), 0); !errors.As(err, &refused) || refused.Code != codes.InvalidArgument || refused.Message != "The value is empty." {
			t.Fatalf("an empty value: %v", err)
		}
		if _, err := c.Call("/test.Echo/Other", value(text), 0); !errors.As(err, &refused) || refused.Code != codes.Unimplemented {
			t.Fatalf("an unknown method: %v", err)
		}
	}
}

// A stream carries many messages while their answers are read, and ends well.
func TestStream(t *testing.T) {
	c := dialEcho(t)
	if err := c.Open(methodEcho); err != nil {
		t.Fatal(err)
	}
	const messages = 2000
	text := bytes.Repeat([]byte{'x'}, 5000)
	sent := make(chan error, 1)
	go func() {
		var failed error
		for i := 0; i < messages && failed == nil; i++ {
			failed = c.Send(value(text))
		}
		sent <- errors.Join(failed, c.CloseSend())
	}()
	for range messages {
		answer, err := c.Receive()
		if err != nil {
			t.Fatal(err)
		}
		wantValue(t, answer, text)
	}
	if _, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("the end: %v", err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// Who sends is told when the connection is gone, also while it waits for room.
func TestBrokenStream(t *testing.T) {
	c := dialEcho(t)
	if err := c.Open(methodEcho); err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		for {
			if err := c.Send(value(make([]byte, 1<<20))); err != nil {
				sent <- err
				return
			}
		}
	}()
	if _, err := c.Receive(); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for err := error(nil); err == nil; {
		_, err = c.Receive()
	}
	if err := <-sent; err == nil {
		t.Fatal("sent on a closed connection")
	}
}
