package grpc

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestQueues(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	name := f.create(map[string]string{"VisibilityTimeout": "45"})
	listed, err := f.client.ListQueues(ctx, &seriatimpb.ListQueuesRequest{Prefix: name})
	if err != nil || !slices.Equal(listed.GetQueues(), []string{name}) {
		t.Errorf("listed %v, %v", listed, err)
	}
	if _, err := f.client.SetQueueAttributes(ctx, &seriatimpb.SetQueueAttributesRequest{Queue: name,
		Attributes: map[string]string{"VisibilityTimeout": "46"}}); err != nil {
		t.Error(err)
	}
	read, err := f.client.GetQueueAttributes(ctx, &seriatimpb.GetQueueAttributesRequest{Queue: name,
		Names: []string{"VisibilityTimeout", "QueueArn"}})
	want := map[string]string{"VisibilityTimeout": "46", "QueueArn": "arn:aws:sqs:us-east-1:000000000000:" + name}
	if diff := cmp.Diff(want, read.GetAttributes()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if read, err = f.client.GetQueueAttributes(ctx, &seriatimpb.GetQueueAttributesRequest{Queue: name}); err != nil ||
		read.GetAttributes()["ApproximateNumberOfMessages"] != "0" {
		t.Errorf("all attributes: %v %v", read, err)
	}
	if _, err := f.client.TagQueue(ctx, &seriatimpb.TagQueueRequest{Queue: name, Tags: map[string]string{"a": "1", "b": "2"}}); err != nil {
		t.Error(err)
	}
	if _, err := f.client.UntagQueue(ctx, &seriatimpb.UntagQueueRequest{Queue: name, Keys: []string{"a", "a", "x"}}); err != nil {
		t.Error(err)
	}
	tags, err := f.client.ListQueueTags(ctx, &seriatimpb.ListQueueTagsRequest{Queue: name})
	if diff := cmp.Diff(map[string]string{"b": "2"}, tags.GetTags()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := f.client.AddPermission(ctx, &seriatimpb.AddPermissionRequest{Queue: name, Label: "l",
		AccountIds: []string{"111122223333"}, Actions: []string{"SendMessage"}}); err != nil {
		t.Error(err)
	}
	if read, err = f.client.GetQueueAttributes(ctx, &seriatimpb.GetQueueAttributesRequest{Queue: name,
		Names: []string{"Policy"}}); err != nil || read.GetAttributes()["Policy"] == "" {
		t.Errorf("policy %v %v", read, err)
	}
	clustertest.Check(t, clustertest.Err(f.client.RemovePermission(ctx, &seriatimpb.RemovePermissionRequest{Queue: name, Label: "l"})))
	f.send(name, "g", "m")
	clustertest.Check(t, clustertest.Err(f.client.PurgeQueue(ctx, &seriatimpb.PurgeQueueRequest{Queue: name})))
	if got := f.receive(name).GetMessages(); len(got) != 0 {
		t.Errorf("after the purge: %v", bodies(got))
	}
	clustertest.Check(t, clustertest.Err(f.client.DeleteQueue(ctx, &seriatimpb.DeleteQueueRequest{Queue: name})))
	_, err = f.client.DeleteQueue(ctx, &seriatimpb.DeleteQueueRequest{Queue: name})
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
}

func TestPages(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	dead := f.create(map[string]string{"FifoQueue": "false"})
	var sources []string
	for range 3 {
		sources = append(sources, f.create(map[string]string{
			"FifoQueue": "false", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + dead +
				`","maxReceiveCount":2}`,
		}))
	}
	slices.Sort(sources)
	var got []string
	in := &seriatimpb.ListDeadLetterSourcesRequest{Queue: dead, PageSize: 2}
	for {
		out, err := f.client.ListDeadLetterSources(ctx, in)
		clustertest.Must(t, err)
		got = append(got, out.GetQueues()...)
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			break
		}
	}
	if !slices.Equal(got, sources) {
		t.Errorf("got %v, want %v", got, sources)
	}
	_, err := f.client.ListDeadLetterSources(ctx, &seriatimpb.ListDeadLetterSourcesRequest{Queue: dead, PageToken: "x"})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
	_, err = f.client.ListQueues(ctx, &seriatimpb.ListQueuesRequest{PageSize: 1001})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
}

func TestMoveTasks(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	dead, source := f.create(map[string]string{"FifoQueue": "false"}), ""
	source = f.create(map[string]string{
		"FifoQueue": "false", "RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + dead +
			`","maxReceiveCount":2}`,
	})
	if _, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: dead,
		Messages: []*seriatimpb.OutgoingMessage{{Body: "m"}}}); err != nil {
		t.Fatal(err)
	}
	started, err := f.client.StartMoveTask(ctx, &seriatimpb.StartMoveTaskRequest{Source: dead, Destination: source})
	if err != nil || started.GetTaskId() == "" {
		t.Fatalf("%v %v", started, err)
	}
	out, err := f.client.Receive(ctx, &seriatimpb.ReceiveRequest{Queue: source, WaitSeconds: new(int32(20))})
	if err != nil || !slices.Equal(bodies(out.GetMessages()), []string{"m"}) || out.GetAttemptId() != "" {
		t.Errorf("%v %v", out, err)
	}
	tasks, err := f.client.ListMoveTasks(ctx, &seriatimpb.ListMoveTasksRequest{Source: dead})
	if err != nil || len(tasks.GetTasks()) != 1 || tasks.GetTasks()[0].GetSource() != dead ||
		tasks.GetTasks()[0].GetDestination() != source {
		t.Errorf("%v %v", tasks, err)
	}
	_, err = f.client.CancelMoveTask(ctx, &seriatimpb.CancelMoveTaskRequest{Source: dead, TaskId: "none"})
	wantStatus(t, err, codes.NotFound, "ResourceNotFoundException")
	_, err = f.client.ListMoveTasks(ctx, &seriatimpb.ListMoveTasksRequest{Source: dead, MaxResults: 11})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
}

