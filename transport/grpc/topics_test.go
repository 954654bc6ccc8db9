package grpc

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// topic creates a FIFO topic for the test, with subscribed queues.
func (f *fixture) topic(attributes map[string]string, queues ...string) (seriatimpb.TopicsClient, string) {
	f.t.Helper()
	client, name := seriatimpb.NewTopicsClient(f.conn), fmt.Sprintf("t%d.fifo", queueNumber.Add(1))
	all := map[string]string{"FifoTopic": "true"}
	maps.Copy(all, attributes)
	clustertest.Must(f.t, clustertest.Err(client.CreateTopic(f.t.Context(), &seriatimpb.CreateTopicRequest{Topic: name, Attributes: all})))
	for _, q := range queues {
		in := &seriatimpb.SubscribeRequest{Topic: name, Queue: q, Attributes: map[string]string{"RawMessageDelivery": "true"}}
		clustertest.Must(f.t, clustertest.Err(client.Subscribe(f.t.Context(), in)))
	}
	return client, name
}

// published returns a message whose deduplication id is its text.
func published(group, text string) *seriatimpb.TopicMessage {
	return &seriatimpb.TopicMessage{Message: text, GroupId: &group, DeduplicationId: &text}
}

func TestTopics(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client, name := f.topic(map[string]string{"DisplayName": "one"})
	arn := "arn:aws:sns:us-east-1:000000000000:" + name
	again, err := client.CreateTopic(ctx, &seriatimpb.CreateTopicRequest{Topic: name, Attributes: map[string]string{"FifoTopic": "true"}})
	if err != nil || again.GetTopicArn() != arn {
		t.Errorf("confirmed %v, %v", again, err)
	}
	if _, err := client.SetTopicAttributes(ctx, &seriatimpb.SetTopicAttributesRequest{Topic: name,
		Attributes: map[string]string{"DisplayName": "two", "DeduplicationWindowSeconds": "60"}}); err != nil {
		t.Error(err)
	}
	if _, err := client.AddTopicPermission(ctx, &seriatimpb.AddTopicPermissionRequest{Topic: name, Label: "l",
		AccountIds: []string{"111122223333"}, Actions: []string{"Publish"}}); err != nil {
		t.Error(err)
	}
	read, err := client.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: name})
	clustertest.Must(t, err)
	withLabel := read.GetAttributes()["Policy"]
	if _, err := client.RemoveTopicPermission(ctx, &seriatimpb.RemoveTopicPermissionRequest{Topic: name, Label: "l"}); err != nil {
		t.Error(err)
	}
	read, err = client.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: name})
	want := map[string]string{
		"TopicArn": arn, "Owner": "000000000000", "DisplayName": "two", "FifoTopic": "true", "ContentBasedDeduplication": "false",
		"FifoThroughputScope":        "Topic",
		"DeduplicationWindowSeconds": "60", "SubscriptionsConfirmed": "0", "SubscriptionsDeleted": "0", "SubscriptionsPending": "0",
		"Policy": read.GetAttributes()["Policy"], "EffectiveDeliveryPolicy": read.GetAttributes()["EffectiveDeliveryPolicy"],
	}
	if diff := cmp.Diff(want, read.GetAttributes()); err != nil || diff != "" || want["EffectiveDeliveryPolicy"] == "" ||
		want["Policy"] == "" || want["Policy"] == withLabel {
		t.Errorf("%v %s policy %s, with the permission %s", err, diff, want["Policy"], withLabel)
	}
	if _, err := client.TagTopic(ctx, &seriatimpb.TagTopicRequest{Topic: name, Tags: map[string]string{"a": "1", "b": "2"}}); err != nil {
		t.Error(err)
	}
	clustertest.Check(t, clustertest.Err(client.UntagTopic(ctx, &seriatimpb.UntagTopicRequest{Topic: name, Keys: []string{"a", "a", "x"}})))
	tags, err := client.ListTopicTags(ctx, &seriatimpb.ListTopicTagsRequest{Topic: name})
	if diff := cmp.Diff(map[string]string{"b": "2"}, tags.GetTags()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if record := f.observed.last(t, "ListTopicTags"); record.Topic != name || record.Permission != "sns:ListTagsForResource" {
		t.Errorf("%+v", record)
	}
	for range 2 { // deleting it again is no error
		clustertest.Check(t, clustertest.Err(client.DeleteTopic(ctx, &seriatimpb.DeleteTopicRequest{Topic: name})))
	}
	_, err = client.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: name})
	wantStatus(t, err, codes.NotFound, "NotFound")
}

