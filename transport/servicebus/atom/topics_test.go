package atom

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

func (f *fixture) putTopic(path, properties string, more ...string) answer {
	f.t.Helper()
	return f.send(http.MethodPut, "/"+path+version, describing("TopicDescription", properties), more...)
}

func (f *fixture) putSubscription(path, properties string, more ...string) answer {
	f.t.Helper()
	return f.send(http.MethodPut, "/"+path+version, describing("SubscriptionDescription", properties), more...)
}

func (f *fixture) remove(path string) answer {
	f.t.Helper()
	return f.send(http.MethodDelete, "/"+path+version, "")
}

// topic returns the attributes of a topic and the number of its subscriptions.
func (f *fixture) topic(name string) (a queue.TopicAttributes, subscriptions int, found bool) {
	f.t.Helper()
	_, err := f.node.Read(f.t.Context(), func(v queue.View) error {
		var refused *queue.Error
		a, refused = v.TypedTopic(name)
		found = refused == nil
		list, _ := v.ListSubscriptionsByTopic(name, 0, 100)
		subscriptions = len(list)
		return nil
	})
	clustertest.Must(f.t, err)
	return a, subscriptions, found
}

func TestTopicLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.get("life/News.v2"), http.StatusOK, "Publicly Listed Services")
	created := f.putTopic("life/News.v2", "<DefaultMessageTimeToLive>PT1H</DefaultMessageTimeToLive>"+
		"<MaxSizeInMegabytes>1024</MaxSizeInMegabytes>"+
		"<RequiresDuplicateDetection>true</RequiresDuplicateDetection><EnablePartitioning>true</EnablePartitioning>"+
		"<DuplicateDetectionHistoryTimeWindow>PT20S</DuplicateDetectionHistoryTimeWindow><SupportOrdering>false</SupportOrdering>")
	f.golden("topic", created, http.StatusCreated)
	want(t, f.get("LIFE/news.V2"), http.StatusOK, "<DefaultMessageTimeToLive>PT1H<")
	a, _, _ := f.topic("life_2FNews_2Ev2.fifo")
	if a.Deduplication.Disabled || a.Deduplication.WindowSeconds != 20 || a.TimeToLiveSeconds != 3600 || !a.GroupOptional || !a.ServiceBus {
		t.Errorf("the topic has %+v", a)
	}
	want(t, f.putTopic("life/News.v2", ""), http.StatusConflict, "SubCode=40900.")
	want(t, f.put("life/News.v2", ""), http.StatusConflict, "SubCode=40900.")
	want(t, f.put("life/News.v2", "", "If-Match", "*"), http.StatusNotFound)

	changed := f.putTopic("life/news.v2", "<DefaultMessageTimeToLive>PT2H</DefaultMessageTimeToLive>"+
		"<SubscriptionCount>7</SubscriptionCount><MaxSizeInMegabytes>2048</MaxSizeInMegabytes>"+
		"<Status>SendDisabled</Status>", "If-Match", "*")
	want(t, changed, http.StatusOK, "<DefaultMessageTimeToLive>PT2H<", "<MaxSizeInMegabytes>2048<",
		"<Status>SendDisabled<", "<DuplicateDetectionHistoryTimeWindow>PT20S<",
		"<SubscriptionCount>0<", ">life/News.v2<")
	want(t, f.putTopic("life/News.v2", "<RequiresDuplicateDetection>false</RequiresDuplicateDetection>", "If-Match", "*"),
		http.StatusBadRequest, "of an existing Topic can't be changed")
	want(t, f.putTopic("other", "", "If-Match", "*"), http.StatusNotFound)

	want(t, f.put("queue", ""), http.StatusCreated)
	want(t, f.putTopic("queue", ""), http.StatusConflict)
	want(t, f.putTopic("short", "<DuplicateDetectionHistoryTimeWindow>PT19S</DuplicateDetectionHistoryTimeWindow>"), http.StatusBadRequest,
		"between 00:00:20 and")
	want(t, f.putTopic("forwarding", "<UserMetadata>x</UserMetadata>"), http.StatusBadRequest, "UserMetadata cannot be")
	f.golden("topics", f.send(http.MethodGet, "/$Resources/topics"+version+"&$skip=0&$top=1", ""), http.StatusOK)

	want(t, f.remove("LIFE/news.v2"), http.StatusOK)
	if _, _, found := f.topic("life_2FNews_2Ev2.fifo"); found {
		t.Error("the topic is left")
	}
	want(t, f.remove("life/News.v2"), http.StatusNotFound)
}

func TestSubscriptionLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.putSubscription("News/Subscriptions/s", ""), http.StatusNotFound)
	want(t, f.get("News/Subscriptions/s"), http.StatusNotFound)
	want(t, f.get("News/Subscriptions"), http.StatusNotFound)
	want(t, f.putTopic("News", ""), http.StatusCreated)
	want(t, f.get("News/Subscriptions/s"), http.StatusNotFound) // the SDK for Java reads nothing else
	created := f.putSubscription("news/subscriptions/All.1", "<LockDuration>PT30S</LockDuration><RequiresSession>true</RequiresSession>"+
		"<DeadLetteringOnMessageExpiration>true</DeadLetteringOnMessageExpiration><MaxDeliveryCount>3</MaxDeliveryCount>"+
		"<DeadLetteringOnFilterEvaluationExceptions>true</DeadLetteringOnFilterEvaluationExceptions>"+
		`<DefaultRuleDescription><Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression></Filter>`+
		`<Action i:type="EmptyRuleAction"/><Name>$Default</Name></DefaultRuleDescription>`)
	f.golden("subscription", created, http.StatusCreated)
	const name = "News_2FSubscriptions_2FAll_2E1"
	if a := f.typed(name + ".fifo"); !a.Deduplication.Disabled || a.GroupOptional || a.Redrive.MaxReceiveCount != 3 {
		t.Errorf("the queue has %+v", a)
	}
	want(t, f.putSubscription("News/Subscriptions/all.1", ""), http.StatusConflict)
	want(t, f.putSubscription("News/Subscriptions/b", ""), http.StatusCreated)
	want(t, f.get("News"), http.StatusOK, "<SubscriptionCount>2<")
	listed := f.send(http.MethodGet, "/NEWS/Subscriptions"+version+"&$top=1", "")
	f.golden("subscriptions", listed, http.StatusOK)
	want(t, f.send(http.MethodGet, "/news/Subscriptions"+version+"&$skip=1", ""), http.StatusOK, "<title type=\"text\">b<")
	want(t, f.get("$Resources/queues"), http.StatusOK, "<title type=\"text\">Queues<")
	if strings.Contains(f.get("$Resources/queues").body, "All.1") {
		t.Error("the queue of a subscription is listed as a queue")
	}

	changed := f.putSubscription("News/Subscriptions/All.1", "<LockDuration>PT45S</LockDuration><Status>Disabled</Status>", "If-Match", "*")
	want(t, changed, http.StatusOK, "<LockDuration>PT45S<", "<Status>Disabled<", "<MaxDeliveryCount>3<", "<RequiresSession>true<")
	want(t, f.putSubscription("News/Subscriptions/none", "", "If-Match", "*"), http.StatusNotFound)
	for properties, text := range map[string]string{
		"<RequiresSession>false</RequiresSession>":                   "of an existing Subscription can't be changed",
		"<ForwardTo>x</ForwardTo>":                                   "The auto forwarding destination entity does not exist",
		"<RequiresDuplicateDetection>1</RequiresDuplicateDetection>": "There is no property RequiresDuplicateDetection",
	} {
		want(t, f.putSubscription("News/Subscriptions/All.1", properties, "If-Match", "*"), http.StatusBadRequest, text)
	}
	want(t, f.putSubscription("News/Subscriptions/"+strings.Repeat("s", 51), ""), http.StatusBadRequest, "a subscription 50")
	want(t, f.send(http.MethodPut, "/News/Subscriptions/c"+version, describing("QueueDescription", "")), http.StatusBadRequest)

	want(t, f.remove("news/subscriptions/ALL.1"), http.StatusOK)
	if f.exists(name+".fifo") || f.exists(name+"-dlq.fifo") {
		t.Error("a queue is left")
	}
	if _, n, _ := f.topic("News.fifo"); n != 1 {
		t.Errorf("%d subscriptions are left", n)
	}
	want(t, f.remove("News/Subscriptions/All.1"), http.StatusNotFound)
	want(t, f.remove("News"), http.StatusOK)
	if f.exists("News_2FSubscriptions_2Fb.fifo") || f.exists("News_2FSubscriptions_2Fb-dlq.fifo") {
		t.Error("the queue of a subscription outlived its topic")
	}
}

