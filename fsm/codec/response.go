package codec

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
)

// Response is the answer to one command: a result or a refusal.
type Response struct {
	Result queue.Result // nil if Err is set
	Err    *queue.Error
}

// AppendResponse appends the encoded answer, which a leader sends to the node that forwarded the
// command.
func AppendResponse(dst []byte, r Response) ([]byte, error) {
	appended, known := wire.AppendResponse(dst, r.Err, r.Result)
	if !known {
		return nil, fmt.Errorf("%w: an answer of type %T", format.ErrUnknownFormat, r.Result)
	}
	return appended, nil
}

// DecodeResponse is the inverse of AppendResponse. The answer shares no memory with data.
func DecodeResponse(data []byte) (Response, error) {
	refused, result, err := wire.ReadResponse(wire.NewReader(data))
	switch {
	case err != nil:
		return Response{}, err
	case refused != nil:
		return Response{Err: refused}, nil
	case result == nil:
		return Response{}, fmt.Errorf("%w: an answer without a known result", format.ErrUnknownFormat)
	}
	return Response{Result: result.(queue.Result)}, nil
}