func TestListTopics(t *testing.T) {
	f := newFixture(t, nil)
	client, first := f.topic(nil)
	_, second := f.topic(nil)
	var listed []string
	for in := (&seriatimpb.ListTopicsRequest{PageSize: 1}); ; {
		out, err := client.ListTopics(t.Context(), in)
		if err != nil || len(out.GetTopics()) > 1 {
			t.Fatal(out, err)
		}
		listed = append(listed, out.GetTopics()...)
		if in.PageToken = out.GetNextPageToken(); in.PageToken == "" {
			break
		}
	}
	if !slices.IsSorted(listed) || !slices.Contains(listed, first) || !slices.Contains(listed, second) ||
		len(slices.Compact(slices.Clone(listed))) != len(listed) {
		t.Errorf("listed %v", listed)
	}
}

func TestSubscriptions(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	queues := []string{f.create(nil), f.create(nil), f.create(nil)}
	client, name := f.topic(nil, queues...)
	var all, listed []*seriatimpb.Subscription
	for _, one := range []struct {
		topic string
		into  *[]*seriatimpb.Subscription
	}{{name, &listed}, {"", &all}} {
		for in := (&seriatimpb.ListSubscriptionsRequest{Topic: one.topic, PageSize: 2}); ; {
			out, err := client.ListSubscriptions(ctx, in)
			if err != nil || len(out.GetSubscriptions()) > 2 {
				t.Fatal(out, err)
			}
			*one.into = append(*one.into, out.GetSubscriptions()...)
			if in.PageToken = out.GetNextPageToken(); in.PageToken == "" {
				break
			}
		}
	}
	var got []string
	for _, s := range listed {
		got = append(got, s.GetQueue())
		if s.GetTopic() != name || s.GetEndpoint() != "arn:aws:sqs:us-east-1:000000000000:"+s.GetQueue() {
			t.Errorf("%v", s)
		}
		if !slices.ContainsFunc(all, func(o *seriatimpb.Subscription) bool { return o.GetSubscriptionArn() == s.GetSubscriptionArn() }) {
			t.Errorf("%s is not among all", s.GetSubscriptionArn())
		}
	}
	if !slices.Equal(got, queues) {
		t.Fatalf("listed %v, want %v", got, queues)
	}
	arn := listed[0].GetSubscriptionArn()
	again, err := client.Subscribe(ctx, &seriatimpb.SubscribeRequest{Topic: name, Queue: queues[0]})
	if err != nil || again.GetSubscriptionArn() != arn {
		t.Errorf("confirmed %v, %v", again, err)
	}
	if _, err := client.SetSubscriptionAttributes(ctx, &seriatimpb.SetSubscriptionAttributesRequest{SubscriptionArn: arn,
		Attributes: map[string]string{"FilterPolicy": `{"k":["a"]}`}}); err != nil {
		t.Error(err)
	}
	read, err := client.GetSubscriptionAttributes(ctx, &seriatimpb.GetSubscriptionAttributesRequest{SubscriptionArn: arn})
	if a := read.GetAttributes(); err != nil || a["FilterPolicy"] != `{"k":["a"]}` || a["RawMessageDelivery"] != "true" ||
		a["SubscriptionArn"] != arn ||
		a["Owner"] != "000000000000" || a["SubscriptionPrincipal"] != "arn:aws:iam::000000000000:root" {
		t.Errorf("%v %v", read, err)
	}
	for range 2 {
		clustertest.Check(t, clustertest.Err(client.Unsubscribe(ctx, &seriatimpb.UnsubscribeRequest{SubscriptionArn: arn})))
	}
	_, err = client.GetSubscriptionAttributes(ctx, &seriatimpb.GetSubscriptionAttributesRequest{SubscriptionArn: arn})
	wantStatus(t, err, codes.NotFound, "NotFound")
}

