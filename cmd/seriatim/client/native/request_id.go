package native

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// trailerRequestID names the trailer with the id under which the node logs a call.
const trailerRequestID = "x-seriatim-request-id"

// requestID is the key of a *string in the context of a call, for the id of its last request.
type requestID struct{}

// keepRequestID stores the id of each request.
func keepRequestID(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	var trailer metadata.MD
	err := invoke(ctx, method, request, reply, conn, append(options, grpc.Trailer(&trailer))...)
	if id := trailer.Get(trailerRequestID); len(id) > 0 {
		*ctx.Value(requestID{}).(*string) = id[0]
	}
	return err
}