func TestHintAndRecord(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	var trailer metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization",
		"AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/sqs/aws4_request, Signature=0")
	one := []*seriatimpb.OutgoingMessage{outgoingMessage("g", "a")}
	if _, err := f.client.Send(ctx, &seriatimpb.SendRequest{Queue: name, Messages: one},
		grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	self, leader := node.Leader()
	if got := trailer.Get(metadataNode); !slices.Equal(got, []string{self}) {
		t.Errorf("node %v", got)
	}
	if got := trailer.Get(metadataLeader); !slices.Equal(got, []string{leader}) {
		t.Errorf("leader %v", got)
	}
	if trailer.Get(metadataIndex) == nil || trailer.Get(metadataLogTime) == nil {
		t.Errorf("no position: %v", trailer)
	}
	record := f.observed.last(t, "Send")
	if record.Queue != name || record.Permission != "sqs:SendMessage" || record.Protocol != "grpc" || record.Account != "AKID" ||
		record.Code != "" {
		t.Errorf("%+v", record)
	}
	if got := f.receive(name).GetMessages(); len(got) != 1 || got[0].GetSenderId() != "AKID" {
		t.Errorf("%v", got)
	}
	var failed metadata.MD
	_, err := f.client.DeleteQueue(t.Context(), &seriatimpb.DeleteQueueRequest{Queue: "none"}, grpc.Trailer(&failed))
	wantStatus(t, err, codes.NotFound, "QueueDoesNotExist")
	if failed.Get(metadataLeader) == nil {
		t.Errorf("a refusal without a hint: %v", failed)
	}
	if record := f.observed.last(t, "DeleteQueue"); record.Code != "QueueDoesNotExist" {
		t.Errorf("%+v", record)
	}
}

// Every method of the API has a permission, and every code of a refusal has a status.
func TestTablesAreWhole(t *testing.T) {
	named := map[string]bool{}
	for _, service := range services {
		var names []string
		for _, m := range service.Methods {
			names = append(names, m.MethodName)
		}
		for _, m := range service.Streams {
			names = append(names, m.StreamName)
		}
		for _, name := range names {
			if methodTable[name].permission == "" || methodTable[name].effect == 0 || named[name] {
				t.Errorf("%s of %s needs no permission, has no effect, or has the name of another method", name, service.ServiceName)
			}
			named[name] = true
		}
	}
	if len(named) != len(methodTable) {
		t.Errorf("%d methods, %d permissions", len(named), len(methodTable))
	}
	for _, code := range everyCode() {
		if failures[code].reason == "" {
			t.Errorf("code %d has no status", code)
		}
	}
}

// everyCode returns the codes of refusals, which have gaps.
func everyCode() (all []refusal.Code) {
	for code := refusal.QueueDoesNotExist; code <= refusal.AuthorizationError; code++ {
		all = append(all, code)
	}
	for code := refusal.MessageNotFound; code <= refusal.QuotaExceeded; code++ {
		all = append(all, code)
	}
	return all
}