// TestRepeatedSubscriptions finishes creations and deletions of which only a part was done.
func TestRepeatedSubscriptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	submit := func(cmd queue.Command) {
		t.Helper()
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), cmd)))
	}
	want(t, f.putTopic("parts", ""), http.StatusCreated)
	want(t, f.putSubscription("parts/Subscriptions/s", ""), http.StatusCreated)
	const name = "parts_2FSubscriptions_2Fs.fifo"
	var arn string
	_, err := f.node.Read(t.Context(), func(v queue.View) error {
		list, _ := v.ListSubscriptionsByTopic("parts.fifo", 0, 1)
		arn = list[0].SubscriptionARN
		return nil
	})
	clustertest.Must(t, err)

	submit(&queue.Unsubscribe{SubscriptionARN: arn}) // the queues are left
	want(t, f.get("parts/Subscriptions/s"), http.StatusNotFound)
	want(t, f.putSubscription("parts/Subscriptions/s", "<LockDuration>PT5S</LockDuration>"), http.StatusConflict)
	if !f.exists(name) {
		t.Error("a refused creation deleted the queue")
	}
	want(t, f.putSubscription("parts/Subscriptions/s", ""), http.StatusCreated)

	want(t, f.putRule("parts/Subscriptions/s/rules/old", ""), http.StatusCreated)
	submit(&queue.DeleteQueue{Queue: name}) // the subscription is left
	want(t, f.get("parts/Subscriptions/s"), http.StatusNotFound)
	want(t, f.get("parts"), http.StatusOK, "<SubscriptionCount>0<")
	want(t, f.remove("parts/Subscriptions/s"), http.StatusOK)
	if _, n, _ := f.topic("parts.fifo"); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}

	want(t, f.putSubscription("parts/Subscriptions/s", ""), http.StatusCreated)
	want(t, f.putRule("parts/Subscriptions/s/rules/old", ""), http.StatusCreated)
	submit(&queue.DeleteQueue{Queue: name})
	want(t, f.putSubscription("parts/Subscriptions/s", ""), http.StatusCreated)
	want(t, f.get("parts/Subscriptions/s/rules/old"), http.StatusNotFound)
	submit(&queue.DeleteQueue{Queue: name})
	want(t, f.remove("parts"), http.StatusOK)
	if _, _, found := f.topic("parts.fifo"); found {
		t.Error("the topic is left")
	}
}

// TestLongestTopic checks the longest name that escapes leave room for.
func TestLongestTopic(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	path := strings.Repeat(".", entity.PathLengthMax)
	want(t, f.putTopic(path, ""), http.StatusCreated, ">"+path+"<")
	want(t, f.putSubscription(path+"/Subscriptions/s", ""), http.StatusBadRequest)
	want(t, f.remove(path), http.StatusOK)
	plain := strings.Repeat("a", entity.PathLengthMax)
	long := plain + "/Subscriptions/" + strings.Repeat(".", entity.SubscriptionLengthMax)
	want(t, f.putTopic(plain, ""), http.StatusCreated)
	want(t, f.putSubscription(long, ""), http.StatusCreated)
	want(t, f.get(long), http.StatusOK, "<LockDuration>PT1M<")
	want(t, f.remove(plain), http.StatusOK)
}

