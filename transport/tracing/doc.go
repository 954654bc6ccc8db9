// Package tracing makes OpenTelemetry spans of client requests, and sends them to a collector
// over OTLP/HTTP. A span is made when its request is over, of what the middleware knows of it
// by then; nothing of this is on the way of a request before. Requests never wait for the
// collector: what it does not take in time is dropped and counted.
//
// The names of spans and attributes are those of OpenTelemetry's semantic conventions for
// messaging. A span is linked to the spans that made the messages of its request, where the
// messages name them; nothing is ever written into a message.
package tracing
