package ops

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const (
	peekDefault = 10
	peekMax     = 1000
)

// named returns the name of the queue or topic in a path, as in the state. The path may have the account
// of the cluster before the name, as a URL does.
func (a *Admin) named(r *http.Request) string {
	return strings.TrimPrefix(r.PathValue("name"), a.Account+"/")
}

func (a *Admin) peek(w http.ResponseWriter, r *http.Request) {
	name, parameters := a.named(r), r.URL.Query()
	limit, ok := a.page(w, parameters, peekDefault, peekMax)
	if !ok {
		return
	}
	var from queue.SequenceNumber
	if text := parameters.Get("from"); text != "" {
		n, ok := identifier.ParseSequenceNumber(text)
		if !ok {
			a.fail(w, http.StatusBadRequest, "from is no sequence number: "+refusal.Echo(text))
			return
		}
		from = n
	}
	var messages []queue.PeekedMessage
	var bodies message.Reader
	_, err := a.Node.Read(r.Context(), func(v queue.View) error {
		var refused *queue.Error
		bodies = v.Bodies()
		if messages, refused = v.Peek(name, from, parameters.Get("group"), limit+1); refused != nil {
			return refused
		}
		return nil
	})
	var out document.Peek
	if err == nil {
		out, err = a.peeked(name, messages, limit, bodies)
	}
	a.answerRead(w, r, err, out)
}

// peeked returns the answer with up to limit messages, and reads their bodies.
func (a *Admin) peeked(name string, messages []queue.PeekedMessage, limit int, bodies message.Reader) (document.Peek, error) {
	out := document.Peek{Queue: name, Messages: make([]document.Message, 0, len(messages))}
	bytes := 0
	for i := range messages {
		m := &messages[i]
		bytes += m.Body.Len()
		if out.Truncated = bytes > a.PeekBytesMax && i > 0 && i < limit; out.Truncated || i == limit {
			out.Next = m.Sequence.String()
			break
		}
		body, err := bodies.Read(m.Body)
		if err != nil {
			return out, err
		}
		content := rendition.Message{Body: body.String(), Attributes: m.Attributes, Encoded: m.Encoded}
		text, _ := content.Payload()
		encoding := ""
		if message.BadCharacter(text) {
			text, encoding = base64.StdEncoding.EncodeToString([]byte(text)), rendition.EncodingBase64
		}
		p := document.Message{
			MessageID: m.MessageID.String(), GroupID: m.GroupID, DeduplicationID: m.DeduplicationID, State: m.State,
			SentAtMs: int64(m.SentAt), VisibleAtMs: int64(m.VisibleAt), FirstReceivedMs: int64(m.FirstReceivedAt),
			ReceiveCount: m.ReceiveCount, SenderID: m.SenderID, DeadLetterSource: m.DeadLetterSource, Body: text,
			BodyEncoding: encoding,
		}
		if m.Sequence != 0 {
			p.SequenceNumber = m.Sequence.String()
		}
		for _, attribute := range content.All() {
			p.Attributes = append(p.Attributes, document.MessageAttribute{Name: attribute.Name, DataType: attribute.DataType,
				Value: []byte(attribute.Value)})
		}
		out.Messages = append(out.Messages, p)
	}
	return out, nil
}
