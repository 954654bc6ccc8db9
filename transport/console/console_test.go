package console

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/ops"
)

// examples has a URL for each GET route of the table, with things of the filled node.
var examples = map[string][]string{
	"GET /login": {"/login"}, "GET /{$}": {"/"}, "GET /search": {"/search?q=orders", "/search?q=%3Cscript%3E"},
	"GET /queues":        {"/queues", "/queues?find=ord&sort=oldest&desc=1&only=messages", "/queues?page=-3&sort=none"},
	"GET /queues/{name}": {"/queues/orders.fifo", "/queues/plain"}, "GET /queues/{name}/messages": {"/queues/orders.fifo/messages",
		"/queues/orders.fifo/messages?group=g1", "/queues/plain/messages"},
	"GET /queues/{name}/groups":    {"/queues/orders.fifo/groups", "/queues/orders.fifo/groups?state=blocked", "/queues/plain/groups"},
	"GET /queues/{name}/group":     {"/queues/orders.fifo/group?id=g1", "/queues/orders.fifo/group?id=none"},
	"GET /queues/{name}/dedup":     {"/queues/orders.fifo/dedup", "/queues/orders.fifo/dedup?id=d1", "/queues/plain/dedup"},
	"GET /queues/{name}/dlq":       {"/queues/orders.fifo/dlq", "/queues/dead.fifo/dlq?by=source"},
	"GET /queues/{name}/consumers": {"/queues/orders.fifo/consumers"},
	"GET /queues/{name}/settings":  {"/queues/orders.fifo/settings"}, "GET /queues/{name}/policy": {"/queues/orders.fifo/policy"},
	"GET /queues/{name}/code": {"/queues/orders.fifo/code", "/queues/plain/code"},
	"GET /queues/{name}/tail": {"/queues/orders.fifo/tail", "/queues/orders.fifo/tail?bodies=1"},
	"GET /topics":             {"/topics"},
	"GET /topics/{name}":      {"/topics/sales.fifo", "/topics/sales.fifo?message=x&attributes=%7B%22a%22%3A1%7D"},
	"GET /dlqs":               {"/dlqs"}, "GET /cluster": {"/cluster"}, "GET /access": {"/access"},
	"GET /access/simulator": {"/access/simulator", "/access/simulator?user=anna&action=sqs:SendMessage&resource=orders.fifo",
		"/access/simulator?action=x"},
	"GET /audit": {"/audit", "/audit?tab=log"},
}

// elsewhere are GET routes with tests of their own.
var elsewhere = map[string]bool{"GET /topics/{name}/rules": true, "GET /queues/{name}/message": true, "GET /charts": true}

var secrets = regexp.MustCompile(regexp.QuoteMeta(secret))

