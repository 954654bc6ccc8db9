package notification

import (
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Request is an HTTP request to a subscriber: a notification, or a request to confirm the
// subscription.
type Request struct {
	TopicARN        string
	SubscriptionARN string
	ContentType     string
	Raw             bool          // the body is the message itself
	Notification    *Notification // nil for a Confirmation
	Confirmation    *Confirmation
}

// Confirmation is a request to confirm a subscription.
type Confirmation struct {
	MessageID identifier.MessageID
	Token     string
	Server    string // URL of the server, without a trailing slash
	At        logtime.Timestamp
}

// Kind returns the value of the header x-amz-sns-message-type.
func (r *Request) Kind() string {
	if r.Confirmation != nil {
		return "SubscriptionConfirmation"
	}
	return "Notification"
}

// MessageID returns the id of the notification or confirmation.
func (r *Request) MessageID() identifier.MessageID {
	if r.Confirmation != nil {
		return r.Confirmation.MessageID
	}
	return r.Notification.MessageID
}

// Body returns the content of the request.
func (r *Request) Body() string {
	switch {
	case r.Confirmation != nil:
		var w writer
		r.Confirmation.write(&w, r.TopicARN)
		return w.text.String()
	case r.Raw:
		return r.Notification.Payload()
	}
	return r.Notification.Envelope(Delivery{SubscriptionARN: r.SubscriptionARN})
}

// write writes the documented members of a confirmation, in the order of SNS.
func (c *Confirmation) write(w *writer, topicARN string) {
	var scratch [64]byte // longer than any id and time
	w.plain(`{"Type":"SubscriptionConfirmation","MessageId":"`)
	w.bytes(c.MessageID.Append(scratch[:0]))
	w.plain(`","Token":"`)
	w.escaped(c.Token)
	w.plain(`","TopicArn":"`)
	w.escaped(topicARN)
	w.plain(`","Message":"You have chosen to subscribe to the topic `)
	w.escaped(topicARN)
	w.plain(`.\nTo confirm the subscription, visit the SubscribeURL included in this message.","SubscribeURL":"`)
	w.escaped(c.Server)
	w.plain(`/?Action=ConfirmSubscription&TopicArn=`)
	w.escaped(topicARN)
	w.plain(`&Token=`)
	w.escaped(c.Token)
	w.plain(`","Timestamp":"`)
	w.bytes(c.At.AppendRFC3339(scratch[:0]))
	w.plain(`"}`)
}
