package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func messageCommand(o *options) *cobra.Command {
	return group("msg", "Send, schedule, receive, peek at, extend, release and delete messages",
		"Send, schedule, receive, peek at, extend, release and delete messages.\n\nQUEUE is a queue name or a queue URL.",
		sendCommand(o), scheduleCommand(o), cancelScheduledCommand(o), receiveCommand(o), peekCommand(o), extendCommand(o),
		releaseCommand(o),
		deleteCommand(o))
}

// attributeValue is a message attribute in JSON output.
type attributeValue struct {
	DataType    string `json:",omitempty"`
	StringValue string `json:",omitempty"`
	BinaryValue []byte `json:",omitempty"`
}

type sendFlags struct {
	group         string
	deduplication string
	delay         int
	attributes    []string
	trace         string
}

func sendCommand(o *options) *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use: "send QUEUE [BODY]", Short: "Send one message",
		Long: "Send one message. Without BODY, or with -, the body is read from standard input.",
		Example: "  seriatim msg send orders.fifo '{\"order\":17}' --group customer-9 --deduplication-id order-17\n" +
			"  seriatim msg send jobs - --attribute kind=resize --attribute width:Number=640 < job.json",
		Args:              arguments.OptionalLast("QUEUE", "BODY"),
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			return send(cmd, w, p, f, args)
		}),
	}
	fl := c.Flags()
	fl.StringVarP(&f.group, "group", "g", "", "message group id, required on FIFO queues")
	fl.StringVarP(&f.deduplication, "deduplication-id", "d", "",
		"deduplication id: a second message with it is dropped while the window lasts")
	fl.IntVar(&f.delay, "delay", 0, "seconds until the message can be received, 0 to 900")
	fl.StringArrayVarP(&f.attributes, "attribute", "a", nil, "a message attribute as name=text or name:Type=value, may be repeated")
	fl.StringVar(&f.trace, "trace-header", "", "value of the AWSTraceHeader system attribute")
	return c
}

func send(cmd *cobra.Command, w *wire, p *printer, f *sendFlags, args []string) error {
	body, err := textOf(cmd, "body", args)
	if err != nil {
		return err
	}
	attributes, err := messageAttributes(f.attributes)
	if err != nil {
		return err
	}
	if err := checkText("--trace-header", f.trace, ""); err != nil {
		return err
	}
	u, err := w.queueURL(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	in := map[string]any{"QueueUrl": u, "MessageBody": body}
	if cmd.Flags().Changed("group") {
		in["MessageGroupId"] = f.group
	}
	if cmd.Flags().Changed("deduplication-id") {
		in["MessageDeduplicationId"] = f.deduplication
	}
	if cmd.Flags().Changed("delay") {
		in["DelaySeconds"] = f.delay
	}
	if len(attributes) > 0 {
		in["MessageAttributes"] = attributes
	}
	if f.trace != "" {
		in["MessageSystemAttributes"] = map[string]attributeValue{"AWSTraceHeader": {DataType: "String", StringValue: f.trace}}
	}
	var out struct {
		MessageID      string `json:"MessageId"`
		SequenceNumber string
	}
	// A deduplication id makes it safe to ask another node.
	identified := cmd.Flags().Changed("deduplication-id") && strings.HasSuffix(u, ".fifo")
	got, err := w.callWithID(cmd.Context(), "SendMessage", identified, in, &out, 0)
	if err != nil {
		return err
	}
	// If the tool repeated the send, the earlier message may be this one.
	return p.printAccepted(out.MessageID, out.SequenceNumber, got.header.Get("X-Seriatim-Duplicate") == "true" && !got.repeated)
}

// printAccepted shows the answer of a send or of a publish.
func (p *printer) printAccepted(id, sequenceNumber string, duplicate bool) error {
	doc := map[string]any{"messageId": id}
	row := []string{id}
	if sequenceNumber != "" {
		doc["sequenceNumber"] = sequenceNumber
		row = append(row, sequenceNumber)
	}
	if duplicate {
		doc["duplicate"] = true
	}
	if err := p.print(doc, func() table { return table{rows: [][]string{row}} }); err != nil {
		return err
	}
	if duplicate && p.format == formatTable {
		p.say("dropped as a duplicate: the message above was accepted before, nothing was stored")
	}
	return nil
}

// textOf returns contentOf and refuses a content that is not text.
func textOf(cmd *cobra.Command, what string, args []string) (string, error) {
	text, err := contentOf(cmd, what, args)
	if err == nil {
		err = checkText("the "+what, text, binaryHint)
	}
	return text, err
}

const binaryHint = "encode it, for instance with base64, or put it into an attribute: --attribute name:Binary=..."

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
func messageAttributes(list []string) (map[string]attributeValue, error) {
	m := make(map[string]attributeValue, len(list))
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
		if kind, _, _ := strings.Cut(dataType, "."); kind == "Binary" {
			m[name] = attributeValue{DataType: dataType, BinaryValue: []byte(value)}
			continue
		}
		if err := checkText(fmt.Sprintf("--attribute %q", text), value, binaryHint); err != nil {
			return nil, err
		}
		m[name] = attributeValue{DataType: dataType, StringValue: value}
	}
	return m, nil
}