// TestTopicCounts counts messages of a topic and a subscription.
func TestTopicCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.putTopic("counted", ""), http.StatusCreated)
	want(t, f.putSubscription("counted/Subscriptions/s", ""), http.StatusCreated)
	later := &queue.SendOptions{EnqueueAt: 253_402_300_799_999}
	_, err := f.node.Submit(t.Context(), &queue.Publish{Topic: "counted.fifo", Batch: true, Entries: []queue.PublishEntry{
		{Message: "12345678"}, {Message: "12345678"}, {Message: "later", Options: later},
	}})
	clustertest.Must(t, err)
	want(t, f.get("counted"), http.StatusOK, "<SizeInBytes>16<", "<d2p1:ScheduledMessageCount>1<", "<SubscriptionCount>1<")
	want(t, f.get("counted/Subscriptions/s"), http.StatusOK, "<MessageCount>2<", "<d2p1:ActiveMessageCount>2<")
}

// TestFilterCounts counts the filters of all subscriptions of a topic, which came with version 2024-05.
func TestFilterCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.putTopic("filtered", ""), http.StatusCreated)
	for _, one := range []string{"a", "b"} {
		want(t, f.putSubscription("filtered/Subscriptions/"+one, ""), http.StatusCreated)
	}
	rule := func(path, filter string) {
		t.Helper()
		want(t, f.putRule("filtered/Subscriptions/"+path, filter), http.StatusCreated)
	}
	rule("a/rules/sql", `<Filter i:type="SqlFilter"><SqlExpression>x = 1</SqlExpression></Filter>`)
	rule("a/rules/none", `<Filter i:type="FalseFilter"/>`)
	rule("b/rules/correlation", `<Filter i:type="CorrelationFilter"><CorrelationId>c</CorrelationId></Filter>`)
	const newer = "?api-version=2024-05"
	const counts = "<SubscriptionCount>2</SubscriptionCount><SqlFilterCount>4</SqlFilterCount>" +
		"<CorrelationFilterCount>1</CorrelationFilterCount>"
	got := f.send(http.MethodGet, "/filtered"+newer, "")
	want(t, got, http.StatusOK, counts)
	want(t, f.send(http.MethodGet, "/$Resources/topics"+newer, ""), http.StatusOK, counts)
	if older := f.get("filtered"); strings.Contains(older.body, "FilterCount") {
		t.Errorf("an older version has the counts: %s", older.body)
	}
	changed := f.send(http.MethodPut, "/filtered"+newer, describing("TopicDescription",
		"<SubscriptionCount>9</SubscriptionCount><SqlFilterCount>9</SqlFilterCount><CorrelationFilterCount>9</CorrelationFilterCount>"),
		"If-Match", "*")
	want(t, changed, http.StatusOK, counts)
}

// TestTopicRecords checks what the access log, the audit and metrics say.
func TestTopicRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const subscription = "r/Subscriptions/s"
	for _, step := range []struct {
		got        answer
		permission string
		effect     service.Effect
		of         string
	}{
		{f.putTopic("r", ""), "sns:CreateTopic", service.Audited, "r.fifo"},
		{f.putTopic("r", "", "If-Match", "*"), "sns:SetTopicAttributes", service.Audited, "r.fifo"},
		{f.get("r"), "sns:GetTopicAttributes", service.Reads, "r.fifo"},
		{f.get("$Resources/topics"), "sns:ListTopics", service.Reads, ""},
		{f.putSubscription(subscription, ""), "sns:Subscribe", service.Audited, "r.fifo"},
		{f.get("r/Subscriptions"), "sns:ListSubscriptionsByTopic", service.Reads, "r.fifo"},
		{f.get(subscription), "sqs:GetQueueAttributes", service.Reads, "r_2FSubscriptions_2Fs.fifo"},
		{f.putSubscription(subscription, "", "If-Match", "*"), "sqs:SetQueueAttributes", service.Audited, "r_2FSubscriptions_2Fs.fifo"},
		{f.putRule(subscription+"/rules/r", ""), "sns:SetSubscriptionAttributes", service.Audited, "r.fifo"},
		{f.get(subscription + "/rules"), "sns:GetSubscriptionAttributes", service.Reads, "r.fifo"},
		{f.get(subscription + "/rules/r"), "sns:GetSubscriptionAttributes", service.Reads, "r.fifo"},
		{f.remove(subscription + "/rules/r"), "sns:SetSubscriptionAttributes", service.Audited, "r.fifo"},
		{f.remove(subscription), "sns:Unsubscribe", service.Audited, "r.fifo"},
		{f.remove("r"), "sns:DeleteTopic", service.Audited, "r.fifo"},
	} {
		r := f.records[0]
		f.records = f.records[1:]
		_, action, _ := strings.Cut(step.permission, ":")
		if step.got.status > 201 || r.Action != action || r.Effect != step.effect || r.Permission != step.permission ||
			r.Topic+r.Queue != step.of || r.Code != "" {
			t.Errorf("%s is recorded as %+v", step.permission, r)
		}
	}
}

