package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func messageCommand(o *options) *cobra.Command {
	return group("msg", "Send, schedule, receive, peek at, follow, defer, export and import messages",
		"Send, schedule, receive, peek at, follow, defer, export and import messages.\n\nQUEUE is a queue name or a queue URL.",
		sendCommand(o), scheduleCommand(o), cancelScheduledCommand(o), receiveCommand(o), peekCommand(o), extendCommand(o),
		releaseCommand(o), deferCommand(o), receiveDeferredCommand(o), deadLetterMessageCommand(o),
		deleteCommand(o), findCommand(o), messageTailCommand(o), messageExplainCommand(o), moveMessageCommand(o), discardMessageCommand(o),
		exportCommand(o), importCommand(o))
}

// attributeValue is a message attribute in JSON output.
type attributeValue struct {
	DataType    string `json:",omitempty"`
	StringValue string `json:",omitempty"`
	BinaryValue []byte `json:",omitempty"`
}

// messageFlags holds the flags of a message to send, schedule or publish.
type messageFlags struct {
	group, deduplication, trace string
	attributes                  []string
}

// bind adds the flags. group describes the flag for the message group.
func (f *messageFlags) bind(c *cobra.Command, group string) {
	fl := c.Flags()
	fl.StringVarP(&f.group, "group", "g", "", group)
	fl.StringVarP(&f.deduplication, "deduplication-id", "d", "",
		"deduplication id: a second message with it is dropped while the window lasts")
	fl.StringArrayVarP(&f.attributes, "attribute", "a", nil, "a message attribute as name=text or name:Type=value, may be repeated")
}

// bindTrace adds the flag for the trace header, which messages to topics lack.
func (f *messageFlags) bindTrace(c *cobra.Command) {
	c.Flags().StringVar(&f.trace, "trace-header", "", "value of the AWSTraceHeader system attribute")
}

// message returns the message to send.
func (f *messageFlags) message(cmd *cobra.Command, body string) (*api.Message, error) {
	attributes, err := messageAttributes(f.attributes)
	if err != nil {
		return nil, err
	}
	if err := checkText("--trace-header", f.trace, ""); err != nil {
		return nil, err
	}
	m := &api.Message{TraceHeader: f.trace, Attributes: attributes}
	api.SetContent(m, body)
	if cmd.Flags().Changed("group") {
		m.GroupId = &f.group
	}
	if cmd.Flags().Changed("deduplication-id") {
		m.DeduplicationId = &f.deduplication
	}
	return m, nil
}

// number returns the value of a flag for the native API. The server refuses values outside of its
// limits.
func number(v int) *int32 { return new(int32(max(math.MinInt32, min(v, math.MaxInt32)))) } //nolint:gosec // bounded

// sentResult is the result of a message.
type sentResult interface {
	GetMessageId() string //nolint:revive // the spelling of the API
	GetSequenceNumber() uint64
	GetDuplicate() bool
}

// printSent makes a call that sends one message, and shows its result.
func printSent[R sentResult](cmd *cobra.Command, n *native.Conn, p *printer, send func(context.Context, *api.Client) ([]R, error)) error {
	results, err := native.Get(cmd.Context(), n, send)
	if err != nil {
		return err
	}
	if len(results) != 1 || results[0].GetMessageId() == "" {
		return errors.New("the answer has no message id")
	}
	doc := map[string]any{"messageId": results[0].GetMessageId()}
	row := []string{results[0].GetMessageId()}
	if number := sequenceText(results[0].GetSequenceNumber()); number != "" {
		doc["sequenceNumber"] = number
		row = append(row, number)
	}
	duplicate := results[0].GetDuplicate()
	if duplicate {
		doc["duplicate"] = true
	}
	if err := p.print(doc, func() table { return table{rows: [][]string{row}} }); err != nil {
		return err
	}
	if duplicate && p.format.ForPeople() {
		p.say("dropped as a duplicate: the message above was accepted before, nothing was stored")
	}
	return nil
}

const binaryHint = "write it as --attribute name:Binary=..."

// checkText refuses texts that are not UTF-8. JSON would silently carry them as other bytes.
func checkText(what, text, hint string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return exit.New(exit.Usage, errors.New(what+" is not UTF-8 text"), hint)
}