// A publish is delivered to each subscribed queue once. The result of a duplicate has the id of the
// first one.
func TestPublish(t *testing.T) {
	f := newFixture(t, nil)
	queues := []string{f.create(nil), f.create(nil)}
	client, name := f.topic(nil, queues...)
	number := "Number"
	with := published("g", "b")
	with.Attributes = map[string]*seriatimpb.Attribute{"n": {DataType: number, Value: &seriatimpb.Attribute_Text{Text: "7"}}}
	first, err := client.Publish(t.Context(), &seriatimpb.PublishRequest{Topic: name,
		Messages: []*seriatimpb.TopicMessage{published("g", "a"), with}})
	clustertest.Must(t, err)
	again, err := client.Publish(t.Context(), &seriatimpb.PublishRequest{Topic: name,
		Messages: []*seriatimpb.TopicMessage{published("g", "b")}})
	clustertest.Must(t, err)
	a, b, repeated := first.GetResults()[0], first.GetResults()[1], again.GetResults()[0]
	if a.GetDuplicate() || b.GetDuplicate() || a.GetSequenceNumber() >= b.GetSequenceNumber() || a.GetFirstAcceptedAtMs() == 0 {
		t.Errorf("%v", first)
	}
	if !repeated.GetDuplicate() || repeated.GetMessageId() != b.GetMessageId() || repeated.GetSequenceNumber() != b.GetSequenceNumber() ||
		repeated.GetFirstAcceptedAtMs() != b.GetFirstAcceptedAtMs() {
		t.Errorf("%v, want the duplicate of %v", repeated, b)
	}
	for _, q := range queues {
		got := f.receive(q).GetMessages()
		if !slices.Equal(bodies(got), []string{"a", "b"}) || got[1].GetAttributes()["n"].GetText() != "7" ||
			got[1].GetDeduplicationId() != "b" {
			t.Errorf("%s: %v", q, got)
		}
	}
}

// If the node may have repeated a publish, the result does not say whether it is a duplicate.
func TestPublishRepeated(t *testing.T) {
	f := newFixture(t, nil)
	client, name := f.topic(nil)
	submit := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		reply, err := next()
		_, reply.Repeated = cmd.(*queue.Publish)
		return reply, err
	}
	f.node.submit.Store(&submit)
	out, err := client.Publish(t.Context(), &seriatimpb.PublishRequest{Topic: name,
		Messages: []*seriatimpb.TopicMessage{published("g", "a")}})
	if err != nil || out.GetResults()[0].Duplicate != nil {
		t.Errorf("%v %v", out, err)
	}
}

func TestTopicRefusals(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client, name := f.topic(nil)
	publish := func(messages ...*seriatimpb.TopicMessage) error {
		_, err := client.Publish(ctx, &seriatimpb.PublishRequest{Topic: name, Messages: messages})
		return err
	}
	many := slices.Repeat([]*seriatimpb.TopicMessage{published("g", "m")}, 11)
	subscribe := func(topic, queue string) error {
		_, err := client.Subscribe(ctx, &seriatimpb.SubscribeRequest{Topic: topic, Queue: queue})
		return err
	}
	subscribeURL := func(topic, url, queue string) error {
		_, err := client.Subscribe(ctx, &seriatimpb.SubscribeRequest{Topic: topic, Url: url, Queue: queue})
		return err
	}
	_, badToken := client.ConfirmSubscription(ctx, &seriatimpb.ConfirmSubscriptionRequest{Topic: name, Token: "x"})
	page := func(token string) error {
		_, err := client.ListSubscriptions(ctx, &seriatimpb.ListSubscriptionsRequest{PageToken: token})
		return err
	}
	named := service.PageToken("a name")
	_, noSuffix := client.CreateTopic(ctx, &seriatimpb.CreateTopicRequest{Topic: "plain",
		Attributes: map[string]string{"FifoTopic": "true"}})
	_, noTags := client.ListTopicTags(ctx, &seriatimpb.ListTopicTagsRequest{Topic: "none"})
	_, badARN := client.Unsubscribe(ctx, &seriatimpb.UnsubscribeRequest{SubscriptionArn: "a:b"})
	_, noTopic := client.Publish(ctx, &seriatimpb.PublishRequest{Topic: "none", Messages: many[:1]})
	for i, c := range []struct {
		err    error
		code   codes.Code
		reason string
	}{
		{publish(), codes.InvalidArgument, "EmptyBatchRequest"},
		{publish(many...), codes.InvalidArgument, "TooManyEntriesInBatchRequest"},
		{publish(&seriatimpb.TopicMessage{Message: "m"}), codes.InvalidArgument, "InvalidParameter"},
		{publish(published("g", "m"), &seriatimpb.TopicMessage{Message: "m", GroupId: new("g")}), codes.InvalidArgument,
			"InvalidParameter"},
		{noTopic, codes.InvalidArgument, "InvalidParameter"}, // it is about a standard topic
		{noSuffix, codes.InvalidArgument, "InvalidParameter"},
		{noTags, codes.NotFound, "ResourceNotFound"},
		{badARN, codes.InvalidArgument, "InvalidParameter"},
		{subscribe("none.fifo", "q"), codes.NotFound, "NotFound"},
		{subscribe("", "q"), codes.InvalidArgument, "MissingParameter"},
		{subscribe(name, ""), codes.InvalidArgument, "MissingParameter"},
		{subscribeURL("plain", "http://example.org/", "q"), codes.InvalidArgument, "InvalidParameter"},
		{subscribeURL("plain", "ftp://example.org/", ""), codes.InvalidArgument, "InvalidParameter"},
		{subscribeURL("plain", "http://", ""), codes.InvalidArgument, "InvalidParameter"},
		{subscribeURL("plain", "sqs://q", ""), codes.InvalidArgument, "InvalidParameter"},
		{subscribeURL("plain", "http://example.org/", ""), codes.NotFound, "NotFound"},
		{subscribeURL(name, "http://example.org/", ""), codes.InvalidArgument, "InvalidParameter"}, // FIFO
		{badToken, codes.InvalidArgument, "InvalidParameter"},
		{page(named), codes.InvalidArgument, "InvalidParameterValue"},
	} {
		t.Run(fmt.Sprint(i, c.reason), func(t *testing.T) { wantStatus(t, c.err, c.code, c.reason) })
	}
}