// testTopicPermissions checks that a request needs the permissions to all that it touches.
func testTopicPermissions(t *testing.T, f *fixture, user string) {
	owner := f.token
	defer func() { f.token = owner }()
	permit := func(statements ...string) {
		t.Helper()
		text := `{"Statement":[` + strings.Join(statements, ",") + `]}`
		policy := &access.PutUserPolicy{Account: account, User: "anna", Policy: text}
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), policy)))
	}
	allow := func(actions, resource string) string {
		return `{"Effect":"Allow","Action":[` + actions + `],"Resource":"` + resource + `"}`
	}
	topic := "arn:aws:sns:us-east-1:" + account + ":guarded.fifo"
	queues := "arn:aws:sqs:us-east-1:" + account + ":guarded_2FSubscriptions_2F*"
	const subscription = "guarded/Subscriptions/s"
	f.token = user
	permit(allow(`"sqs:*"`, "*"))
	want(t, f.putTopic("guarded", ""), http.StatusUnauthorized, "'CreateTopic'")
	permit(allow(`"sns:*"`, topic))
	want(t, f.putTopic("guarded", ""), http.StatusCreated)
	want(t, f.putSubscription(subscription, ""), http.StatusUnauthorized)
	permit(allow(`"sns:*"`, topic), allow(`"sqs:CreateQueue"`, queues))
	want(t, f.putSubscription(subscription, ""), http.StatusUnauthorized)
	permit(allow(`"sqs:*"`, queues))
	want(t, f.putSubscription(subscription, ""), http.StatusUnauthorized, "'Subscribe'")
	permit(allow(`"sns:*"`, topic), allow(`"sqs:CreateQueue","sqs:SendMessage"`, queues))
	want(t, f.putSubscription(subscription, ""), http.StatusCreated)
	want(t, f.get(subscription), http.StatusUnauthorized, "'GetQueueAttributes'")
	want(t, f.get("guarded/Subscriptions"), http.StatusUnauthorized)
	permit(allow(`"sqs:*"`, "*"))
	want(t, f.putRule(subscription+"/rules/r", ""), http.StatusUnauthorized, "'SetSubscriptionAttributes'")
	want(t, f.get(subscription+"/rules"), http.StatusUnauthorized, "'GetSubscriptionAttributes'")
	want(t, f.get(subscription+"/rules/r"), http.StatusUnauthorized, "'GetSubscriptionAttributes'")
	want(t, f.remove(subscription+"/rules/r"), http.StatusUnauthorized, "'SetSubscriptionAttributes'")
	want(t, f.putSubscription(subscription, faulty, "If-Match", "*"), http.StatusUnauthorized)
	permit(allow(`"sns:*"`, topic), allow(`"sqs:CreateQueue","sqs:SendMessage"`, queues))
	want(t, f.putRule(subscription+"/rules/r", ""), http.StatusCreated)
	want(t, f.remove(subscription), http.StatusUnauthorized)
	want(t, f.remove("guarded"), http.StatusUnauthorized)
	permit(allow(`"sns:*"`, topic), allow(`"sqs:*"`, queues))
	want(t, f.get("guarded/Subscriptions"), http.StatusOK, ">s<")
	want(t, f.get("$Resources/topics"), http.StatusUnauthorized, "'ListTopics'")
	want(t, f.remove("guarded"), http.StatusOK)
	if f.exists(account + "/guarded_2FSubscriptions_2Fs.fifo") {
		t.Error("a queue is left")
	}
}
