package transfer

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// Outgoing is a message to send, with a number for the report of its outcome.
type Outgoing struct {
	Message *api.Message
	Number  int64

	digest digest // of an import: of the lines up to this one
}

// Outcome counts the messages of a send.
type Outcome struct {
	Sent       int64 // stored
	Duplicates int64 // dropped: the queue remembers the deduplication id
	Refused    int64
}

func (o Outcome) total() int64 { return o.Sent + o.Duplicates + o.Refused }

// Feed sends the messages of a source until it returns nil. Messages of one group keep their order.
type Feed struct {
	Queue string
	Pace  *Pace
	// Next returns the next message, nil at the end.
	Next func() (*Outgoing, error)
	// Done is called in order for each message with an outcome; refusal is nil unless a rule refused
	// it.
	Done func(o *Outgoing, refusal error)
	// Report is called with the number of answered messages.
	Report func(int64)
}

// answered is a message whose result is awaited.
type answered struct {
	outgoing *Outgoing
	pending  *api.Sent
}

// inFlightMax bounds the messages without an answer. The sender has the same bound.
const inFlightMax = 1000

// Run sends all messages and returns their counts. If ctx ends, it waits for the answers to the
// messages that were sent, because they tell which messages were stored. A refused message does not
// end it; any other error does.
func (f *Feed) Run(ctx context.Context, n *native.Conn) (out Outcome, err error) {
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	err = n.Stream(context.WithoutCancel(ctx), func(lasting context.Context, c *api.Client) error {
		sender := c.NewSender(lasting, f.Queue)
		waiting, failed := make(chan answered, inFlightMax), make(chan error, 1)
		go func() { failed <- f.collect(lasting, waiting, &out, stop) }()
		fed := f.feed(stopping, sender, waiting)
		close(waiting)
		sender.Close()
		if err := <-failed; err != nil {
			return err
		}
		return fed
	})
	if ctx.Err() != nil && err != nil {
		err = exit.Interruption("messages that were sent are stored")
	}
	return out, err
}

// feed sends the messages until the source or ctx ends.
func (f *Feed) feed(ctx context.Context, sender *api.Sender, waiting chan<- answered) error {
	for {
		next, err := f.Next()
		if err != nil || next == nil {
			return err
		}
		pending, err := sender.Send(ctx, next.Message)
		if err != nil {
			return err
		}
		waiting <- answered{next, pending}
		if err := f.Pace.Wait(ctx, 1); err != nil {
			return err
		}
	}
}

// collect waits for the answers, in order. It calls stop after an error.
func (f *Feed) collect(ctx context.Context, waiting <-chan answered, out *Outcome, stop func()) (first error) {
	for a := range waiting {
		result, err := a.pending.Wait(ctx)
		switch {
		case err == nil && result.GetDuplicate():
			out.Duplicates++
		case err == nil:
			out.Sent++
		case refusedByRule(err):
			out.Refused++
		default:
			first = cmp.Or(first, err)
			stop()
			continue
		}
		f.Done(a.outgoing, err)
		f.Report(out.total())
	}
	return first
}

// refusedByRule reports whether the message itself is refused, so that other messages may succeed.
func refusedByRule(err error) bool {
	failure, ok := errors.AsType[*api.FailureError](err)
	return ok && failure.Code == codes.InvalidArgument
}

// IsFIFO reports whether a name is that of a FIFO queue.
func IsFIFO(queue string) bool { return strings.HasSuffix(queue, ".fifo") }
