package transport

import (
	"context"
	"net/http"
	"sync"

	"github.com/seriatimq/seriatim/queue"
)

// Tracer makes spans of requests. It is called from many goroutines.
type Tracer interface {
	// Trace makes the span of a request that is over.
	Trace(context.Context, *Request)
}

// Spans are how many spans came to which end.
type Spans struct {
	Exported uint64
	Failed   uint64 // the collector did not take them
	Dropped  uint64 // too many waited for the collector
}

// linksMax bounds the messages of one request that its span is linked to, as
// OpenTelemetry does: streams have no end of messages.
const linksMax = 128

// traceAttribute is the message attribute that carries a W3C trace context.
const traceAttribute = "traceparent"

// Trace is what the span of a request says beside the Request. All of its methods do nothing
// on nil, which is what requests have that are not traced. Safe for concurrent use.
type Trace struct {
	Header http.Header // of the request, until it is over

	mu       sync.Mutex
	batch    bool
	messages int
	links    []Link
}

// Link is what a message says of the span that made it.
type Link struct {
	MessageID   string // empty while it has none
	Traceparent string // W3C; empty: none
	XRay        string // system attribute AWSTraceHeader; empty: none
}

// keepHeader keeps the header of a request that is suspended.
func (t *Trace) keepHeader() {
	if t != nil {
		t.Header = t.Header.Clone()
	}
}

// Batch notes that the request is about n more messages, of which it may have any number.
func (t *Trace) Batch(n int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batch = true
	t.messages += n
}

// Sent notes the messages of a send.
func (t *Trace) Sent(entries []queue.SendEntry) {
	if t == nil {
		return
	}
	for i := range entries {
		t.link("", entries[i].TraceHeader, entries[i].Attributes)
	}
}

// Published notes the messages of a publish.
func (t *Trace) Published(entries []queue.PublishEntry) {
	if t == nil {
		return
	}
	for i := range entries {
		t.link("", entries[i].TraceHeader, entries[i].Attributes)
	}
}

// Received notes the messages of a receive.
func (t *Trace) Received(messages []queue.ReceivedMessage) {
	if t == nil {
		return
	}
	t.Batch(len(messages))
	for i := range messages {
		t.link(messages[i].MessageID.String(), messages[i].TraceHeader, messages[i].Attributes)
	}
}

// link notes a message if it says anything of the span that made it.
func (t *Trace) link(id, xray string, attributes []queue.MessageAttribute) {
	l := Link{MessageID: id, XRay: xray}
	for i := range attributes {
		if attributes[i].Name == traceAttribute {
			l.Traceparent = attributes[i].Value
		}
	}
	if l.XRay == "" && l.Traceparent == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.links) < linksMax {
		t.links = append(t.links, l)
	}
}

// Links are the messages of the request that say what span made them.
func (t *Trace) Links() []Link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.links
}

// Messages is how many messages the request was about; batch is false if it could have but one.
func (t *Trace) Messages() (n int, batch bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages, t.batch
}
