package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/seriatimq/seriatim/transport/service"
)

const (
	send       = "send"
	receive    = "receive"
	settlement = "settle"
)

// operations has the operation of each action on messages, in the terms of the conventions. Spans of
// other actions have the name of the action.
var operations = map[string]string{
	"SendMessage": send, "SendMessageBatch": send, "Publish": send, "PublishBatch": send,
	"Send": send, "SendStream": send, "PublishStream": send, "ScheduleMessages": send,
	"ReceiveMessage": receive, "Receive": receive, "Consume": receive, "ReceiveDeferred": receive,
	"DeleteMessage": settlement, "DeleteMessageBatch": settlement, "Delete": settlement,
	"ChangeMessageVisibility": settlement, "ChangeMessageVisibilityBatch": settlement, "ChangeVisibility": settlement,
	"Complete": settlement, "Abandon": settlement, "Renew": settlement, "Defer": settlement, "DeadLetter": settlement,
}

// spanName returns the operation of a request and its queue or topic.
func spanName(r *service.Request) string {
	name, known := operations[r.Action]
	switch {
	case known:
	case r.Action == "":
		name = "unknown action"
	default:
		name = r.Action
	}
	if on := destination(r); on != "" {
		return name + " " + on
	}
	return name
}

// destination returns the queue or topic of a request.
func destination(r *service.Request) string {
	if r.Queue != "" {
		return r.Queue
	}
	return r.Topic
}

// describe adds the attributes of a request to its span.
func describe(ctx context.Context, span trace.Span, r *service.Request) {
	attributes := make([]attribute.KeyValue, 0, 9)
	if r.Queue == "" && r.Topic != "" {
		attributes = append(attributes, semconv.MessagingSystemAWSSNS)
	} else {
		attributes = append(attributes, semconv.MessagingSystemAWSSQS)
	}
	if on := destination(r); on != "" {
		attributes = append(attributes, semconv.MessagingDestinationName(on))
	}
	if operation, known := operations[r.Action]; known {
		attributes = append(attributes, semconv.MessagingOperationName(operation), semconv.MessagingOperationTypeKey.String(operation))
	}
	if n, batch := r.Trace.Messages(); batch {
		attributes = append(attributes, semconv.MessagingBatchMessageCount(n))
	}
	attributes = append(attributes, semconv.RPCMethod(r.Action), semconv.AWSRequestID(r.ID), semconv.HTTPResponseStatusCode(r.Status))
	if r.Code != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(r.Code))
		span.SetStatus(codes.Error, r.Code)
	}
	span.SetAttributes(attributes...)
	for _, l := range r.Trace.Links() {
		if link, ok := linkTo(ctx, l); ok {
			span.AddLink(link)
		}
	}
}
