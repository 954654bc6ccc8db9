package sqs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

type receiveMessageInput struct {
	onQueue
	AttributeNames       []string
	SystemAttributeNames []string
	MessageAttributes    []string
	MaxMessages          awswire.Int
	VisibilityTimeout    awswire.Int
	WaitSeconds          awswire.Int
	AttemptID            awswire.Text
}

var receiveMessageInputSchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *receiveMessageInput) *awswire.Text { return &v.QueueURL }),
	awswire.Strings("AttributeNames", "AttributeName", func(v *receiveMessageInput) *[]string { return &v.AttributeNames }),
	awswire.Strings("MessageSystemAttributeNames", "MessageSystemAttributeName",
		func(v *receiveMessageInput) *[]string { return &v.SystemAttributeNames }),
	awswire.Strings("MessageAttributeNames", "MessageAttributeName",
		func(v *receiveMessageInput) *[]string { return &v.MessageAttributes }),
	awswire.Integer("MaxNumberOfMessages", func(v *receiveMessageInput) *awswire.Int { return &v.MaxMessages }),
	awswire.Integer("VisibilityTimeout", func(v *receiveMessageInput) *awswire.Int { return &v.VisibilityTimeout }),
	awswire.Integer("WaitTimeSeconds", func(v *receiveMessageInput) *awswire.Int { return &v.WaitSeconds }),
	awswire.OptionalString("ReceiveRequestAttemptId", func(v *receiveMessageInput) *awswire.Text { return &v.AttemptID }),
)

type receivedMessage struct {
	MessageID        string
	ReceiptHandle    string
	BodyDigest       string
	Body             string
	Attributes       []awswire.Pair
	AttributesDigest string
	MessageAttrs     []attributeValue
}

type receiveMessageOutput struct{ Messages []receivedMessage }

var receiveMessageOutputSchema = awswire.Structure(
	awswire.Structures("Messages", "Message", awswire.Structure(
		awswire.String("MessageId", func(v *receivedMessage) *string { return &v.MessageID }),
		awswire.String("ReceiptHandle", func(v *receivedMessage) *string { return &v.ReceiptHandle }),
		awswire.String("MD5OfBody", func(v *receivedMessage) *string { return &v.BodyDigest }),
		awswire.String("Body", func(v *receivedMessage) *string { return &v.Body }),
		awswire.StringMap("Attributes", "Attribute", "Name", "Value", func(v *receivedMessage) *[]awswire.Pair { return &v.Attributes }),
		awswire.String("MD5OfMessageAttributes", func(v *receivedMessage) *string { return &v.AttributesDigest }),
		awswire.StructureMap("MessageAttributes", "MessageAttribute", attributeValueSchema, attributeName,
			func(v *receivedMessage) *[]attributeValue { return &v.MessageAttrs }),
	), func(v *receiveMessageOutput) *[]receivedMessage { return &v.Messages }),
)

// waitOfQueue selects the queue's ReceiveMessageWaitTimeSeconds.
const waitOfQueue = time.Duration(-1)

// receiveMessage receives up to ten messages, waiting for the first if asked to.
func (s *Service) receiveMessage(ctx context.Context, c *aws.Call, in *receiveMessageInput, complete func(*receiveMessageOutput, error)) {
	system, refused := in.check()
	if refused != nil {
		complete(nil, refuse(ctx, c, refused))
		return
	}
	wait := waitOfQueue
	if in.WaitSeconds.Given {
		wait = time.Duration(in.WaitSeconds.Value) * time.Second
	}
	attempt, made, err := s.attemptID(c.Resource.Name, in.AttemptID)
	if err != nil {
		complete(nil, err)
		return
	}
	filter := newAttributeFilter(in.MessageAttributes)
	s.receive(ctx, &queue.ReceiveMessages{
		Queue: c.Resource.Name, MaxMessages: queue.Int(in.MaxMessages), VisibilityTimeout: queue.Int(in.VisibilityTimeout),
		AttemptID: attempt, AttemptIDGiven: made || in.AttemptID.Given, ShortPoll: wait == 0,
	}, wait, func(reply cluster.Reply, err error) {
		c.Position = reply.Position
		if err != nil {
			complete(nil, err)
			return
		}
		received, err := service.ResultOf[queue.MessagesReceived](reply.Result)
		if err != nil {
			complete(nil, err)
			return
		}
		c.Record.Trace.Received(received.Messages)
		if made && len(received.Messages) > 0 {
			c.AttemptID = attempt
		}
		out := &receiveMessageOutput{Messages: make([]receivedMessage, len(received.Messages))}
		for i := range received.Messages {
			out.Messages[i] = s.received(&received.Messages[i], system, filter)
		}
		complete(out, nil)
	})
}