func TestEveryPageRenders(t *testing.T) {
	f := newFixture(t, filled, false)
	for _, r := range routes() {
		if !strings.HasPrefix(r.pattern, "GET ") || elsewhere[r.pattern] {
			continue
		}
		if len(examples[r.pattern]) == 0 {
			t.Errorf("%s has no example", r.pattern)
		}
		for _, path := range examples[r.pattern] {
			got := f.get(path)
			if got.code != http.StatusOK || !strings.Contains(got.body, "</html>") {
				t.Errorf("%s: got %d", path, got.code)
			}
			if policy := got.header.Get("Content-Security-Policy"); policy != contentSecurityPolicy {
				t.Errorf("%s: the policy is %q", path, policy)
			}
			if secrets.MatchString(got.body) {
				t.Errorf("%s shows a secret", path)
			}
			for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\u2066", "\x1b", `'"><img src`} {
				if strings.Contains(got.body, bad) {
					t.Errorf("%s contains %q", path, bad)
				}
			}
		}
	}
}

func TestEmptyNodeRenders(t *testing.T) {
	node, err := openNode(filepath.Join(t.TempDir(), "n1"))
	clustertest.Must(t, err)
	t.Cleanup(func() { clustertest.Check(t, node.Close(t.Context())) })
	f := newFixture(t, node, false)
	for _, path := range []string{"/", "/queues", "/topics", "/dlqs", "/cluster", "/access", "/audit", "/search?q=x"} {
		if got := f.get(path); got.code != http.StatusOK {
			t.Errorf("%s: got %d", path, got.code)
		}
	}
	if got := f.get("/queues"); !strings.Contains(got.body, "There are no queues yet") {
		t.Error("the empty list does not say what to do")
	}
}

var hrefs = regexp.MustCompile(`(?:href|src|action)="([^"#]+)`)

// A crawl from the overview finds every link, and each of them works.
func TestLinks(t *testing.T) {
	f := newFixture(t, filled, false)
	seen, todo := map[string]bool{"/": true}, []string{"/"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		got := f.get(path)
		if got.code != http.StatusOK {
			t.Errorf("%s: got %d", path, got.code)
		}
		if strings.HasPrefix(path, "/static/") {
			continue
		}
		for _, found := range hrefs.FindAllStringSubmatch(got.body, -1) {
			link := html.UnescapeString(found[1])
			if !strings.HasPrefix(link, "/") {
				t.Errorf("%s links to %s", path, link)
				continue
			}
			form := strings.Contains(found[0], "action=")
			if !seen[link] && !form && !strings.HasPrefix(link, "/v1/") {
				seen[link] = true
				todo = append(todo, link)
			}
		}
	}
	for _, path := range []string{"/queues/orders.fifo/groups", "/topics/sales.fifo", "/cluster", "/static/console.css"} {
		if !seen[path] {
			t.Errorf("no page leads to %s", path)
		}
	}
	messages := 0
	for path := range seen {
		if strings.Contains(path, "/message?seq=") {
			messages++
		}
	}
	if messages < 4 {
		t.Errorf("the crawl found %d links of messages", messages)
	}
}

// A route that needs a role refuses the role below. The table is the list.
func TestRoles(t *testing.T) {
	f := newFixture(t, filled, true)
	if got := f.get("/queues"); got.path != "/login" {
		t.Errorf("without a login, a page is at %s", got.path)
	}
	for token, who := range tokens {
		csrf := f.logIn(token)
		for _, r := range routes() {
			method, pattern, _ := strings.Cut(r.pattern, " ")
			if pattern == "/login" || pattern == "/logout" || pattern == "/charts" {
				continue
			}
			path := strings.NewReplacer("{name}", "missing.fifo", "{id}", "none", "{change}", "none", "{$}", "").Replace(pattern)
			var got answer
			if method == "POST" {
				got = f.post(path, csrf)
			} else {
				got = f.get(path)
			}
			if refused := got.code == http.StatusForbidden; refused != (who.Role < r.needs) {
				t.Errorf("%s at %s: got %d", who.Role, r.pattern, got.code)
			}
		}
	}
}

// A viewer sees neither contents nor actions.
func TestViewer(t *testing.T) {
	f := newFixture(t, filled, true)
	f.logIn("token-viewer")
	for _, path := range []string{"/queues/orders.fifo", "/queues/orders.fifo/group?id=g1", "/queues/dead.fifo/dlq",
		"/topics/sales.fifo", "/cluster"} {
		got := f.get(path)
		if got.code != http.StatusOK || strings.Contains(got.body, "{&#34;order&#34;: 1") || strings.Contains(got.body,
			`method="post" action="/queues`) ||
			strings.Contains(got.body, `method="post" action="/topics`) || strings.Contains(got.body, `method="post" action="/cluster`) {
			t.Errorf("a viewer at %s gets %d with contents or actions", path, got.code)
		}
	}
}

func TestFormToken(t *testing.T) {
	f := newFixture(t, filled, true)
	csrf := f.logIn("token-admin")
	for _, given := range []string{"", "wrong", csrf + "x"} {
		if got := f.post("/queues", given, "name", "refused"); got.code != http.StatusForbidden {
			t.Errorf("with the form token %q, got %d", given, got.code)
		}
	}
	if got := f.get("/queues/refused"); got.code != http.StatusNotFound {
		t.Errorf("a form without token created a queue: %d", got.code)
	}
	other := f.logIn("token-operator")
	if other == csrf {
		t.Error("two sessions have one form token")
	}
	if got := f.post("/queues/plain/send", csrf, "body", "x"); got.code != http.StatusForbidden {
		t.Errorf("with the token of another session, got %d", got.code)
	}
}

// Requests of other web pages are refused before the console sees them.
func TestOtherOrigins(t *testing.T) {
	f := newFixture(t, filled, false)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.server.URL+"/queues", strings.NewReader("name=x"))
	clustertest.Must(t, err)
	r.Header.Set("Origin", "https://example.org")
	if got := f.do(r); got.code != http.StatusForbidden {
		t.Errorf("got %d", got.code)
	}
}

func TestChangesAreAudited(t *testing.T) {
	f := newFixture(t, filled, true)
	csrf := f.logIn("token-admin")
	got := f.post("/queues", csrf, "name", "made.fifo", "content", "1")
	if got.path != "/queues/made.fifo" || !strings.Contains(got.body, "seriatim queue create made.fifo") {
		t.Fatalf("got %d at %s", got.code, got.path)
	}
	if got := f.post("/queues/made.fifo/delete", csrf, "confirm", "mad.fifo"); !strings.Contains(got.body, "Nothing was changed") {
		t.Error("a queue can be deleted without its name")
	}
	if got := f.post("/queues/made.fifo/delete", csrf, "confirm", "made.fifo"); got.path != "/queues" {
		t.Errorf("the deletion ends at %s", got.path)
	}
	f.post("/access/keys", csrf, "user", "ben")
	f.post("/cluster/drain", csrf, "node", "n1")
	f.post("/cluster/uncordon", csrf, "node", "n1")
	audit := f.audited()
	for _, line := range []string{"action=CreateQueue", "action=DeleteQueue", `account="operator ada"`, `what="POST /v1/access/keys"`,
		`what="POST /v1/cluster/drain"`, "who=ada", `msg="console login"`} {
		if !strings.Contains(audit, line) {
			t.Errorf("the audit lacks %s:\n%s", line, audit)
		}
	}
}

// The secret of a new key is on the page that answers its creation, and nowhere else.
func TestNewKeyIsShownOnce(t *testing.T) {
	f := newFixture(t, filled, true)
	got := f.post("/access/keys", f.logIn("token-admin"), "user", "carl")
	found := regexp.MustCompile(`AWS_SECRET_ACCESS_KEY=([A-Za-z0-9_-]{40})`).FindStringSubmatch(got.body)
	if found == nil {
		t.Fatalf("the answer has no secret: %d", got.code)
	}
	if again := f.get("/access"); strings.Contains(again.body, found[1]) {
		t.Error("the secret is shown again")
	}
	if strings.Contains(f.audited(), found[1]) {
		t.Error("the secret is in the audit")
	}
}

func TestLogins(t *testing.T) {
	f := newFixture(t, filled, true)
	attempt := func(pairs ...string) answer {
		f.client = f.browser()
		return f.post("/login", f.csrf("/login"), pairs...)
	}
	for _, wrong := range [][]string{{"token", "no"}, {"key", rootKey, "secret", "no"}, {"key", "none", "secret", secret}, {"key",
		rootKey}, {}} {
		if got := attempt(wrong...); got.path != "/login" || !strings.Contains(got.body, "The login was refused") {
			t.Errorf("%q: got %d at %s", wrong, got.code, got.path)
		}
	}
	if got := attempt("token", "token-viewer", "next", "https://example.org/"); got.path != "/" {
		t.Errorf("the login leads to %s", got.path)
	}
	cookies := f.client.Jar.Cookies(mustURL(t, f.server.URL))
	if len(cookies) != 1 {
		t.Fatalf("got %d cookies", len(cookies))
	}
	if got := f.post("/logout", f.csrf("/queues")); got.path != "/login" {
		t.Errorf("the logout ends at %s", got.path)
	}
	f.client.Jar.SetCookies(mustURL(t, f.server.URL), cookies)
	if got := f.get("/queues"); got.path != "/login" {
		t.Error("the cookie works after the logout")
	}
}

// A session of an access key may do what its policy permits.
func TestAccessKeys(t *testing.T) {
	f := newFixture(t, filled, true)
	f.client = f.browser()
	got := f.post("/login", f.csrf("/login"), "key", userKey, "secret", secret)
	if got.code != http.StatusOK || got.path != "/queues" || !strings.Contains(got.body, "orders.fifo") {
		t.Fatalf("got %d at %s", got.code, got.path)
	}
	csrf := f.csrf("/queues")
	for path, code := range map[string]int{
		"/queues/orders.fifo": 200, "/queues/orders.fifo/groups": 200, "/queues/orders.fifo/messages": 403,
		"/queues/orders.fifo/message?seq=10000000000000000001": 403,
		"/topics": 403, "/cluster": 403, "/access": 403, "/audit": 403, "/search?q=orders": 200,
	} {
		if got := f.get(path); got.code != code {
			t.Errorf("%s: got %d, want %d", path, got.code, code)
		}
	}
	if got := f.post("/queues/orders.fifo/purge", csrf, "confirm", "orders.fifo"); !strings.Contains(got.body, "flash failed") {
		t.Error("the policy permits no purge, and the console did not refuse it")
	}
}

func TestCookie(t *testing.T) {
	f := newFixture(t, filled, true)
	f.client = f.browser()
	cookie := f.get("/login").header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie %q lacks %s", cookie, part)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	f := newFixture(t, filled, true)
	now := time.Now()
	s := newSessions(func() time.Time { return now }, zeros{new(byte)})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.server.URL, nil)
	clustertest.Must(t, err)
	first, err := s.begin(discard{}, r, credentials{login: true})
	clustertest.Must(t, err)
	for range 2 * sessionsMax {
		clustertest.Must(t, clustertest.Err(s.begin(discard{}, r, credentials{})))
	}
	r.AddCookie(first.cookie(r, 1))
	if len(s.byID) != sessionsMax || s.find(r) != first {
		t.Errorf("%d sessions are left, with the first login: %v", len(s.byID), s.find(r) == first)
	}
	now = now.Add(sessionIdle + time.Second)
	if s.find(r) != nil {
		t.Error("an idle session lives on")
	}
}

func TestThirdPartyFiles(t *testing.T) {
	text, err := fs.ReadFile(staticFiles, "static/THIRD-PARTY.txt")
	clustertest.Must(t, err)
	checked := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Fields(line)
		content, err := fs.ReadFile(staticFiles, "static/"+parts[1])
		clustertest.Must(t, err)
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != parts[0] {
			t.Errorf("%s is not the file of %s %s", parts[1], parts[2], parts[3])
		}
		checked++
	}
	if checked != 5 {
		t.Errorf("%d files were checked", checked)
	}
}