// message is one message in JSON output.
type message struct {
	MessageID         string                    `json:"messageId"`
	ReceiptHandle     string                    `json:"receiptHandle,omitempty"`
	Body              string                    `json:"body"`
	Attributes        map[string]string         `json:"attributes,omitempty"`
	MessageAttributes map[string]attributeValue `json:"messageAttributes,omitempty"`
}

type receiveFlags struct {
	count, wait, visibility int
	attempt                 string
	remove                  bool
}

func receiveCommand(o *options) *cobra.Command {
	f := &receiveFlags{}
	c := &cobra.Command{
		Use: "receive QUEUE", Short: "Receive messages, which hides them until their visibility timeout ends",
		Args: arguments.Exactly("QUEUE"),
		Example: "  seriatim msg receive orders.fifo --max 10 --wait 20\n" +
			"  seriatim msg receive jobs --delete -o json\n" +
			"  seriatim msg receive orders.fifo --attempt-id try-1   # after an error, repeat it for the same messages",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			return receive(cmd, w, p, f, args[0])
		}),
	}
	fl := c.Flags()
	fl.IntVarP(&f.count, "max", "n", 1, "most messages to receive, 1 to 10")
	fl.IntVarP(&f.wait, "wait", "w", 0, "seconds to wait for a message, 0 to 20 (default: the queue's ReceiveMessageWaitTimeSeconds)")
	fl.IntVar(&f.visibility, "visibility-timeout", 0, "seconds to hide them, 0 to 43200 (default: the queue's VisibilityTimeout)")
	fl.StringVar(&f.attempt, "attempt-id", "",
		"ReceiveRequestAttemptId of FIFO queues: with the same id, a repeated receive returns the same messages")
	fl.BoolVar(&f.remove, "delete", false, "delete the messages after printing them")
	return c
}

func receive(cmd *cobra.Command, w *wire, p *printer, f *receiveFlags, name string) error {
	u, err := w.queueURL(cmd.Context(), name)
	if err != nil {
		return err
	}
	in := map[string]any{
		"QueueUrl": u, "MaxNumberOfMessages": f.count,
		"MessageSystemAttributeNames": []string{"All"}, "MessageAttributeNames": []string{"All"},
	}
	if cmd.Flags().Changed("wait") {
		in["WaitTimeSeconds"] = f.wait
	}
	if cmd.Flags().Changed("visibility-timeout") {
		in["VisibilityTimeout"] = f.visibility
	}
	switch {
	case cmd.Flags().Changed("attempt-id"):
		in["ReceiveRequestAttemptId"] = f.attempt
	case len(w.client.addresses) > 1 && strings.HasSuffix(u, ".fifo"):
		// If a node fails after the receive, the next one returns the same messages.
		in["ReceiveRequestAttemptId"] = rand.Text()
	}
	var out struct {
		Messages []struct {
			MessageID         string `json:"MessageId"`
			ReceiptHandle     string
			Body              string
			Attributes        map[string]string
			MessageAttributes map[string]attributeValue
		}
	}
	wait := max(time.Duration(f.wait)*time.Second, 0)
	if !cmd.Flags().Changed("wait") {
		wait = waitMax
	}
	if err := w.call(cmd.Context(), "ReceiveMessage", in, &out, wait); err != nil {
		return err
	}
	messages := make([]message, len(out.Messages))
	handles := make([]string, len(out.Messages))
	for i, m := range out.Messages {
		messages[i] = message(m)
		handles[i] = m.ReceiptHandle
	}
	if err := printMessages(p, messages); err != nil {
		return err
	}
	if !f.remove {
		return nil
	}
	// The JSON document contains only the messages.
	refused, err := w.changeAll(cmd, p, u, handles, deletion)
	if err != nil {
		return err
	}
	return p.changed(refused, len(handles), deletion.past)
}

// waitMax is the longest wait of a receive.
const waitMax = 20 * time.Second

func printMessages(p *printer, messages []message) error {
	if len(messages) == 0 && p.format == formatTable {
		p.say("no message")
		return nil
	}
	return p.print(map[string]any{"messages": messages}, func() table {
		t := table{heading: []string{"MESSAGE ID", "GROUP", "SENT", "RECEIVES", "RECEIPT HANDLE", "BODY"}}
		for _, m := range messages {
			t.add(m.MessageID, orDash(m.Attributes["MessageGroupId"]), clockTime(m.Attributes["SentTimestamp"]),
				m.Attributes["ApproximateReceiveCount"], m.ReceiptHandle, m.Body)
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
