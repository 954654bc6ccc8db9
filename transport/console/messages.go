package console

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// messageRow is a message in a list.
type messageRow struct {
	ID, Sequence, Group, Dedup, State string
	Tone                              string // of the state
	Preview                           string
	Bytes                             int
	Sent, Visible, FirstReceived      int64
	Receives                          int64
	Sender, Source, Trace             string
	Attributes                        []attributeRow
	Body                              string
	URL                               string
}

// attributeRow is a message attribute.
type attributeRow struct{ Name, Type, Value string }

var messageStates = map[seriatimpb.MessageState][2]string{
	seriatimpb.MessageState_MESSAGE_STATE_VISIBLE:   {"visible", "ok"},
	seriatimpb.MessageState_MESSAGE_STATE_IN_FLIGHT: {"in flight", "flight"},
	seriatimpb.MessageState_MESSAGE_STATE_DELAYED:   {"delayed", "delayed"},
	seriatimpb.MessageState_MESSAGE_STATE_SCHEDULED: {"scheduled", "delayed"},
	seriatimpb.MessageState_MESSAGE_STATE_DEFERRED:  {"deferred", "delayed"},
}

// previewLength is the number of characters of a body in a list.
const previewLength = 120

func messageOf(queue string, m *seriatimpb.PeekedMessage) messageRow {
	in := m.GetMessage()
	body := bodyOf(in)
	row := messageRow{
		ID: in.GetMessageId(), Group: in.GetGroupId(), Dedup: in.GetDeduplicationId(), State: messageStates[m.GetState()][0],
		Tone: messageStates[m.GetState()][1], Preview: line(previewLength, body), Bytes: len(body), Sent: in.GetSentAtMs(),
		Visible: m.GetVisibleAtMs(), FirstReceived: in.GetFirstReceivedAtMs(), Receives: in.GetReceiveCount(), Sender: in.GetSenderId(),
		Source: in.GetDeadLetterSource(), Trace: in.GetTraceHeader(), Body: body, URL: messageURL(queue, in.GetSequenceNumber()),
	}
	if n := in.GetSequenceNumber(); n != 0 {
		row.Sequence = strconv.FormatUint(n, 10)
	}
	for _, name := range slices.Sorted(maps.Keys(in.GetAttributes())) {
		a := in.GetAttributes()[name]
		value := a.GetText()
		if binary := a.GetBinary(); binary != nil {
			value = fmt.Sprintf("% x", binary[:min(len(binary), previewLength)])
		}
		row.Attributes = append(row.Attributes, attributeRow{Name: name, Type: a.GetDataType(), Value: value})
	}
	return row
}

// bodyOf returns the body of a message in any format. That of an AMQP message without data is encoded.
func bodyOf(m *seriatimpb.Message) string {
	switch {
	case m.GetFormat() == seriatimpb.MessageFormat_MESSAGE_FORMAT_TEXT:
		return m.GetBody()
	case len(m.GetBodyBytes()) == 0:
		return string(m.GetAmqp().GetBody())
	}
	return string(m.GetBodyBytes())
}

func messageURL(queue string, sequence uint64) string {
	return queueURL(queue) + "/message?seq=" + strconv.FormatUint(sequence, 10)
}

// messagesPage lists stored messages.
type messagesPage struct {
	queueHead
	Rows        []messageRow
	From, Group string
	Next        string // URL of the next page
	Find        findForm
	Scanned     int64
	Filtered    bool
}

// messagesShown is the number of messages of a page.
const messagesShown = 50

func (p *page) queueMessages() {
	h, ok := p.queue("messages")
	if !ok {
		return
	}
	q := p.r.URL.Query()
	data := messagesPage{queueHead: h, From: q.Get("from"), Find: formOf(q)}
	list := p.listMessages
	if !data.Find.empty() {
		list = p.findMessages
	}
	if err := list(&data); err != nil {
		p.fail(err)
		return
	}
	p.render("queue-messages", h.Name, data)
}

// Command finds the same messages.
func (d messagesPage) Command() string {
	return command(append([]string{"msg", "find", d.Name}, d.Find.words()...)...)
}

// States lists the states of the filter.
func (messagesPage) States() []string {
	return []string{"visible", "in flight", "delayed", "scheduled", "deferred"}
}

// listMessages fills in a page of messages.
func (p *page) listMessages(data *messagesPage) error {
	from, err := uint64(0), error(nil)
	if data.From != "" {
		if from, err = strconv.ParseUint(data.From, 10, 64); err != nil {
			return fmt.Errorf("from must be a sequence number, not %q", line(60, data.From))
		}
	}
	out, err := p.messagesAPI(data.Name).Peek(p.r.Context(), &seriatimpb.PeekRequest{
		Queue: p.called(data.Name), FromSequenceNumber: from, GroupId: data.Find.Group, MaxMessages: messagesShown,
	})
	if err != nil {
		return err
	}
	for _, m := range out.GetMessages() {
		data.Rows = append(data.Rows, messageOf(data.Name, m))
	}
	if next := out.GetNextSequenceNumber(); next != 0 {
		data.Next = p.next("from", strconv.FormatUint(next, 10))
	}
	return nil
}