// Messages of each group keep their order in every queue, and a refused message fails alone.
func TestPublishStream(t *testing.T) {
	f := newFixture(t, nil)
	name := f.create(nil)
	client, topic := f.topic(nil, name)
	stream, err := client.PublishStream(t.Context())
	clustertest.Must(t, err)
	frames := []*seriatimpb.PublishStreamRequest{{Topic: topic}}
	next := uint64(1)
	for i := range 4 {
		messages := []*seriatimpb.TopicMessage{published("a", fmt.Sprint("a", i)), {Message: "no group"},
			published("b", fmt.Sprint("b", i)), published("a", "a0")}
		frames = append(frames, &seriatimpb.PublishStreamRequest{FirstNumber: next, Messages: messages})
		next += uint64(len(messages))
	}
	for _, frame := range frames {
		clustertest.Must(t, stream.Send(frame))
	}
	clustertest.Must(t, stream.CloseSend())
	opened, err := stream.Recv()
	if err != nil || opened.GetUnansweredMax() != unansweredMax {
		t.Fatal(opened, err)
	}
	var results []*seriatimpb.PublishResult
	for len(results) < 16 {
		out, err := stream.Recv()
		if err != nil || out.GetFirstNumber() != uint64(len(results)+1) {
			t.Fatal(out, err)
		}
		results = append(results, out.GetResults()...)
	}
	for i, r := range results {
		want := ""
		if i%4 == 1 {
			want = "InvalidParameter"
		}
		if r.GetFailure().GetReason() != want || want == "" && r.GetDuplicate() != (i%4 == 3) {
			t.Errorf("message %d: %v", i, r)
		}
	}
	groups := map[string][]string{}
	for _, m := range f.receive(name).GetMessages() {
		groups[m.GetGroupId()] = append(groups[m.GetGroupId()], m.GetBody())
	}
	if diff := cmp.Diff(map[string][]string{"a": {"a0", "a1", "a2", "a3"}, "b": {"b0", "b1", "b2", "b3"}}, groups); diff != "" {
		t.Error(diff)
	}
}

// A stream that begins wrongly ends with the reason.
func TestPublishStreamOpening(t *testing.T) {
	f := newFixture(t, nil)
	client, topic := f.topic(nil)
	for _, c := range []struct {
		first  *seriatimpb.PublishStreamRequest
		code   codes.Code
		reason string
	}{
		{nil, codes.InvalidArgument, "MissingParameter"},
		{&seriatimpb.PublishStreamRequest{}, codes.InvalidArgument, "MissingParameter"},
		{&seriatimpb.PublishStreamRequest{Topic: "none.fifo"}, codes.NotFound, "NotFound"},
		{&seriatimpb.PublishStreamRequest{Topic: topic, Messages: []*seriatimpb.TopicMessage{published("g", "m")}},
			codes.InvalidArgument, "InvalidParameterValue"},
	} {
		stream, err := client.PublishStream(t.Context())
		if err == nil && c.first != nil {
			err = stream.Send(c.first)
		}
		if err == nil && c.first == nil {
			err = stream.CloseSend()
		}
		clustertest.Must(t, err)
		_, err = stream.Recv()
		wantStatus(t, err, c.code, c.reason)
	}
	f.server.Drain()
	stream, err := client.PublishStream(t.Context())
	clustertest.Must(t, err)
	_, err = stream.Recv()
	wantStatus(t, err, codes.Unavailable, reasonDraining)
}
