package atom

import (
	"encoding/xml"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sas"
)

const (
	account    = "111111111111"
	secret     = "an-example-and-no-secret"
	accountKey = "SRTMROOT000000000001"
	userKey    = "SRTMANNA000000000001"
)

// guarded is a port that requires tokens, for an account of the test.
func guarded(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, func(o *Options) {
		g := gate.New(o.Backend.Node.(*failingNode), time.Now)
		o.Verifier, o.Backend.Authorizer = g, g
	})
	for _, cmd := range []queue.Command{
		&access.CreateAccount{Account: account},
		&access.CreateAccessKey{ID: accountKey, Secret: secret, Account: account},
		&access.CreateAccessKey{ID: userKey, Secret: secret, Account: account, User: "anna"},
	} {
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), cmd)))
	}
	f.token = sas.Sign(f.url, accountKey, secret, time.Now().Add(time.Hour))
	return f
}

// TestTokens checks tokens, permissions, and pages of lists with an account of its own.
func TestTokens(t *testing.T) {
	t.Parallel()
	f := guarded(t)
	sign := func(audience, key string) string { return sas.Sign(audience, key, secret, time.Now().Add(time.Hour)) }
	want(t, f.put("Guarded", ""), http.StatusCreated)
	if !f.exists(account + "/Guarded.fifo") {
		t.Error("the queue does not belong to the account")
	}
	user := sign(f.url, userKey)
	for name, tc := range map[string]struct {
		token, method, path string
		status              int
		text                string
	}{
		"without a token": {"", "GET", "Guarded", 401,
			"SubCode=40100: Unauthorized : Unauthorized access for 'GetQueueAttributes' operation on endpoint 'sb://"},
		"without one, in another case": {"", "GET", "guarded", 401, "MissingAuthenticationToken"},
		"another scheme":               {"Bearer x", "GET", "Guarded", 401, "SubCode=40103: Malformed authorization token"},
		"a wrong key": {sas.Sign(f.url, accountKey, "x", time.Now().Add(time.Hour)), "GET", "Guarded", 401,
			"SubCode=40103: Invalid authorization token signature"},
		"an old token":                 {sas.Sign(f.url, accountKey, secret, time.Unix(1, 0)), "GET", "Guarded", 401, "expired"},
		"another entity":               {sign("sb://h/other", accountKey), "GET", "Guarded", 401, "does not cover Guarded"},
		"the entity":                   {sign("sb://h/guarded", accountKey), "GET", "Guarded", 200, "<title type=\"text\">Guarded<"},
		"a list with a token for less": {sign("sb://h/guarded", accountKey), "GET", "$Resources/queues", 401, "does not cover"},
		"a user reads":                 {user, "GET", "Guarded", 401, "SubCode=40100"},
		"a user deletes":               {user, "DELETE", "Guarded", 401, "'DeleteQueue'"},
		"a user lists":                 {user, "GET", "$Resources/Queues", 401, "'ListQueues'"},
		"a user asks for the name":     {user, "GET", "$namespaceinfo", 401, "'ListQueues'"},
	} {
		f.token = tc.token
		if got := f.send(tc.method, "/"+tc.path+version, ""); got.status != tc.status ||
			!strings.Contains(html.UnescapeString(got.body)+f.last().Code, tc.text) {
			t.Errorf("%s: got %d %s", name, got.status, got.body)
		}
	}
	f.token = user
	want(t, f.put("mine", ""), http.StatusUnauthorized, "'CreateQueue'")
	want(t, f.put("Guarded", "<LockDuration>PT5S</LockDuration>", "If-Match", "*"), http.StatusUnauthorized, "'SetQueueAttributes'")
	// A permission to the queue alone does not suffice for its dead-letter queue.
	permit := func(actions, resources string) {
		t.Helper()
		text := `{"Statement":{"Effect":"Allow","Action":` + actions + `,"Resource":` + resources + `}}`
		policy := &access.PutUserPolicy{Account: account, User: "anna", Policy: text}
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(), policy)))
	}
	permit(`"*"`, `"arn:aws:sqs:us-east-1:`+account+`:Guarded.fifo"`)
	want(t, f.get("GUARDED"), http.StatusOK)
	want(t, f.put("Guarded", "<LockDuration>PT5S</LockDuration>", "If-Match", "*"), http.StatusUnauthorized)
	want(t, f.send(http.MethodDelete, "/Guarded"+version, ""), http.StatusUnauthorized)
	permit(`"sqs:ListQueues"`, `"*"`)
	want(t, f.get("$Resources/queues"), http.StatusUnauthorized)
	permit(`["sqs:ListQueues","sqs:GetQueueAttributes"]`, `"*"`)
	want(t, f.get("$Resources/queues"), http.StatusOK, "Guarded")
	permit(`"*"`, `"*"`)
	want(t, f.send(http.MethodDelete, "/Guarded"+version, ""), http.StatusOK)
	if f.exists(account+"/Guarded.fifo") || f.exists(account+"/Guarded-dlq.fifo") {
		t.Error("a queue is left")
	}
	f.token = sign(f.url, accountKey)
	t.Run("topics", func(t *testing.T) { testTopicPermissions(t, f, user) })
	t.Run("forwarding", func(t *testing.T) { testForwardTokens(t, f, user) })
	t.Run("audience", func(t *testing.T) { testAudienceOfList(t, f) })
	t.Run("pages", func(t *testing.T) { testPages(t, f) })
	t.Run("client", func(t *testing.T) { testClient(t, f) })
}

// page is a feed as a client reads it.
type page struct {
	Titles []string `xml:"entry>title"`
	Links  []struct {
		Rel  string `xml:"rel,attr"`
		HREF string `xml:"href,attr"`
	} `xml:"link"`
}

func testPages(t *testing.T, f *fixture) {
	for _, name := range []string{"a", "b.1", "b/2", "c", "d-dlq"} {
		want(t, f.put(name, ""), http.StatusCreated)
	}
	for _, name := range []string{"standard", "a_2D.fifo"} { // no entities
		attributes := []queue.Attribute{{Name: "FifoQueue", Value: "true"}}
		if !strings.HasSuffix(name, ".fifo") {
			attributes = nil
		}
		clustertest.Must(t, clustertest.Err(f.node.Submit(t.Context(),
			&queue.CreateQueue{Queue: access.Qualify(account, name), Attributes: attributes})))
	}
	var titles []string
	sizes := ""
	for target := "/$Resources/queues" + version + "&$skip=0&$top=2"; target != ""; {
		got := f.send(http.MethodGet, target, "")
		want(t, got, http.StatusOK)
		var p page
		clustertest.Must(t, xml.Unmarshal([]byte(got.body), &p))
		titles = append(titles, p.Titles...)
		sizes += string(rune('0' + len(p.Titles)))
		target = ""
		if len(p.Links) == 2 {
			target = strings.TrimPrefix(p.Links[1].HREF, f.url)
		}
	}
	if got := strings.Join(titles, " "); got != "a b.1 b/2 c d-dlq" || sizes != "221" {
		t.Errorf("listed %s in pages of %s", got, sizes)
	}
	f.golden("list", f.send(http.MethodGet, "/$Resources/Queues"+version+"&$skip=1&$top=1", ""), http.StatusOK)
	f.golden("namespace", f.get("$namespaceinfo"), http.StatusOK)
}
