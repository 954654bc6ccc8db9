package notification

import (
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Request is what is posted to a subscriber over HTTP: a notification, or a request to
// confirm the subscription.
type Request struct {
	TopicARN        string
	SubscriptionARN string
	ContentType     string
	Raw             bool          // the body is the message as it was published
	Notification    *Notification // nil for a Confirmation
	Confirmation    *Confirmation
}

// Confirmation asks a subscriber whether it wants to be one.
type Confirmation struct {
	MessageID identifier.MessageID
	Token     string
	Server    string // URL of the server, without a slash at its end
	At        logtime.Timestamp
}

// Kind is the value of the header x-amz-sns-message-type.
func (r *Request) Kind() string {
	if r.Confirmation != nil {
		return "SubscriptionConfirmation"
	}
	return "Notification"
}

// MessageID is that of the notification, or of the request to confirm.
func (r *Request) MessageID() identifier.MessageID {
	if r.Confirmation != nil {
		return r.Confirmation.MessageID
	}
	return r.Notification.MessageID
}

// Body is the content to post.
func (r *Request) Body() string {
	switch {
	case r.Confirmation != nil:
		var w writer
		r.Confirmation.write(&w, r.TopicARN)
		return w.text.String()
	case r.Raw:
		return r.Notification.Message.String()
	}
	return r.Notification.Envelope(Delivery{SubscriptionARN: r.SubscriptionARN})
}

// write writes the members that SNS documents for a request to confirm, in their order.
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
