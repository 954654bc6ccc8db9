package faults

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// conn returns the client's connection to a node. It reconnects by itself.
func (c *client) conn(node *harness.Node) *grpc.ClientConn {
	if conn := c.native[node.Client]; conn != nil {
		return conn
	}
	conn, err := grpc.NewClient("passthrough:///"+node.Client, append(c.access.native(),
		grpc.WithConnectParams(grpc.ConnectParams{
			MinConnectTimeout: time.Second,
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond},
		}))...)
	if err != nil {
		panic(err) // the options contradict each other
	}
	if c.native == nil {
		c.native = map[string]*grpc.ClientConn{}
	}
	c.native[node.Client] = conn
	return conn
}

// ask makes one call of the native API to any node and classifies its result. sent is false if
// nothing was sent, so that the call need not be recorded.
func ask[S, In, Out any](
	ctx context.Context, c *client, e *history.Event, service func(grpc.ClientConnInterface) S,
	method func(S, context.Context, In, ...grpc.CallOption) (Out, error), in In,
) (out Out, sent bool) {
	node := c.any()
	c.begin(node, e)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, headerOpID, e.OpID()), tryTimeout)
	defer cancel()
	var trailer metadata.MD
	var reached peer.Peer
	out, err := method(service(c.conn(node)), ctx, in, grpc.Trailer(&trailer), grpc.Peer(&reached))
	e.Return = c.recorder.Now()
	first := func(name string) string {
		if values := trailer.Get(name); len(values) > 0 {
			return values[0]
		}
		return ""
	}
	c.placed(e, first(headerIndex), first(headerLogTime))
	e.Result, e.Error = classifyStatus(err)
	return out, err == nil || reached.Addr != nil
}

// note records a call unless nothing was sent, and reports whether it succeeded.
func (c *client) note(sent bool, e history.Event) bool {
	if sent {
		c.recorder.Add(e)
	}
	return sent && done(&e)
}

func done(e *history.Event) bool { return e.Result == history.OK && e.Error == "" }

// recordOutcome records the outcome of the only entry of a call.
func recordOutcome(e *history.Event, outcomes []*seriatimpb.Outcome) {
	switch {
	case !done(e):
	case len(outcomes) == 1:
		e.Error = outcomes[0].GetFailure().GetReason()
	default:
		e.Error = strconv.Itoa(len(outcomes)) + " outcomes of one entry"
	}
}

// classifyStatus returns what a client of the native API may conclude from a status. A status
// without one of the server's reasons was not made by the server.
func classifyStatus(err error) (history.Result, string) {
	if err == nil {
		return history.OK, ""
	}
	s := status.Convert(err)
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		switch {
		case !ok || info.GetDomain() != "seriatim":
		case info.GetReason() == "OutcomeUnknown" || s.Code() == codes.Internal:
			return history.Unknown, info.GetReason()
		case s.Code() == codes.Unavailable:
			return history.Fail, info.GetReason()
		default:
			return history.OK, info.GetReason()
		}
	}
	return history.Unknown, s.Code().String()
}

// outgoing is a message with the attributes that go with its body.
func outgoing(group, dedup, body string) *seriatimpb.OutgoingMessage {
	m := &seriatimpb.OutgoingMessage{Body: body, GroupId: &group, DeduplicationId: &dedup, Attributes: map[string]*seriatimpb.Attribute{}}
	for _, a := range attributesFor(body) {
		out := &seriatimpb.Attribute{DataType: a.Type, Value: &seriatimpb.Attribute_Text{Text: a.Value}}
		if a.Type == "Binary" {
			out.Value = &seriatimpb.Attribute_Binary{Binary: []byte(a.Value)}
		}
		m.Attributes[a.Name] = out
	}
	return m
}

// deliveredNatively are the messages of an answer.
func deliveredNatively(in []*seriatimpb.Message) []history.Message {
	var messages []history.Message
	for _, m := range in {
		var attributes []history.Attribute
		for name, a := range m.GetAttributes() {
			attributes = append(attributes,
				history.Attribute{Name: name, Type: a.GetDataType(), Value: a.GetText() + string(a.GetBinary())})
		}
		messages = append(messages, history.Message{
			ID: m.GetMessageId(), Body: m.GetBody(), Group: m.GetGroupId(), Dedup: m.GetDeduplicationId(),
			Sequence: numberText(m.GetSequenceNumber()),
			Handle:   m.GetReceiptHandle(), Count: int(m.GetReceiveCount()), Sent: m.GetSentAtMs(),
			Extra: history.AttributesText(attributes),
		})
	}
	return messages
}

// numberText returns a sequence number as the SQS API shows it: a one and the number with leading
// zeros.
func numberText(n uint64) string { return strconv.FormatUint(n, 10) }

// numberOf returns the number in such a text.
func numberOf(text string) (n uint64, err error) {
	if _, err = fmt.Sscanf(text, "1%019d", &n); err != nil {
		return 0, fmt.Errorf("sequence number %q: %w", text, err)
	}
	return n, nil
}
