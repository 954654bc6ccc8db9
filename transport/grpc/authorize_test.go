package grpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seriatimq/seriatim/queue"
	authgate "github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

const (
	guardedAccount = "000000000000"
	guardedSecret  = "an-example-and-no-secret"
	rootKey        = "SRTMROOT000000000001"
	annaKey        = "SRTMANNA000000000001"
)

// guardedFixture is a port that wants signatures, with a key of the account and one of a
// user who may do nothing.
func guardedFixture(t *testing.T) *fixture {
	t.Helper()
	for _, cmd := range []queue.Command{
		&queue.CreateAccessKey{ID: rootKey, Secret: guardedSecret, Account: guardedAccount},
		&queue.CreateAccessKey{ID: annaKey, Secret: guardedSecret, Account: guardedAccount, User: "anna"},
	} {
		if _, err := node.Submit(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
	}
	return newFixture(t, func(o *Options) {
		g := authgate.New(node, guardedAccount, time.Now)
		o.Verifier, o.Authorizer = g, g
	})
}

// signedWith is a context for a call of a method that is signed with a key.
func (f *fixture) signedWith(ctx context.Context, method, key, secret string) context.Context {
	r := &http.Request{Method: http.MethodPost, Host: f.port.Addr().String(), URL: &url.URL{Path: method}, Header: http.Header{}}
	(&sigv4.Signer{KeyID: key, Secret: secret, Region: "us-east-1", Service: "sqs", Now: time.Now}).SignHead(r)
	for name, values := range r.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, name, values[0])
	}
	return ctx
}

// call calls any method with a request that names what it is about, and returns the status.
func (f *fixture) callAny(ctx context.Context, method protoreflect.MethodDescriptor, path string) codes.Code {
	f.t.Helper()
	newMessage := func(d protoreflect.MessageDescriptor) proto.Message {
		found, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		if err != nil {
			f.t.Fatal(err)
		}
		return found.New().Interface()
	}
	request, answer := newMessage(method.Input()), newMessage(method.Output())
	fill(request.ProtoReflect())
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		return status.Code(f.conn.Invoke(ctx, path, request, answer))
	}
	stream, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = stream.RecvMsg(answer)
	}
	return status.Code(err)
}

// fill sets the fields that say what a request is about.
func fill(m protoreflect.Message) {
	for name, value := range map[protoreflect.Name]string{
		"queue": "guarded.fifo", "topic": "guarded.fifo", "source": "guarded.fifo", "session_id": "s", "group_id": "g", "id": "1",
		"subscription_arn": "arn:aws:sns:us-east-1:000000000000:guarded.fifo:00000000-0000-0000-0000-000000000000",
	} {
		if field := m.Descriptor().Fields().ByName(name); field != nil && field.Kind() == protoreflect.StringKind && !field.IsList() {
			m.Set(field, protoreflect.ValueOfString(value))
		}
	}
	for _, name := range []protoreflect.Name{"open", "start", "session"} {
		if field := m.Descriptor().Fields().ByName(name); field != nil && field.Message() != nil && !field.IsList() {
			fill(m.Mutable(field).Message())
		}
	}
}

// TestEveryMethodIsGuarded calls every method without a key, with a wrong signature, as
// somebody who may do nothing, and as the account.
func TestEveryMethodIsGuarded(t *testing.T) {
	f := guardedFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	methods := 0
	for _, service := range services {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		if err != nil {
			t.Fatal(err)
		}
		list := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			method := list.Get(i)
			path := "/" + service.ServiceName + "/" + string(method.Name())
			methods++
			for _, caller := range []struct {
				name string
				ctx  context.Context
				want codes.Code
			}{
				{"a stranger", ctx, codes.Unauthenticated},
				{"somebody with a wrong secret", f.signedWith(ctx, path, annaKey, guardedSecret+"!"), codes.Unauthenticated},
				{"somebody with a signature for another method", f.signedWith(ctx, path+"x", rootKey, guardedSecret), codes.Unauthenticated},
				{"a user without permission", f.signedWith(ctx, path, annaKey, guardedSecret), codes.PermissionDenied},
			} {
				if got := f.callAny(caller.ctx, method, path); got != caller.want {
					t.Errorf("%s calls %s: %v, want %v", caller.name, path, got, caller.want)
				}
			}
			if got := f.callAny(f.signedWith(ctx, path, rootKey, guardedSecret), method, path); got == codes.Unauthenticated || got == codes.PermissionDenied {
				t.Errorf("the account calls %s: %v", path, got)
			}
		}
	}
	if methods != len(permissions) {
		t.Errorf("%d methods were called, the table has %d", methods, len(permissions))
	}
}
