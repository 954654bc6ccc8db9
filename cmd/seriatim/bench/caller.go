package bench

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

type message struct{ Body, Group, ID string }

// delivery is a received message.
type delivery struct{ Body, ReceiptHandle string }

// caller makes unary calls for the queue of the run. Only one goroutine uses it.
type caller interface {
	// send returns the message ids. A refused message fails the call.
	send(ctx context.Context, messages []message) (ids []string, err error)
	receive(ctx context.Context, most, waitSeconds int) ([]delivery, error)
	remove(ctx context.Context, handles []string) error
	close()
}

func (r *run) newCaller(number int) (caller, error) {
	if r.Protocol == HTTP {
		c := newSQSCaller(r.target, number)
		c.queueURL = r.admin.queueURL
		return c, nil
	}
	at := number
	if r.Connections > 0 {
		at %= r.Connections
	}
	for len(r.shared) <= at {
		address := r.target.Addresses[len(r.shared)%len(r.target.Addresses)]
		// Without retries each failure counts.
		c, err := client.Dial(client.Options{TLS: r.target.TLS, Key: r.target.Key, Account: r.target.Account, RetryFor: -1}, address)
		if err != nil {
			return nil, err
		}
		r.shared = append(r.shared, c)
	}
	return &nativeCaller{client: r.shared[at], queue: r.Queue, timeout: r.target.Timeout}, nil
}

type nativeCaller struct {
	client  *client.Client
	queue   string
	timeout time.Duration
}

func (c *nativeCaller) close() {} // the run closes shared clients

func (c *nativeCaller) send(ctx context.Context, messages []message) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	out := make([]*client.Message, len(messages))
	for i := range messages {
		out[i] = outgoing(&messages[i])
	}
	results, err := c.client.Send(ctx, c.queue, out...)
	if err != nil {
		return nil, err
	}
	for _, result := range results {
		ids = append(ids, result.GetMessageId())
	}
	return ids, incomplete(len(ids), len(messages))
}

func outgoing(m *message) *client.Message {
	return &client.Message{Body: m.Body, GroupId: &m.Group, DeduplicationId: &m.ID}
}

func (c *nativeCaller) receive(ctx context.Context, most, waitSeconds int) (list []delivery, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+time.Duration(waitSeconds)*time.Second)
	defer cancel()
	limit, wait := int32(most), int32(waitSeconds) //nolint:gosec // both are small
	out, err := c.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: c.queue, MaxMessages: &limit, WaitSeconds: &wait})
	for _, m := range out.GetMessages() {
		list = append(list, delivery{m.GetBody(), m.GetReceiptHandle()})
	}
	return list, err
}

func (c *nativeCaller) remove(ctx context.Context, handles []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.client.Delete(ctx, c.queue, handles...)
}

// refusal is an error of SQS.
type refusal struct {
	status     int
	code, text string
}

func (e *refusal) Error() string { return e.code + ": " + e.text }

// codeOf returns the code under which the report counts an error.
func codeOf(err error) string {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.code
	}
	if reason := client.Reason(err); reason != "" {
		return reason
	}
	answer, answered := status.FromError(err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ConnectionRefused"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		answered && answer.Code() == codes.DeadlineExceeded:
		return "Timeout"
	case answered:
		return answer.Code().String()
	}
	return "ConnectionLost"
}

// isFinal reports whether repeating the call cannot help.
func isFinal(err error) bool {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.status >= 400 && refused.status < 500
	}
	code := status.Code(err)
	if failure, ok := errors.AsType[*client.FailureError](err); ok {
		code = failure.Code
	}
	switch code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.Unauthenticated,
		codes.FailedPrecondition, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// explain adds an exit code to an error of the run's queue.
func explain(err error) error {
	refused, answered := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		return nil
	case !answered && codeOf(err) == "Timeout":
		return exit.New(exit.Timeout, err, "raise --timeout")
	case !answered:
		return exit.New(exit.Unavailable, err,
			"is the server running there? set --endpoint or SERIATIM_ENDPOINT to the client port of a node")
	case refused.code == "QueueDoesNotExist":
		return exit.New(exit.NotFound, err, "seriatim queue list shows the queues that exist")
	case refused.status == 401 || refused.status == 403:
		return exit.New(exit.Denied, err, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key with the permission to create queues")
	case isFinal(err):
		return exit.New(exit.Usage, err, "")
	}
	return exit.New(exit.Unavailable, err, "seriatim status shows the state of the node")
}
