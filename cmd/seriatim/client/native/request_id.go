package native

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// trailerRequestID names the trailer with the id under which the node logs a call.
const trailerRequestID = "x-seriatim-request-id"

// An identifiedError is the error of a call that a node answered, with the id of the request.
type identifiedError struct {
	error
	requestID string
}

// GRPCStatus returns the status of the answer.
func (e *identifiedError) GRPCStatus() *status.Status { return status.Convert(e.error) }

func (e *identifiedError) Unwrap() error { return e.error }

// withRequestID adds the id of the request to the error of a call.
func withRequestID(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	var trailer metadata.MD
	err := invoke(ctx, method, request, reply, conn, append(options, grpc.Trailer(&trailer))...)
	if id := trailer.Get(trailerRequestID); err != nil && len(id) > 0 {
		return &identifiedError{err, id[0]}
	}
	return err
}