// contentOf returns the argument behind a name, or else standard input. Errors name it by what,
// such as body or message.
func contentOf(cmd *cobra.Command, what string, args []string) (string, error) {
	if len(args) > 1 && args[1] != "-" {
		return args[1], nil
	}
	in, err := stdin(cmd, what, len(args) > 1)
	if err != nil {
		return "", err
	}
	return bodyFrom(in, what)
}

// bodyFrom reads a text of at most bodyBytesMax.
func bodyFrom(in io.Reader, what string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, bodyBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", what, err)
	}
	if len(text) > bodyBytesMax {
		return "", exit.New(exit.Usage, errors.New("the "+what+" is larger than the limit of 1 MiB"), "")
	}
	return string(text), nil
}

// bodyBytesMax is the SQS limit for one message.
const bodyBytesMax = 1 << 20

// messageAttributes reads name=text and name:Type=value.
func messageAttributes(list []string) (map[string]*api.Attribute, error) {
	m := make(map[string]*api.Attribute, len(list))
	for _, text := range list {
		left, value, ok := strings.Cut(text, "=")
		name, dataType, typed := strings.Cut(left, ":")
		if !ok || name == "" || typed && dataType == "" {
			return nil, exit.New(exit.Usage, fmt.Errorf("--attribute %q has no name and value", text),
				"write it as --attribute name=text or --attribute name:Number=5")
		}
		if !typed {
			dataType = "String"
		}
		if isBinary(dataType) {
			m[name] = api.BinaryAttribute(dataType, []byte(value))
			continue
		}
		if err := checkText(fmt.Sprintf("--attribute %q", text), value, binaryHint); err != nil {
			return nil, err
		}
		m[name] = api.TextAttribute(dataType, value)
	}
	return m, nil
}

// isBinary reports whether the values of a data type are bytes.
func isBinary(dataType string) bool {
	kind, _, _ := strings.Cut(dataType, ".")
	return kind == "Binary"
}

// message is one message in JSON output.
type message struct {
	MessageID         string                    `json:"messageId"`
	ReceiptHandle     string                    `json:"receiptHandle,omitempty"`
	Body              string                    `json:"body"`
	BodyEncoding      string                    `json:"bodyEncoding,omitempty"` // base64 if the body is not text
	Attributes        map[string]string         `json:"attributes,omitempty"`   // by the names of the SQS API
	MessageAttributes map[string]attributeValue `json:"messageAttributes,omitempty"`
	shown             string                    // body for people
}

// describeMessage returns a received message for JSON output. source is the ARN of the queue that it
// was dead-lettered from, empty for none.
func describeMessage(m *api.Delivery, source string) message {
	out := message{
		MessageID: m.GetMessageId(), ReceiptHandle: m.GetReceiptHandle(), Attributes: map[string]string{}, shown: transfer.Shown(m),
	}
	out.Body, out.BodyEncoding = transfer.Body(m)
	for name, value := range map[string]string{
		"AWSTraceHeader": m.GetTraceHeader(), "ApproximateFirstReceiveTimestamp": decimal(m.GetFirstReceivedAtMs()),
		"ApproximateReceiveCount": decimal(m.GetReceiveCount()), "DeadLetterQueueSourceArn": source,
		"MessageDeduplicationId": m.GetDeduplicationId(), "MessageGroupId": m.GetGroupId(), "SenderId": m.GetSenderId(),
		"SentTimestamp": decimal(m.GetSentAtMs()), "SequenceNumber": sequenceText(m.GetSequenceNumber()),
	} {
		if value != "" {
			out.Attributes[name] = value
		}
	}
	if len(m.GetAttributes()) > 0 {
		out.MessageAttributes = make(map[string]attributeValue, len(m.GetAttributes()))
	}
	for name, a := range m.GetAttributes() {
		out.MessageAttributes[name] = attributeValue{a.GetDataType(), a.GetText(), a.GetBinary()}
	}
	return out
}

type receiveFlags struct {
	count, wait, visibility int
	attempt                 string
	remove                  bool
	session                 sessionFlags
}

