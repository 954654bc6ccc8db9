package grpc

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func TestDeduplicationIDs(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client := seriatimpb.NewInspectionClient(f.conn)
	name := f.create(nil)
	sent := f.send(name, "g", "id")[0]
	look := &seriatimpb.LookUpDeduplicationRequest{Queue: name, DeduplicationId: "id"}
	known, err := client.LookUpDeduplication(ctx, look)
	if err != nil || !known.GetKnown() || known.GetSequenceNumber() != sent.GetSequenceNumber() ||
		known.GetMessageId() != sent.GetMessageId() ||
		known.GetScope() != "queue" || known.GetState() != "stored" || known.GetForgottenAtMs() != known.GetAcceptedAtMs()+300_000 {
		t.Errorf("%v %v", known, err)
	}
	stats, err := client.GetDeduplicationStats(ctx, &seriatimpb.GetDeduplicationStatsRequest{Queue: name})
	if err != nil || stats.GetLive() != 1 || stats.GetByScope()["queue"] != 1 || stats.GetWindowSeconds() != 300 ||
		stats.GetOldestAtMs() != known.GetAcceptedAtMs() {
		t.Errorf("%v %v", stats, err)
	}
	forget := &seriatimpb.ForgetDeduplicationRequest{Queue: name, DeduplicationId: "id"}
	clustertest.Check(t, clustertest.Err(client.ForgetDeduplication(ctx, forget)))
	_, err = client.ForgetDeduplication(ctx, forget)
	wantStatus(t, err, codes.NotFound, "DeduplicationIdUnknown")
	if known, err := client.LookUpDeduplication(ctx, look); err != nil || known.GetKnown() {
		t.Errorf("%v %v", known, err)
	}
	_, err = client.LookUpDeduplication(ctx, &seriatimpb.LookUpDeduplicationRequest{Queue: name})
	wantStatus(t, err, codes.InvalidArgument, "InvalidParameterValue")
}

// GetGroup reports each state of a group, and its end.
func TestGroups(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	client := seriatimpb.NewInspectionClient(f.conn)
	name := f.create(nil)
	group := func(queue, id string, want seriatimpb.GroupState) *seriatimpb.MessageGroup {
		t.Helper()
		got, err := client.GetGroup(ctx, &seriatimpb.GetGroupRequest{Queue: queue, GroupId: id})
		clustertest.Must(t, err)
		if got.GetState() != want || got.GetExplanation() == "" {
			t.Errorf("%v, want %v", got, want)
		}
		return got
	}
	group(name, "none", seriatimpb.GroupState_GROUP_STATE_EMPTY)
	sent := f.send(name, "a", "1", "2")[0]
	if g := group(name, "a", seriatimpb.GroupState_GROUP_STATE_READY); g.GetMessages() != 2 ||
		g.GetFirstSequenceNumber() != sent.GetSequenceNumber() || g.GetFirstMessageId() != sent.GetMessageId() {
		t.Errorf("%v", g)
	}
	f.receive(name)
	g := group(name, "a", seriatimpb.GroupState_GROUP_STATE_IN_FLIGHT)
	if g.GetInFlight() != 2 || g.GetUntilMs() < time.Now().UnixMilli() || g.GetFirstReceiveCount() != 1 {
		t.Errorf("%v", g)
	}
	held := func(g *seriatimpb.MessageGroup) {
		t.Helper()
		h := g.GetHolder()
		if !strings.HasPrefix(h.GetAddress(), "127.0.0.1:") || h.GetNode() == "" || h.GetSinceMs() == 0 ||
			h.GetSinceMs() > g.GetUntilMs() || h.GetAccessKey() != "" || h.GetProtocol() != "grpc" ||
			!strings.HasPrefix(h.GetUserAgent(), "grpc-go/") ||
			!strings.Contains(g.GetExplanation(), "The receiver is the client at "+h.GetAddress()+
				", without an access key, user agent "+strconv.Quote(h.GetUserAgent())+"; the node "+h.GetNode()+" served it at ") {
			t.Errorf("held by %v: %s", h, g.GetExplanation())
		}
	}
	held(g)
	f.accept(name, "b")
	f.send(name, "b", "3")
	held(group(name, "b", seriatimpb.GroupState_GROUP_STATE_SESSION))
	for _, c := range []struct {
		group string
		want  *seriatimpb.ReleaseGroupResponse
	}{{"a", &seriatimpb.ReleaseGroupResponse{Messages: 2}}, {"b", &seriatimpb.ReleaseGroupResponse{Session: true}}} {
		got, err := client.ReleaseGroup(ctx, &seriatimpb.ReleaseGroupRequest{Queue: name, GroupId: c.group})
		if err != nil || got.GetMessages() != c.want.GetMessages() || got.GetSession() != c.want.GetSession() {
			t.Errorf("%v %v", got, err)
		}
		group(name, c.group, seriatimpb.GroupState_GROUP_STATE_READY)
	}
	strict := f.create(map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + f.create(nil) + `","maxReceiveCount":1}`,
	})
	f.send(strict, "a", "once")
	f.receive(strict)
	clustertest.Must(t, clustertest.Err(client.ReleaseGroup(ctx, &seriatimpb.ReleaseGroupRequest{Queue: strict, GroupId: "a"})))
	group(strict, "a", seriatimpb.GroupState_GROUP_STATE_DEAD_LETTER)
	slow := f.create(map[string]string{"DelaySeconds": "900"})
	f.send(slow, "c", "4")
	group(slow, "c", seriatimpb.GroupState_GROUP_STATE_DELAYED)
	in := &seriatimpb.ListGroupsRequest{Queue: name, PageSize: 1}
	var listed []string
	for {
		out, err := client.ListGroups(ctx, in)
		clustertest.Must(t, err)
		for _, g := range out.GetGroups() {
			listed = append(listed, g.GetGroupId())
		}
		if in.PageToken = out.GetNextPageToken(); in.GetPageToken() == "" {
			break
		}
	}
	if len(listed) != 2 || listed[0] != "a" || listed[1] != "b" {
		t.Errorf("listed %v", listed)
	}
	_, err := client.ListGroups(ctx, &seriatimpb.ListGroupsRequest{Queue: f.create(map[string]string{"FifoQueue": "false"})})
	wantStatus(t, err, codes.FailedPrecondition, "UnsupportedOperation")
}