// attemptID returns the id of a receive: that of the request or, with the profile of Yandex Message
// Queue, a new one. Ids take memory for ReceiveAttemptWindowSeconds, so other profiles get none.
func (s *Service) attemptID(name string, given awswire.Text) (id string, made bool, err error) {
	if given.Given || !strings.HasSuffix(name, ".fifo") {
		return strings.Clone(given.Value), false, nil
	}
	s.Node.ReadLocal(func(v queue.View) {
		attributes, refused := v.Typed(name)
		made = refused == nil && attributes.YMQReceive
	})
	if !made {
		return "", false, nil
	}
	id, err = service.NewAttemptID(s.Random)
	return id, err == nil, err
}

// receive waits for messages until the client disconnects, which ends ctx, or the node stops.
func (s *Service) receive(ctx context.Context, cmd *queue.ReceiveMessages, wait time.Duration, complete func(cluster.Reply, error)) {
	if wait == 0 {
		s.Node.BeginReceive(ctx, cmd, wait, complete)
		return
	}
	waits := s.polls.Context()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(waits, cancel)
	s.Node.BeginReceive(ctx, cmd, wait, func(reply cluster.Reply, err error) {
		stop()
		cancel()
		// A receive on its way into the log may still be executed.
		if errors.Is(err, context.Canceled) && waits.Err() != nil && !errors.Is(err, cluster.ErrOutcomeUnknown) {
			err = errDraining
		}
		complete(reply, err)
	})
}

// check checks values that no command carries.
func (in *receiveMessageInput) check() (systemFilter, *queue.Error) {
	if w := in.WaitSeconds; w.Given && (w.Value < 0 || w.Value > limits.WaitSecondsMax) {
		return systemFilter{}, refusal.InvalidValue(strconv.FormatInt(w.Value, 10), "WaitTimeSeconds",
			"Must be >= 0 and <= 20, if provided.")
	}
	return newSystemFilter(in.AttributeNames, in.SystemAttributeNames)
}

// received converts a delivery, with the requested attributes.
func (s *Service) received(m *queue.ReceivedMessage, system systemFilter, filter attributeFilter) receivedMessage {
	content := rendition.Message{Body: m.Body.String(), Attributes: m.Attributes, Encoded: m.Encoded}
	body, given := content.Text()
	out := receivedMessage{
		MessageID: m.MessageID.String(), ReceiptHandle: m.Handle.String(),
		BodyDigest: bodyDigest(body), Body: body, Attributes: s.systemAttributes(m, system),
	}
	attributes := filter.choose(given)
	if len(attributes) > 0 {
		// The digest is over the returned attributes, not the sent ones.
		out.AttributesDigest = attributesDigest(attributes)
		out.MessageAttrs = wireAttributes(attributes)
	}
	return out
}

// attributeFilter holds MessageAttributeNames: All, * and .* select all, a name that ends in .* is a
// prefix, any other is exact. It keeps copies, because it outlives the text of a waiting request.
type attributeFilter struct {
	all      bool
	names    []string
	prefixes []string
}

func newAttributeFilter(patterns []string) attributeFilter {
	var f attributeFilter
	for _, p := range patterns {
		if p == attributeAll || p == "*" || p == ".*" {
			return attributeFilter{all: true}
		}
		prefix, isPrefix := strings.CutSuffix(p, ".*")
		switch {
		case len(prefix) > limits.AttributeNameLengthMax: // no attribute has such a name
		case isPrefix:
			f.prefixes = append(f.prefixes, strings.Clone(prefix))
		default:
			f.names = append(f.names, strings.Clone(p))
		}
	}
	return f
}

// choose returns the attributes that match, sorted by name.
func (f attributeFilter) choose(attributes []queue.MessageAttribute) []queue.MessageAttribute {
	if !f.all && len(f.names) == 0 && len(f.prefixes) == 0 {
		return nil
	}
	chosen := make([]queue.MessageAttribute, 0, len(attributes))
	for _, a := range attributes {
		if f.all || slices.Contains(f.names, a.Name) ||
			slices.ContainsFunc(f.prefixes, func(p string) bool { return strings.HasPrefix(a.Name, p) }) {
			chosen = append(chosen, a)
		}
	}
	sortAttributes(chosen)
	return chosen
}
