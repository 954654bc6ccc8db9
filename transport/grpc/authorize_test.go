package grpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	authgate "github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

const (
	guardedAccount = "000000000000"
	guardedSecret  = "an-example-and-no-secret"
	rootKey        = "SRTMROOT000000000001"
	annaKey        = "SRTMANNA000000000001"
)

// guardedFixture is a port that requires signatures. There is a key of the account, and one of a
// user without permissions.
func guardedFixture(t *testing.T) *fixture {
	t.Helper()
	for _, cmd := range []queue.Command{
		&access.CreateAccessKey{ID: rootKey, Secret: guardedSecret, Account: guardedAccount},
		&access.CreateAccessKey{ID: annaKey, Secret: guardedSecret, Account: guardedAccount, User: "anna"},
	} {
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	}
	return newFixture(t, func(o *Options) {
		g := authgate.New(node, time.Now)
		o.Verifier, o.Authorizer = g, g
	})
}

// signedWith returns the context of a call that is signed with a key.
func (f *fixture) signedWith(ctx context.Context, method, key, secret string) context.Context {
	r := &http.Request{Method: http.MethodPost, Host: f.port.Addr().String(), URL: &url.URL{Path: method}, Header: http.Header{}}
	(&sigv4.Signer{KeyID: key, Secret: secret, Region: "us-east-1", Service: "sqs", Now: time.Now}).SignHead(r)
	for name, values := range r.Header {
		ctx = metadata.AppendToOutgoingContext(ctx, name, values[0])
	}
	return ctx
}

// callAny calls any method for the queue and topic guarded.fifo, and returns the status.
func (f *fixture) callAny(ctx context.Context, method protoreflect.MethodDescriptor, path string) codes.Code {
	f.t.Helper()
	return f.callAbout(ctx, method, path, "guarded.fifo", "")
}

// callAbout is callAny for another name, after a prefix that may contain an account.
func (f *fixture) callAbout(ctx context.Context, method protoreflect.MethodDescriptor, path, name, prefix string) codes.Code {
	f.t.Helper()
	newMessage := func(d protoreflect.MessageDescriptor) proto.Message {
		found, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
		clustertest.Must(f.t, err)
		return found.New().Interface()
	}
	request, answer := newMessage(method.Input()), newMessage(method.Output())
	fill(request.ProtoReflect(), name, prefix)
	if !method.IsStreamingClient() && !method.IsStreamingServer() {
		return status.Code(f.conn.Invoke(ctx, path, request, answer))
	}
	stream, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(request)
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = stream.RecvMsg(answer)
	}
	return status.Code(err)
}

// fill sets the fields of a request that name queues, topics, and other resources.
func fill(m protoreflect.Message, name, prefix string) {
	for field, value := range map[protoreflect.Name]string{
		"queue": prefix + name, "topic": prefix + name, "source": prefix + name, "session_id": "s", "group_id": "g", "id": "1",
		"subscription_arn": "arn:aws:sns:us-east-1:000000000000:" + name + ":00000000-0000-0000-0000-000000000000",
	} {
		if field := m.Descriptor().Fields().ByName(field); field != nil && field.Kind() == protoreflect.StringKind && !field.IsList() {
			m.Set(field, protoreflect.ValueOfString(value))
		}
	}
	if m.Descriptor().Name() == "ExplainRequest" { // about a queue or a topic
		m.Clear(m.Descriptor().Fields().ByName("topic"))
	}
	for _, part := range []protoreflect.Name{"open", "start", "session"} {
		if field := m.Descriptor().Fields().ByName(part); field != nil && field.Message() != nil && !field.IsList() {
			fill(m.Mutable(field).Message(), name, prefix)
		}
	}
}

// TestEveryMethodIsGuarded calls every method without a key, with a wrong signature, as a user
// without permissions, and as the account.
func TestEveryMethodIsGuarded(t *testing.T) {
	f := guardedFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	methods := 0
	for _, service := range services {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		clustertest.Must(t, err)
		list := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			method := list.Get(i)
			path := "/" + service.ServiceName + "/" + string(method.Name())
			methods++
			for _, caller := range []struct {
				name string
				ctx  context.Context
				want codes.Code
			}{
				{"a unauthenticated", ctx, codes.Unauthenticated},
				{"somebody with a wrong secret", f.signedWith(ctx, path, annaKey, guardedSecret+"!"), codes.Unauthenticated},
				{"somebody with a signature for another method", f.signedWith(ctx, path+"x", rootKey, guardedSecret),
					codes.Unauthenticated},
				{"a user without permission", f.signedWith(ctx, path, annaKey, guardedSecret), codes.PermissionDenied},
			} {
				if got := f.callAny(caller.ctx, method, path); got != caller.want {
					t.Errorf("%s calls %s: %v, want %v", caller.name, path, got, caller.want)
				}
			}
			if got := f.callAny(f.signedWith(ctx, path, rootKey, guardedSecret), method, path); got == codes.Unauthenticated ||
				got == codes.PermissionDenied {
				t.Errorf("the account calls %s: %v", path, got)
			}
		}
	}
	if methods != len(methodTable) {
		t.Errorf("%d methods were called, the table has %d", methods, len(methodTable))
	}
}

