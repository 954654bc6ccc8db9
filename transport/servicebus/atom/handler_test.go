package atom

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
)

// TestRecognizes checks that no request of AWS is taken for one of the administration API.
func TestRecognizes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, target, header, value string
		want                          bool
	}{
		{"GET", "/orders?api-version=2021-05", "", "", true},
		{"GET", "/orders?enrich=true&api-version=2021-05", "Authorization", sas.Scheme + " sr=x", true},
		{"PUT", "/orders?api-version=2017-04", "", "", true},
		{"DELETE", "/t/subscriptions/s?api-version=2017-04", "", "", true},
		{"GET", "/$Resources/queues?$skip=0&api-version=2021-05", "", "", true},
		{"GET", "/orders", "Authorization", sas.Scheme + " sr=x", false},
		{"POST", "/orders/messages?api-version=2021-05", "", "", false},
		{"POST", "/?api-version=2021-05", "X-Amz-Target", "AmazonSQS.ListQueues", false},
		{"GET", "/?Action=ListQueues&Version=2012-11-05", "", "", false},
		{"GET", "/?Action=ListQueues&api-version=2021-05", "", "", false},
		{"GET", "/000000000000/orders?Xapi-version=1", "", "", false},
		{"GET", "/000000000000/orders?api-version=1", "Authorization", "AWS4-HMAC-SHA256 Credential=x", false},
		{"GET", "/000000000000/orders?api-version=1&X-Amz-Credential=x", "", "", false},
		{"GET", "/000000000000/orders?api-version=1", "X-Amz-Target", "AmazonSQS.ListQueues", false},
	} {
		r := httptest.NewRequest(tc.method, tc.target, nil)
		if tc.header != "" {
			r.Header.Set(tc.header, tc.value)
		}
		if got := Recognizes(r); got != tc.want {
			t.Errorf("%s %s with %s: %v", tc.method, tc.target, tc.header, got)
		}
	}
	f := newFixture(t, nil)
	want(t, f.send(http.MethodPut, "/orders", ""), http.StatusTeapot)
}

// TestFailures checks how failures of the cluster are answered: always so that SDKs retry.
func TestFailures(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	for err, status := range map[error]int{
		cluster.ErrOutcomeUnknown: 503, cluster.ErrUnavailable: 503, cluster.ErrNotLeader: 503, cluster.ErrOverloaded: 503,
		errors.New("a defect"): 500,
	} {
		f.node.err = err
		want(t, f.put("failing", ""), status, "<Error><Code>50")
		want(t, f.get("$Resources/queues"), status)
	}
}

// testAudienceOfList lists subscriptions as the SDK for JavaScript does: its token is for that list.
func testAudienceOfList(t *testing.T, f *fixture) {
	t.Helper()
	owner := f.token
	want(t, f.putTopic("audience", ""), http.StatusCreated)
	f.token = sas.Sign(f.url+"/audience/subscriptions/"+version, accountKey, secret, time.Now().Add(time.Hour))
	want(t, f.send(http.MethodGet, "/audience/Subscriptions/"+version, ""), http.StatusOK, "Subscriptions")
	want(t, f.get("audience"), http.StatusUnauthorized)
	f.token = owner
	want(t, f.remove("audience"), http.StatusOK)
}

func TestParsePath(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]kind{
		"/orders": entityKind, "/eu/orders/": entityKind, "/subscriptions": entityKind, "/rules/x": entityKind,
		"/$namespaceinfo": namespaceKind, "/$NamespaceInfo": namespaceKind, "/$Resources/Queues": queuesKind,
		"/$resources/topics": topicsKind, "/$Resources/relays": unknownKind, "/": unknownKind,
		"/t/subscriptions": subscriptionsKind, "/a/t/Subscriptions/s/Rules": rulesKind,
		"/t/Subscriptions/s": subscriptionKind, "/t/subscriptions/s/rules/r": ruleKind,
	} {
		if got, _ := parsePath(target); got != want {
			t.Errorf("%s is %d, want %d", target, got, want)
		}
	}
}

// TestReferences checks that texts have no numeric character references: the SDK for JavaScript returns
// these as they are.
func TestReferences(t *testing.T) {
	t.Parallel()
	e := document.Text("SqlExpression", "a = 'b' AND\n\t\"c\" <> '&#39;'")
	got := string(appendXML(nil, e))
	if want := "<SqlExpression>a = 'b' AND\n\t&quot;c&quot; &lt;&gt; '&amp;#39;'</SqlExpression>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
