// Package tracing makes OpenTelemetry spans of client requests and sends them to a collector
// over OTLP/HTTP. A span is made when its request is over. Requests never wait for the
// collector: a span that it does not take in time is dropped and counted.
//
// The names of spans and attributes are those of OpenTelemetry's semantic conventions for
// messaging. A span is linked to the spans of the messages in its request, if the messages name
// them. Messages are never changed.
package tracing