const (
	tenantAccount = "999999999999"
	tenantKey     = "SRTMTENANT0000000001"
)

// A second account gets the same answers about existing and missing resources of the first one.
func TestASecondAccountSeesNothing(t *testing.T) {
	f := guardedFixture(t)
	for _, cmd := range []queue.Command{
		&access.CreateAccount{Account: tenantAccount},
		&access.CreateAccessKey{ID: tenantKey, Secret: guardedSecret, Account: tenantAccount, Tenant: true},
		&queue.CreateQueue{Queue: "seen.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}},
		&queue.CreateTopic{Topic: "seen.fifo", TopicARN: "arn:aws:sns:us-east-1:000000000000:seen.fifo",
			Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}},
	} {
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// These methods name no queue or topic: they list those of the caller.
	own := map[protoreflect.Name]bool{"ListQueues": true, "ListTopics": true}
	for _, service := range services {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		clustertest.Must(t, err)
		list := found.(protoreflect.ServiceDescriptor).Methods()
		for i := range list.Len() {
			method := list.Get(i)
			path := "/" + service.ServiceName + "/" + string(method.Name())
			call := func(name, prefix string) codes.Code {
				return f.callAbout(f.signedWith(ctx, path, tenantKey, guardedSecret), method, path, name, prefix)
			}
			if own[method.Name()] {
				continue
			}
			for _, name := range []string{"seen.fifo", "missing.fifo"} {
				if got := call(name, guardedAccount+"/"); got != codes.PermissionDenied {
					t.Errorf("%s about %s of another account: %v", path, name, got)
				}
			}
			if seen, missing := call("seen.fifo", ""), call("missing.fifo", ""); seen != missing {
				t.Errorf("%s by its plain name: %v, and %v for one that nobody has", path, seen, missing)
			}
		}
	}
	queues := seriatimpb.NewQueuesClient(f.conn)
	listed, err := queues.ListQueues(f.signedWith(ctx, seriatimpb.Queues_ListQueues_FullMethodName, tenantKey, guardedSecret),
		&seriatimpb.ListQueuesRequest{})
	if err != nil || len(listed.GetQueues()) != 0 {
		t.Errorf("the second account has the queues %v, %v", listed.GetQueues(), err)
	}
	create := &seriatimpb.CreateQueueRequest{Queue: "seen.fifo", Attributes: map[string]string{"FifoQueue": "true"}}
	if _, err := queues.CreateQueue(f.signedWith(ctx, seriatimpb.Queues_CreateQueue_FullMethodName, tenantKey, guardedSecret),
		create); err != nil {
		t.Fatal(err)
	}
	listed, err = queues.ListQueues(f.signedWith(ctx, seriatimpb.Queues_ListQueues_FullMethodName, tenantKey, guardedSecret),
		&seriatimpb.ListQueuesRequest{})
	if err != nil || len(listed.GetQueues()) != 1 || listed.GetQueues()[0] != "seen.fifo" {
		t.Errorf("the second account has the queues %v, %v", listed.GetQueues(), err)
	}
	attributes, err := queues.GetQueueAttributes(f.signedWith(ctx, seriatimpb.Queues_GetQueueAttributes_FullMethodName, tenantKey,
		guardedSecret),
		&seriatimpb.GetQueueAttributesRequest{Queue: "seen.fifo", Names: []string{"QueueArn"}})
	if err != nil || attributes.GetAttributes()["QueueArn"] != "arn:aws:sqs:us-east-1:999999999999:seen.fifo" {
		t.Errorf("got %v, %v", attributes.GetAttributes(), err)
	}
}

const revokedKey = "SRTMREVOKED000000001"

// TestStreamsEndWithTheirPermission revokes what open streams need. In both directions they end
// with the next message, with the error of a new call.
func TestStreamsEndWithTheirPermission(t *testing.T) {
	f := guardedFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	submit := func(cmd queue.Command) {
		t.Helper()
		clustertest.Must(t, clustertest.Err(node.Submit(t.Context(), cmd)))
	}
	policy := access.PutUserPolicy{Account: guardedAccount, User: "otto"}
	permit := policy
	permit.Policy = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"*"}}`
	for _, revoke := range []struct {
		what   string
		cmd    queue.Command
		code   codes.Code
		reason string
	}{
		{"permission", &policy, codes.PermissionDenied, "AccessDenied"},
		{"activity", &access.UpdateAccessKey{ID: revokedKey}, codes.Unauthenticated, sigv4.UnknownKey},
		{"key", &access.DeleteAccessKey{ID: revokedKey}, codes.Unauthenticated, sigv4.UnknownKey},
	} {
		t.Run(revoke.what, func(t *testing.T) {
			name := revoke.what + ".fifo"
			submit(&queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
			submit(&permit)
			submit(&access.CreateAccessKey{ID: revokedKey, Secret: guardedSecret, Account: guardedAccount, User: "otto"})
			defer func() { _, _ = node.Submit(t.Context(), &access.DeleteAccessKey{ID: revokedKey}) }() // it may be deleted already
			signed := func(method string) context.Context { return f.signedWith(ctx, method, revokedKey, guardedSecret) }
			sending, err := f.client.SendStream(signed(seriatimpb.Queues_SendStream_FullMethodName))
			clustertest.Must(t, err)
			clustertest.Must(t, sending.Send(&seriatimpb.SendStreamRequest{Queue: name}))
			clustertest.Must(t, clustertest.Err(sending.Recv()))
			consuming := f.consume(signed(seriatimpb.Queues_Consume_FullMethodName), &seriatimpb.ConsumeOpen{Queue: name, Credit: 10})
			// A change that revokes nothing ends no stream.
			submit(&access.PutUserPolicy{Account: guardedAccount, User: "anna", Policy: permit.Policy})
			submit(&access.PutUserPolicy{Account: guardedAccount, User: "anna"})
			if err := sending.Send(&seriatimpb.SendStreamRequest{FirstNumber: 1,
				Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("g", "first")}}); err != nil {
				t.Fatal(err)
			}
			if out, err := sending.Recv(); err != nil || out.GetResults()[0].GetFailure() != nil {
				t.Fatal(out, err)
			}
			consuming.sendSettlement(seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, 0, consuming.messages(1)...)
			if out := consuming.next(); out.GetSettled() == nil {
				t.Fatal(out)
			}
			submit(revoke.cmd)
			if err := sending.Send(&seriatimpb.SendStreamRequest{FirstNumber: 2,
				Messages: []*seriatimpb.OutgoingMessage{outgoingMessage("h", "late")}}); err != nil {
				t.Fatal(err)
			}
			_, err = sending.Recv()
			wantStatus(t, err, revoke.code, revoke.reason)
			// The receive that already waits delivers one more message, and is the last one.
			submit(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{{
				Body: "last", GroupID: "g", GroupIDGiven: true, DeduplicationID: "last", DeduplicationIDGiven: true,
			}}})
			for err = nil; err == nil; {
				_, err = consuming.stream.Recv()
			}
			wantStatus(t, err, revoke.code, revoke.reason)
		})
	}
}

// TestUnauthenticatedCallsAreMarked checks that the record of a call reports that it had no valid
// key.
func TestUnauthenticatedCallsAreMarked(t *testing.T) {
	f := guardedFixture(t)
	for method, c := range map[string]struct {
		key, secret     string
		unauthenticated bool
	}{
		"PurgeQueue":         {"", "", true},
		"DeleteQueue":        {rootKey, "wrong", true},
		"ListQueueTags":      {annaKey, guardedSecret, false},
		"GetQueueAttributes": {rootKey, guardedSecret, false}, // authenticated, but the queue does not exist
	} {
		ctx, path := t.Context(), "/seriatim.v1.Queues/"+method
		if c.key != "" {
			ctx = f.signedWith(ctx, path, c.key, c.secret)
		}
		// In each of these requests the first field is the queue.
		err := f.conn.Invoke(ctx, path, &seriatimpb.PurgeQueueRequest{Queue: "none"}, &seriatimpb.PurgeQueueResponse{})
		if record := f.observed.last(t, method); err == nil || record.Unauthenticated != c.unauthenticated {
			t.Errorf("%s: %v, %+v", method, err, record)
		}
	}
}
