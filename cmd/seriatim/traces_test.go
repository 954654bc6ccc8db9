package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	grpcclient "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/tracing/tracingtest"
)

// The server's spans are in the trace of a tracing client. The span of the receive links to that of
// the producer, and messages stay unchanged.
func TestServerTraces(t *testing.T) {
	const (
		sender, senderSpan     = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
		receiver, receiverSpan = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		header                 = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	)
	collector := tracingtest.Start(t)
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "--trace-ratio", "0")
	p.err.wait(t, `"msg":"ready"`, 1)
	client := sqs.New(sqs.Options{
		BaseEndpoint: aws.String(endpoint(base, 1)), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
	})
	tracedBy := func(trace, span string) func(*sqs.Options) {
		return sqs.WithAPIOptions(smithyhttp.AddHeaderValue("traceparent", "00-"+trace+"-"+span+"-01"))
	}
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("orders")}) // untraced
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[string]types.MessageAttributeValue{"traceparent": {DataType: aws.String("String"),
		StringValue: aws.String("00-" + sender + "-" + senderSpan + "-01")}}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: made.QueueUrl, MessageBody: aws.String("hello"), MessageAttributes: attributes,
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"),
			StringValue: aws.String(header)}},
	}, tracedBy(sender, senderSpan)); err != nil {
		t.Fatal(err) // the SDK compares the digests
	}
	got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: made.QueueUrl, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"AWSTraceHeader"},
	}, tracedBy(receiver, receiverSpan))
	if err != nil || len(got.Messages) != 1 {
		t.Fatal(got, err)
	}
	m := got.Messages[0]
	if m.Attributes["AWSTraceHeader"] != header || len(m.MessageAttributes) != 1 {
		t.Errorf("the message has the attributes %v and %v", m.Attributes, m.MessageAttributes)
	}
	if _, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: made.QueueUrl, ReceiptHandle: aws.String("wrong")},
		tracedBy(receiver, receiverSpan)); err == nil {
		t.Error("a wrong receipt handle was accepted")
	}
	p.signal(t, syscall.SIGTERM) // which exports what waits
	if code := p.wait(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var spans []string
	all, _ := collector.Spans()
	for _, s := range all {
		text := s.GetName() + " in " + hex.EncodeToString(s.GetTraceId()) + " below " + hex.EncodeToString(s.GetParentSpanId()) + " " +
			s.GetStatus().GetMessage()
		for _, l := range s.GetLinks() {
			text += fmt.Sprintf(" from %x %x %s", l.GetTraceId(), l.GetSpanId(),
				tracingtest.Attributes(l.GetAttributes())["messaging.message.id"])
		}
		spans = append(spans, text)
	}
	want := strings.Join([]string{
		"send orders in " + sender + " below " + senderSpan + "  from " + sender + " " + senderSpan + " ",
		"receive orders in " + receiver + " below " + receiverSpan + "  from " + sender + " " + senderSpan + " " + *m.MessageId,
		"settle orders in " + receiver + " below " + receiverSpan + " ReceiptHandleIsInvalid",
	}, "\n")
	if got := strings.Join(spans, "\n"); got != want {
		t.Errorf("the spans are\n%s\nwant\n%s", got, want)
	}
}

// Calls of the native API have spans, too.
func TestServerTracesGRPC(t *testing.T) {
	collector := tracingtest.Start(t)
	base := freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), []string{"OTEL_BSP_SCHEDULE_DELAY=20"}, "--otlp-endpoint", collector.URL)
	p.err.wait(t, `"msg":"ready"`, 1)
	c, err := grpcclient.Dial(grpcclient.Options{RetryFor: -1}, strings.TrimPrefix(endpoint(base, 1), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreateQueue(t.Context(), "q.fifo", nil, nil); err != nil {
		t.Fatal(err)
	}
	group := "g"
	header := "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	if _, err := c.Send(t.Context(), "q.fifo", &grpcclient.Message{Body: "hello", GroupId: &group, TraceHeader: header}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.Consume(ctx, "q.fifo", grpcclient.ConsumeOptions{}, func(context.Context, *grpcclient.Delivery) error {
		cancel()
		return nil
	}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	spans := collector.Await(t, "CreateQueue q.fifo", "send q.fifo", "receive q.fifo")
	for _, s := range spans[1:] {
		if len(s.GetLinks()) != 1 || hex.EncodeToString(s.GetLinks()[0].GetSpanId()) != "53995c3f42cd8ad8" {
			t.Errorf("%s has the links %v", s.GetName(), s.GetLinks())
		}
	}
	if a := tracingtest.Attributes(spans[1].GetAttributes()); a["rpc.method"] != "Send" || a["messaging.batch.message_count"] != "1" {
		t.Errorf("the send has the attributes %v", a)
	}
}