var inline = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script>|javascript:|https?://|hx-on`)

// Templates contain neither scripts nor styles, which the policy would block, and no other host.
func TestTemplatesHaveNothingInline(t *testing.T) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	clustertest.Must(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(templateFiles, name)
		clustertest.Must(t, err)
		if found := inline.Find(text); found != nil {
			t.Errorf("%s contains %s", name, found)
		}
	}
}

func TestMessageViews(t *testing.T) {
	f := newFixture(t, filled, false)
	links := regexp.MustCompile(`/queues/orders\.fifo/message\?seq=\d+`).FindAllString(f.get("/queues/orders.fifo/messages").body, -1)
	shown := map[string]bool{}
	for _, link := range links {
		for _, view := range []string{"", "&view=json", "&view=text", "&view=hex"} {
			got := f.get(link + view)
			if got.code != http.StatusOK || strings.Contains(got.body, "<script>alert") || strings.Contains(got.body, "\u202e") {
				t.Errorf("%s: got %d", link+view, got.code)
			}
			for _, part := range []string{"&#34;order&#34;: 1", "7b 22 6f 72 64 65 72", "abc\ufffddef", "&lt;script&gt;alert"} {
				shown[part] = shown[part] || strings.Contains(got.body, part)
			}
		}
	}
	if len(links) < 4 || len(shown) != 4 {
		t.Errorf("%d links show %v", len(links), shown)
	}
	for part, was := range shown {
		if !was {
			t.Errorf("no view shows %q", part)
		}
	}
	if got := f.get("/queues/orders.fifo/message?seq=10000000000000099999"); got.code != http.StatusNotFound {
		t.Errorf("a missing message: got %d", got.code)
	}
}

// The roles of the table are those of the admin port: nothing is open to everybody but the login.
func TestOnlyTheLoginIsOpen(t *testing.T) {
	for _, r := range routes() {
		if open := r.needs == ops.NoRole; open != strings.HasSuffix(r.pattern, " /login") {
			t.Errorf("%s needs %s", r.pattern, r.needs)
		}
		if strings.HasPrefix(r.pattern, "GET ") && r.needs > ops.Operate {
			t.Errorf("%s changes nothing and needs %s", r.pattern, r.needs)
		}
	}
}
