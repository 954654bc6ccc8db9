package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// sessionFlags names the session in which messages were received.
type sessionFlags struct{ id, token string }

func (f *sessionFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.id, "session", "", "session of the messages, a message group id that you accepted")
	c.Flags().StringVar(&f.token, "token", "", "token of the session, from seriatim session accept")
	c.MarkFlagsRequiredTogether("session", "token")
}

// reference returns the session for a request, nil if none is named.
func (f *sessionFlags) reference() *api.SessionRef {
	if f.token == "" {
		return nil
	}
	return &api.SessionRef{SessionId: f.id, Token: f.token}
}

// receiver ends deliveries in a session, or outside of sessions.
type receiver interface {
	Complete(ctx context.Context, handles ...string) error
	Defer(ctx context.Context, handles ...string) error
	DeadLetter(ctx context.Context, handle, reason, description string) error
	ReceiveDeferred(ctx context.Context, numbers ...uint64) ([]*api.Delivery, error)
}

// of returns the receiver for a queue.
func (f *sessionFlags) of(ctx context.Context, c *api.Client, queue string) (receiver, error) {
	if f.token == "" {
		return c.WithoutSession(queue), nil
	}
	return c.Resume(ctx, queue, f.id, f.token, api.SessionOptions{ManualRenewal: true})
}

// change returns a change of messages that a receiver makes.
func (f *sessionFlags) change(past string, call func(context.Context, receiver, []string) error) handleChange {
	return handleChange{func(ctx context.Context, c *api.Client, queue string, handles []string) error {
		s, err := f.of(ctx, c, queue)
		if err != nil {
			return err
		}
		return call(ctx, s, handles)
	}, past}
}

// deletion returns the deletion of messages. In a session, it needs the lock of the session.
func (f *sessionFlags) deletion() handleChange {
	if f.token == "" {
		return deletion
	}
	return f.change(deletion.past, func(ctx context.Context, s receiver, handles []string) error { return s.Complete(ctx, handles...) })
}

func deferCommand(o *options) *cobra.Command {
	f := &sessionFlags{}
	c := handleCommand(o, &cobra.Command{
		Use: "defer QUEUE RECEIPT-HANDLE...", Short: "Defer received messages until you ask for them by number",
		Long: "Defer received messages. They no longer block their groups, and only seriatim msg receive-deferred returns them. Note\n" +
			"their sequence numbers: seriatim msg receive -o json and seriatim msg peek print them.",
		Example: "  seriatim msg defer orders.fifo 7f6e...\n" +
			"  seriatim msg defer orders.fifo 7f6e... --session customer-9 --token 0a1b...",
	}, func(*cobra.Command) (handleChange, error) {
		return f.change("deferred", func(ctx context.Context, s receiver, handles []string) error { return s.Defer(ctx, handles...) }), nil
	})
	f.bind(c)
	return c
}

func deadLetterMessageCommand(o *options) *cobra.Command {
	f, reason, description := &sessionFlags{}, "", ""
	c := handleCommand(o, &cobra.Command{
		Use: "dead-letter QUEUE RECEIPT-HANDLE...", Short: "Move received messages to the dead-letter queue",
		Long: "Move received messages to the dead-letter queue that the RedrivePolicy names. The reason and the description become\n" +
			"the message attributes DeadLetterReason and DeadLetterErrorDescription.",
		Example: "  seriatim msg dead-letter orders.fifo 7f6e... --reason unreadable --description 'not JSON'",
	}, func(*cobra.Command) (handleChange, error) {
		return f.change("dead-lettered", func(ctx context.Context, s receiver, handles []string) error {
			return deadLetterAll(handles, func(handle string) error { return s.DeadLetter(ctx, handle, reason, description) })
		}), nil
	})
	f.bind(c)
	c.Flags().StringVar(&reason, "reason", "", "reason, up to 4096 bytes")
	c.Flags().StringVar(&description, "description", "", "description of the error, up to 4096 bytes")
	return c
}

// deadLetterAll moves one message after another, and returns the refusals as one error.
func deadLetterAll(handles []string, move func(string) error) error {
	failures, some := make([]*api.FailureError, len(handles)), false
	for i, handle := range handles {
		err := move(handle)
		failure, refused := errors.AsType[*api.FailureError](err)
		if err != nil && !refused {
			return err
		}
		failures[i], some = failure, some || refused
	}
	if some {
		return &api.BatchError{Failures: failures}
	}
	return nil
}

func receiveDeferredCommand(o *options) *cobra.Command {
	f, remove := &sessionFlags{}, false
	c := &cobra.Command{
		Use: "receive-deferred QUEUE SEQUENCE-NUMBER...", Short: "Receive deferred messages by their sequence numbers",
		Args: arguments.AtLeast("QUEUE", "SEQUENCE-NUMBER"),
		Long: "Receive deferred messages by their sequence numbers: all of them, or none if one is not found.",
		Example: "  seriatim msg receive-deferred orders.fifo 10000000000000000017\n" +
			"  seriatim msg receive-deferred orders.fifo 10000000000000000017 10000000000000000018 --delete -o json",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			numbers := make([]uint64, len(args)-1)
			for i, text := range args[1:] {
				number, err := parseSequence("SEQUENCE-NUMBER", text)
				if err != nil {
					return err
				}
				numbers[i] = number
			}
			if len(numbers) > batchMax {
				return exit.New(exit.Usage,
					fmt.Errorf("%d sequence numbers are given, at most %d are possible", len(numbers), batchMax), "")
			}
			queue := qualifiedOf(args[0])
			received, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) ([]*api.Delivery, error) {
				s, err := f.of(ctx, c, queue)
				if err != nil {
					return nil, err
				}
				return s.ReceiveDeferred(ctx, numbers...)
			})
			if err != nil {
				return err
			}
			return showReceived(cmd, n, p, queue, received, remove, f)
		}),
	}
	f.bind(c)
	c.Flags().BoolVar(&remove, "delete", false, "delete the messages after printing them")
	return c
}
