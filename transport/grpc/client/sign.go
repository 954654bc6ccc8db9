package client

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// Signing returns the options of a connection whose calls are signed with a key, for programs
// that use the generated stubs; none without a key. The address becomes the authority of the
// calls. The signature does not cover messages, because it is sent before them.
func Signing(key *Key, address string) []grpc.DialOption {
	if key == nil {
		return nil
	}
	//nolint:forbidigo // the client is part of other programs
	signer := &sigv4.Signer{KeyID: key.ID, Secret: key.Secret, Region: cmp.Or(key.Region, "us-east-1"), Service: "sqs", Now: time.Now}
	sign := func(ctx context.Context, method string) context.Context {
		r := &http.Request{Method: http.MethodPost, Host: address, URL: &url.URL{Path: method}, Header: http.Header{}}
		signer.SignHead(r)
		for name, values := range r.Header {
			ctx = metadata.AppendToOutgoingContext(ctx, name, values[0])
		}
		return ctx
	}
	unary := func(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
		options ...grpc.CallOption) error {
		return invoke(sign(ctx, method), method, request, answer, conn, options...)
	}
	stream := func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
		options ...grpc.CallOption) (grpc.ClientStream, error) {
		return open(sign(ctx, method), desc, conn, method, options...)
	}
	return []grpc.DialOption{grpc.WithAuthority(address), grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream)}
}
