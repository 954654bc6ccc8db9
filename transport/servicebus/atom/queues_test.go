package atom

import (
	"encoding/xml"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	times       = regexp.MustCompile(`2\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	trackingIDs = regexp.MustCompile(`TrackingId:[0-9a-f-]{36}`)
)

// golden compares an answer with a file, except for times, hosts and ids.
func (f *fixture) golden(name string, got answer, status int) {
	f.t.Helper()
	want(f.t, got, status)
	text := strings.ReplaceAll(got.body, strings.TrimPrefix(f.url, "http://"), "HOST")
	text = trackingIDs.ReplaceAllString(times.ReplaceAllString(text, "TIME"), "TrackingId:ID")
	text = strings.ReplaceAll(text, "><", ">\n<") + "\n"
	file := filepath.Join("testdata", name+".xml")
	if *update {
		clustertest.Must(f.t, os.WriteFile(file, []byte(text), 0o644))
	}
	stored, err := os.ReadFile(file)
	clustertest.Must(f.t, err)
	if string(stored) != text {
		f.t.Errorf("%s is\n%s\nwant\n%s", name, text, stored)
	}
}

// typed returns the attributes of a queue, which must exist.
func (f *fixture) typed(name string) (a queue.QueueAttributes) {
	f.t.Helper()
	_, err := f.node.Read(f.t.Context(), func(v queue.View) error {
		var refused *queue.Error
		if a, refused = v.Typed(name); refused != nil {
			return refused
		}
		return nil
	})
	clustertest.Must(f.t, err)
	return a
}

func (f *fixture) exists(name string) (found bool) {
	f.t.Helper()
	_, err := f.node.Read(f.t.Context(), func(v queue.View) error {
		found = v.QueueExists(name)
		return nil
	})
	clustertest.Must(f.t, err)
	return found
}

func TestQueueLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.golden("missing", f.get("life/Orders.v2"), http.StatusOK)
	created := f.put("life/Orders.v2", "<LockDuration>PT30S</LockDuration><RequiresDuplicateDetection>true</RequiresDuplicateDetection>"+
		"<RequiresSession>true</RequiresSession><DefaultMessageTimeToLive>PT1H</DefaultMessageTimeToLive>"+
		"<DeadLetteringOnMessageExpiration>true</DeadLetteringOnMessageExpiration>"+
		"<DuplicateDetectionHistoryTimeWindow>PT20S</DuplicateDetectionHistoryTimeWindow><MaxDeliveryCount>3</MaxDeliveryCount>"+
		"<ForwardTo /><EnablePartitioning>true</EnablePartitioning>")
	f.golden("created", created, http.StatusCreated)
	if got := created.header.Get("Content-Type"); got != documentType {
		t.Errorf("type %s", got)
	}
	const name = "life_2FOrders_2Ev2"
	a := f.typed(name + ".fifo")
	if a.Profile != attributes.ProfileServiceBus || a.Redrive.Target != name+"-dlq.fifo" || a.Redrive.MaxReceiveCount != 3 ||
		a.Deduplication.WindowSeconds != 20 || a.GroupOptional || a.Deduplication.Disabled || a.VisibilitySeconds != 30 {
		t.Errorf("the queue has %+v", a)
	}
	if dead := f.typed(name + "-dlq.fifo"); !dead.GroupOptional || dead.Retention() != 0 || dead.VisibilitySeconds != 30 {
		t.Errorf("the dead-letter queue has %+v", dead)
	}
	// Names are compared without letter case, and an entity is created once.
	f.golden("exists", f.put("LIFE/orders.V2", ""), http.StatusConflict)
	want(t, f.get("LIFE/orders.V2"), http.StatusOK, "<title type=\"text\">life/Orders.v2</title>")

	changed := f.put("life/Orders.v2", "<LockDuration>PT45S</LockDuration><MaxDeliveryCount>10</MaxDeliveryCount>"+
		"<RequiresSession>true</RequiresSession><Status>ReceiveDisabled</Status><SizeInBytes>7</SizeInBytes>"+
		"<MaxSizeInMegabytes>5120</MaxSizeInMegabytes>", "If-Match", "*")
	want(t, changed, http.StatusOK, "<LockDuration>PT45S<", "<MaxDeliveryCount>10<", "<Status>ReceiveDisabled<",
		"<MaxSizeInMegabytes>5120<",
		"<DefaultMessageTimeToLive>PT1H<", "<SizeInBytes>0<")
	if a, dead := f.typed(name+".fifo"), f.typed(name+"-dlq.fifo"); a.Redrive.Target != "" || !a.ImplicitDeadLetterQueue ||
		a.Status != attributes.StatusReceiveDisabled || a.SizeMegabytesMax != 5120 ||
		a.VisibilitySeconds != 45 || dead.VisibilitySeconds != 45 {
		t.Errorf("the queue has %+v, its dead-letter queue %+v", a, dead)
	}
	f.golden("fixed", f.put("life/Orders.v2", "<RequiresSession>false</RequiresSession>", "If-Match", "*"), http.StatusBadRequest)

	if got := f.send(http.MethodDelete, "/LIFE/Orders.V2"+version, ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("got %+v", got)
	}
	if f.exists(name+".fifo") || f.exists(name+"-dlq.fifo") {
		t.Error("a queue is left")
	}
	f.golden("gone", f.send(http.MethodDelete, "/life/Orders.v2"+version, ""), http.StatusNotFound)
	want(t, f.put("life/Orders.v2", "", "If-Match", "*"), http.StatusNotFound, "SubCode=40400.")
}

// TestLongestName checks a name whose queue has the longest one.
func TestLongestName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	path := strings.Repeat(".", entity.PathLengthMax)
	want(t, f.put(path, ""), http.StatusCreated, ">"+path+"<")
	if name := strings.Repeat("_2E", entity.PathLengthMax); !f.exists(name+".fifo") || !f.exists(name+"-dlq.fifo") {
		t.Error("the queues do not exist")
	}
	want(t, f.send(http.MethodDelete, "/"+path+version, ""), http.StatusOK)
}

// TestRecords checks what the access log, the audit and metrics say.
func TestRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for _, step := range []struct {
		do     func() answer
		action string
		effect service.Effect
		code   string
	}{
		{func() answer { return f.put("recorded", "") }, "CreateQueue", service.Audited, ""},
		{func() answer { return f.put("recorded", "") }, "CreateQueue", service.Audited, "Conflict"},
		{func() answer { return f.put("recorded", "<Colour>red</Colour>", "If-Match", "*") },
			"SetQueueAttributes", service.Audited, "BadRequest"},
		{func() answer { return f.get("recorded") }, "GetQueueAttributes", service.Reads, ""},
		{func() answer { return f.send(http.MethodDelete, "/recorded"+version, "") }, "DeleteQueue", service.Audited, ""},
	} {
		step.do()
		r := f.last()
		if r.Action != step.action || r.Effect != step.effect || r.Code != step.code || r.Queue != "recorded.fifo" ||
			r.Permission != "sqs:"+step.action || r.Protocol != Protocol {
			t.Errorf("%s is recorded as %+v", step.action, r)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.put("counted", ""), http.StatusCreated)
	for _, name := range []string{"counted.fifo", "counted.fifo", "counted-dlq.fifo"} {
		_, err := f.node.Submit(t.Context(), &queue.SendMessages{Queue: name, Entries: []queue.SendEntry{{Body: "12345678"}}})
		clustertest.Must(t, err)
	}
	want(t, f.get("counted"), http.StatusOK, "<SizeInBytes>24<", "<MessageCount>3<", "<d2p1:ActiveMessageCount>2<",
		"<d2p1:DeadLetterMessageCount>1<", "<d2p1:ScheduledMessageCount>0<")
}

// TestForeignQueues reads and deletes queues that no Service Bus client made.
func TestForeignQueues(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	create := func(name string, given ...queue.Attribute) {
		given = append(given, queue.Attribute{Name: "FifoQueue", Value: "true"})
		_, err := f.node.Submit(t.Context(), &queue.CreateQueue{Queue: name, Attributes: given})
		clustertest.Must(t, err)
	}
	create("foreign_2024.fifo")
	want(t, f.get("foreign_2024"), http.StatusOK, "<LockDuration>PT30S<", "<RequiresDuplicateDetection>true<", "<RequiresSession>true<",
		"<DefaultMessageTimeToLive>P4D<", "<MaxDeliveryCount>2147483647<")
	// A queue without a dead-letter queue gets one with a count.
	want(t, f.put("foreign_2024", "<MaxDeliveryCount>4</MaxDeliveryCount>", "If-Match", "*"), http.StatusOK, "<MaxDeliveryCount>4<")
	if a := f.typed("foreign_2024.fifo"); a.Redrive.Target != "foreign_2024-dlq.fifo" || !f.exists("foreign_2024-dlq.fifo") {
		t.Errorf("the queue has %+v", a)
	}
	// A dead-letter queue of another name stays, and the policy keeps it.
	create("foreign-errors.fifo")
	create("foreign.fifo", queue.Attribute{Name: "RedrivePolicy",
		Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:foreign-errors.fifo","maxReceiveCount":2}`})
	want(t, f.put("foreign", "<MaxDeliveryCount>10</MaxDeliveryCount>", "If-Match", "*"), http.StatusOK)
	want(t, f.send(http.MethodDelete, "/foreign"+version, ""), http.StatusOK)
	if !f.exists("foreign-errors.fifo") {
		t.Error("a queue was deleted that is no built-in dead-letter queue")
	}
	// A dead-letter queue that another queue uses, too, stays.
	want(t, f.put("shared", ""), http.StatusCreated)
	create("shares.fifo", queue.Attribute{Name: "RedrivePolicy",
		Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:shared-dlq.fifo","maxReceiveCount":2}`})
	want(t, f.send(http.MethodDelete, "/shared"+version, ""), http.StatusOK)
	if f.exists("shared.fifo") || !f.exists("shared-dlq.fifo") {
		t.Error("the wrong queues are left")
	}
}

// TestRefusals checks requests that change nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.put("refusing", ""), http.StatusCreated)
	put := func(path, body string, more ...string) answer {
		return f.send(http.MethodPut, path+version, body, more...)
	}
	for name, tc := range map[string]struct {
		got    answer
		status int
		text   string
	}{
		"no XML":              {put("/r1", "{}"), 400, "SubCode=40000. Bad Request."},
		"another document":    {put("/r1", "<feed/>"), 400, "The body must be an Atom entry"},
		"no description":      {put("/r1", `<entry xmlns="http://www.w3.org/2005/Atom"/>`), 400, "whose content is one description"},
		"another description": {put("/r1", describing("RelayDescription", "")), 400, "RelayDescription is no description of a queue"},
		"a subscription":      {put("/t/Subscriptions/s", describing("SubscriptionDescription", "")), 404, "SubCode=40400."},
		"a rule":              {put("/t/subscriptions/s/Rules/r", describing("RuleDescription", "")), 404, "SubCode=40400."},
		"an unknown property": {f.put("r1", "<Colour>red</Colour>"), 400, "There is no property Colour."},
		"a property twice":    {f.put("r1", "<Status>Active</Status><Status>Active</Status>"), 400, "given twice"},
		"authorization rules": {f.put("r1", "<AuthorizationRules><AuthorizationRule/></AuthorizationRules>"), 400,
			"AuthorizationRules cannot be"},
		"a short window": {f.put("r1", "<DuplicateDetectionHistoryTimeWindow>PT19S</DuplicateDetectionHistoryTimeWindow>"), 400,
			"SubCode=40000. The value supplied must be between 00:00:20 and 7.00:00:00."},
		"a high delivery count":  {f.put("r1", "<MaxDeliveryCount>1001</MaxDeliveryCount>"), 400, "between 1 and 1000"},
		"a name with a blank":    {f.put("a%20b", ""), 400, "not a valid entity name"},
		"a long name":            {f.put(strings.Repeat("a", 261), ""), 400, "up to 260 characters"},
		"an ETag":                {f.put("refusing", "", "If-Match", `"1"`), 412, "If-Match"},
		"a large body":           {f.put("r1", strings.Repeat(" ", bodyBytesMax)), 413, "too long"},
		"another resource":       {f.get("$Resources/relays"), 404, "SubCode=40400."},
		"subscriptions":          {f.get("t/Subscriptions"), 404, "SubCode=40400."},
		"rules":                  {f.get("t/Subscriptions/s/Rules"), 404, "SubCode=40400."},
		"a put of the namespace": {put("/$namespaceinfo", ""), 404, "SubCode=40400."},
		"a page from nowhere":    {f.send(http.MethodGet, "/$Resources/queues"+version+"&$skip=x", ""), 400, "$skip"},
		"a negative page":        {f.send(http.MethodGet, "/$Resources/topics"+version+"&%24top=0", ""), 400, "$top"},
	} {
		if tc.got.status != tc.status || !strings.Contains(tc.got.body, tc.text) {
			t.Errorf("%s: got %d %s", name, tc.got.status, tc.got.body)
		}
		var parsed errorBody
		if err := xml.Unmarshal([]byte(tc.got.body), &parsed); err != nil || parsed.Code != strconv.Itoa(tc.status) {
			t.Errorf("%s: %v, %+v", name, err, parsed)
		}
	}
	if f.exists("r1.fifo") || f.exists("r1-dlq.fifo") {
		t.Error("a refused request created a queue")
	}
}