func receiveCommand(o *options) *cobra.Command {
	f := &receiveFlags{}
	c := &cobra.Command{
		Use: "receive QUEUE", Short: "Receive messages, which hides them until their visibility timeout ends",
		Args: arguments.Exactly("QUEUE"),
		Example: "  seriatim msg receive orders.fifo --max 10 --wait 20\n" +
			"  seriatim msg receive jobs --delete -o json\n" +
			"  seriatim msg receive orders.fifo --session customer-9 --token 0a1b...   # after seriatim session accept\n" +
			"  seriatim msg receive orders.fifo --attempt-id try-1   # after an error, repeat it for the same messages",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return receive(cmd, n, p, f, qualifiedOf(args[0]))
		}),
	}
	fl := c.Flags()
	fl.IntVarP(&f.count, "max", "n", 1, "most messages to receive, 1 to 10")
	fl.IntVarP(&f.wait, "wait", "w", 0, "seconds to wait for a message, 0 to 20 (default: the queue's ReceiveMessageWaitTimeSeconds)")
	fl.IntVar(&f.visibility, "visibility-timeout", 0, "seconds to hide them, 0 to 43200 (default: the queue's VisibilityTimeout)")
	fl.StringVar(&f.attempt, "attempt-id", "",
		"ReceiveRequestAttemptId of FIFO queues: with the same id, a repeated receive returns the same messages")
	fl.BoolVar(&f.remove, "delete", false, "delete the messages after printing them")
	f.session.bind(c)
	c.MarkFlagsMutuallyExclusive("session", "visibility-timeout") // the lock of the session hides them
	return c
}

func receive(cmd *cobra.Command, n *native.Conn, p *printer, f *receiveFlags, queue string) error {
	in, wait := &api.ReceiveRequest{Queue: queue, MaxMessages: number(f.count)}, waitMax
	if cmd.Flags().Changed("wait") {
		in.WaitSeconds, wait = number(f.wait), max(time.Duration(f.wait)*time.Second, 0)
	}
	if cmd.Flags().Changed("visibility-timeout") {
		in.VisibilityTimeoutSeconds = number(f.visibility)
	}
	if cmd.Flags().Changed("attempt-id") {
		in.AttemptId = &f.attempt
	}
	in.Session = f.session.reference()
	var received []*api.Delivery
	err := n.Do(cmd.Context(), wait, func(ctx context.Context, c *api.Client) error {
		out, err := c.Receive(ctx, in)
		received = out.GetMessages()
		return err
	})
	if err != nil {
		return err
	}
	return showReceived(cmd, n, p, queue, received, f.remove, &f.session)
}

// showReceived prints received messages, and deletes them if remove is set.
func showReceived(cmd *cobra.Command, n *native.Conn, p *printer, queue string, received []*api.Delivery, remove bool,
	session *sessionFlags) error {
	messages := make([]message, len(received))
	handles := make([]string, len(received))
	for i, m := range received {
		messages[i] = describeMessage(m, sourceARN(cmd.Context(), n, p, queue, m.GetDeadLetterSource()))
		handles[i] = m.GetReceiptHandle()
	}
	if err := printMessages(p, messages); err != nil {
		return err
	}
	if !remove {
		return nil
	}
	// The JSON document contains only the messages.
	change := session.deletion()
	refused, err := changeAll(cmd.Context(), n, p, queue, handles, change)
	if err != nil {
		return err
	}
	return p.changed(len(refused), len(handles), change.past)
}

// sourceARN returns the ARN of the source of a message in a dead-letter queue, for JSON output. Both
// queues have the same region and account. An error must not keep the message from the user.
func sourceARN(ctx context.Context, n *native.Conn, p *printer, queue, source string) string {
	if source == "" || !p.format.OfDocument() {
		return ""
	}
	arn, err := queueARN(ctx, n, queue)
	if err != nil {
		p.say("DeadLetterQueueSourceArn is left out: %s", err)
		return ""
	}
	return strings.TrimSuffix(arn, lastElement(arn)) + source
}

// waitMax is the longest wait of a receive.
const waitMax = 20 * time.Second

func printMessages(p *printer, messages []message) error {
	if len(messages) == 0 && p.format.ForPeople() {
		p.say("no message")
		return nil
	}
	return p.print(map[string]any{"messages": messages}, func() table {
		t := table{heading: []string{"MESSAGE ID", "GROUP", "SENT", "RECEIVES", "RECEIPT HANDLE", "BODY"}}
		for _, m := range messages {
			t.add(m.MessageID, orDash(m.Attributes["MessageGroupId"]), clockTime(m.Attributes["SentTimestamp"]),
				m.Attributes["ApproximateReceiveCount"], m.ReceiptHandle, m.shown)
		}
		return t
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// clockTime formats milliseconds since 1970 as UTC.
func clockTime(millis string) string {
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || n == 0 {
		return "-"
	}
	return time.UnixMilli(n).UTC().Format("2006-01-02T15:04:05.000Z")
}