// next returns the URL of this list from another position.
func (p *page) next(name, value string) string {
	q := url.Values{}
	for key, values := range p.r.URL.Query() {
		q[key] = values
	}
	q.Set(name, value)
	return p.r.URL.Path + "?" + q.Encode()
}

// messagePage shows one message.
type messagePage struct {
	queueHead
	Message messageRow
	Views   []bodyView
	View    string
	Text    string
	Binary  bool
	Events  []event
	// Explained is the state of the message.
	Explained explanation
}

// bodyView is a way to show a body.
type bodyView struct{ Name, Title, URL string }

// event is a point of a timeline.
type event struct {
	At     int64
	Text   string
	Future bool
}

func (p *page) message() {
	h, ok := p.queue("messages")
	if !ok {
		return
	}
	seq, err := strconv.ParseUint(p.r.URL.Query().Get("seq"), 10, 64)
	if err != nil {
		p.problem(400, "A message has a sequence number, such as seq=10000000000000000001.")
		return
	}
	out, err := p.messagesAPI(h.Name).Peek(p.r.Context(), &seriatimpb.PeekRequest{
		Queue: p.called(h.Name), FromSequenceNumber: seq, MaxMessages: 1,
	})
	if err != nil {
		p.fail(err)
		return
	}
	if len(out.GetMessages()) == 0 || out.GetMessages()[0].GetMessage().GetSequenceNumber() != seq {
		p.problem(404, "The message is no longer in this queue: it was deleted, moved or has expired. A group that waited for it goes on.")
		return
	}
	data := messagePage{queueHead: h, Message: messageOf(h.Name, out.GetMessages()[0])}
	p.crumbs = append(p.crumbs, crumb{"Messages", h.URL("/messages")})
	data.show(p.r.URL.Query().Get("view"))
	data.Explained = p.explain(h.Name, &seriatimpb.ExplainRequest{
		Queue:   p.called(h.Name),
		Subject: &seriatimpb.ExplainRequest_Message{Message: &seriatimpb.MessageSelector{SequenceNumber: seq}},
	})
	if data.Events = data.Explained.Events; len(data.Events) == 0 {
		data.Events = data.timeline()
	}
	p.render("message", "Message", data)
}

// show renders the body in a view; empty: the best one.
func (d *messagePage) show(view string) {
	body := d.Message.Body
	indented, isJSON := pretty(body)
	d.Binary = !utf8.ValidString(body) || strings.ContainsFunc(body, func(r rune) bool {
		return r < ' ' &&
			!strings.ContainsRune("\t\r\n", r)
	})
	if view == "" || view == "json" && !isJSON {
		view = map[bool]string{true: "json", false: "text"}[isJSON]
	}
	if isJSON {
		d.Views = append(d.Views, bodyView{"json", "JSON", ""})
	}
	d.Views = append(d.Views, bodyView{"text", "Text", ""}, bodyView{"hex", "Hex", ""})
	for i := range d.Views {
		d.Views[i].URL = d.Message.URL + "&view=" + d.Views[i].Name
	}
	switch d.View = view; view {
	case "json":
		d.Text = indented
	case "hex":
		d.Text = dump(body)
	default:
		d.View, d.Text = "text", harmless(body)
	}
}

// timeline returns what the state tells about the life of a message.
func (d *messagePage) timeline() []event {
	m := d.Message
	list := []event{{At: m.Sent, Text: "Sent"}}
	if m.Source != "" {
		list = append(list, event{At: m.Sent, Text: "Moved here from " + m.Source + ", because it was received too often"})
	}
	if m.FirstReceived != 0 {
		list = append(list, event{At: m.FirstReceived, Text: "Received for the first time"})
	}
	if m.Receives > 1 {
		list = append(list, event{Text: fmt.Sprintf("Received %d times in total", m.Receives)})
	}
	if m.Visible > d.Now {
		list = append(list, event{At: m.Visible, Future: true, Text: "Becomes visible, unless it is deleted or extended before"})
	}
	if seconds, err := strconv.ParseInt(d.Attributes["MessageRetentionPeriod"], 10, 64); err == nil && m.State != "deferred" {
		list = append(list, event{At: m.Sent + 1000*seconds, Future: true, Text: "Expires: the retention period of the queue ends"})
	}
	return list
}
