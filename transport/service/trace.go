package service

import (
	"context"
	"sync"

	"github.com/seriatimq/seriatim/queue"
)

// Tracer makes spans of calls. Safe for concurrent use.
type Tracer interface {
	// Trace makes the span of a call that is over.
	Trace(context.Context, *Request)
}

// Spans counts the spans of a node by outcome.
type Spans struct {
	Exported uint64
	Failed   uint64 // the collector refused them
	Dropped  uint64 // too many waited for the collector
}

// Header reads the metadata of a request, such as the header of an HTTP request.
type Header interface{ Get(name string) string }

// linksMax bounds the links of one span, as OpenTelemetry does. A stream can carry any number of
// messages.
const linksMax = 128

// traceAttribute names the message attribute that carries a W3C trace context.
const traceAttribute = "traceparent"

// Trace collects what the span of a call shows beside its Request. A nil *Trace belongs to a call
// that is not traced; its methods do nothing. Safe for concurrent use.
type Trace struct {
	Header Header // of the request, until it is over

	mu       sync.Mutex
	batch    bool
	messages int
	links    []Link
}

// Link names the span in which a message was sent.
type Link struct {
	MessageID   string // empty while it has none
	Traceparent string // W3C; empty: none
	XRay        string // system attribute AWSTraceHeader; empty: none
}

// Batch counts n more messages of a call that can have several.
func (t *Trace) Batch(n int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batch = true
	t.messages += n
}

// Sent links the messages of a send.
func (t *Trace) Sent(entries []queue.SendEntry) {
	if t == nil {
		return
	}
	for i := range entries {
		t.link("", entries[i].TraceHeader, entries[i].Attributes)
	}
}

// Published links the messages of a publish.
func (t *Trace) Published(entries []queue.PublishEntry) {
	if t == nil {
		return
	}
	for i := range entries {
		t.link("", entries[i].TraceHeader, entries[i].Attributes)
	}
}

// Received counts and links the messages of a receive.
func (t *Trace) Received(messages []queue.ReceivedMessage) {
	if t == nil {
		return
	}
	t.Batch(len(messages))
	for i := range messages {
		t.link(messages[i].MessageID.String(), messages[i].TraceHeader, messages[i].Attributes)
	}
}

// link adds a link to the span in which a message was sent, if the message names it.
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

// Links returns the links to the spans in which the messages of the call were sent.
func (t *Trace) Links() []Link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.links
}

// Messages returns the number of messages of the call; batch is false if it can have only one.
func (t *Trace) Messages() (n int, batch bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.messages, t.batch
}
