package gate

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/statehash"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/iam"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

const (
	ours     = "000000000000"
	theirs   = "999999999999"
	rootKey  = "SRTMROOT000000000001"
	annaKey  = "SRTMANNA000000000001"
	oldKey   = "SRTMANNA000000000002"
	otherKey = "SRTMOTHER00000000001"
	newKey   = "SRTMNEW0000000000001"
	secret   = "an-example-and-no-secret"
	orders   = "arn:aws:sqs:us-east-1:000000000000:orders.fifo"
)

// testNode is a node with some access keys. CatchUp calls caught.
type testNode struct {
	table   atomic.Pointer[access.Table]
	catches atomic.Int32
	caught  func() error // nil: no change
}

// Secret opens a sealed text of the form "sealed SECRET".
func (n *testNode) Secret(k access.Key) (string, error) {
	if k.Sealed == "" {
		return k.Secret, nil
	}
	if opened, ok := strings.CutPrefix(k.Sealed, "sealed "); ok {
		return opened, nil
	}
	return "", errors.New("this node has no key")
}

func (n *testNode) Access() *access.Table { return n.table.Load() }

func (n *testNode) CatchUp(context.Context) error {
	n.catches.Add(1)
	if n.caught != nil {
		return n.caught()
	}
	return nil
}

func newNode() *testNode {
	t := access.NewTable()
	for _, k := range []access.Key{
		{ID: rootKey, User: access.User{Account: ours}},
		{ID: annaKey, User: access.User{Account: ours, Name: "anna"}},
		{ID: oldKey, User: access.User{Account: ours, Name: "anna"}, Inactive: true},
		{ID: otherKey, User: access.User{Account: theirs}},
	} {
		k.Secret = secret
		t = t.WithKey(statehash.Key{}, k)
	}
	n := &testNode{}
	n.table.Store(t)
	return n
}

func signed(t *testing.T, key, withSecret string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:9324/", http.NoBody)
	clustertest.Must(t, err)
	r.RemoteAddr = "192.0.2.7:4711"
	if key != "" {
		(&sigv4.Signer{KeyID: key, Secret: withSecret, Region: "us-east-1", Service: "sqs", Now: time.Now}).Sign(r, "")
	}
	return r
}

func codeOf(err error) string {
	if refused, ok := errors.AsType[*auth.Error](err); ok {
		return refused.Code
	}
	return ""
}

func TestVerify(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, key, secret string
		want              auth.Identity
		code              string
	}{
		{"the account", rootKey, secret, auth.Identity{AccessKeyID: rootKey, Service: "sqs", Account: ours}, ""},
		{"a user", annaKey, secret, auth.Identity{AccessKeyID: annaKey, Service: "sqs", Account: ours, User: "anna"}, ""},
		{"unsigned", "", "", auth.Identity{}, ""},
		{"a wrong secret", annaKey, secret + "!", auth.Identity{}, "SignatureDoesNotMatch"},
		{"a disabled key", oldKey, secret, auth.Identity{}, "InvalidClientTokenId"},
		{"a key that nobody has", newKey, secret, auth.Identity{}, "InvalidClientTokenId"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := New(newNode(), time.Now).Verify(signed(t, tc.key, tc.secret), "")
			if got != tc.want || codeOf(err) != tc.code {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// A request signed with a key that this node cannot open yet is answered ServiceUnavailable, not as
// wrongly signed.
func TestVerifySealed(t *testing.T) {
	t.Parallel()
	n := newNode()
	for sealed, want := range map[string]string{"sealed " + secret: "", "for other nodes": "ServiceUnavailable"} {
		key := access.Key{ID: newKey, Sealed: sealed, User: access.User{Account: ours}}
		n.table.Store(n.Access().WithKey(statehash.Key{}, key))
		_, _, err := New(n, time.Now).Verify(signed(t, newKey, secret), "")
		if codeOf(err) != want {
			t.Errorf("%q: %v", sealed, err)
		}
		if refused, ok := errors.AsType[*auth.Error](err); ok && refused.Status != http.StatusServiceUnavailable {
			t.Errorf("%q: status %d", sealed, refused.Status)
		}
	}
}

// TestSignedRequestsThatSayMore sends correctly signed requests that are refused for other parts.
func TestSignedRequestsThatSayMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, target, service string
		token                 bool
		code                  string
	}{
		{"for sqs", "/", "sqs", false, ""},
		{"for sns", "/000000000000/orders?Action=Publish&a=1&b=1", "sns", false, ""},
		{"a native call", "/seriatim.v1.Queues/Send", "sqs", false, ""},
		{"for another service", "/", "s3", false, "SignatureDoesNotMatch"},
		{"a token", "/", "sqs", true, "InvalidClientTokenId"},
		{"a token in the query", "/?X-Amz-Security-Token=x", "sqs", false, "InvalidClientTokenId"},
		{"two parameters of a name", "/?Action=SendMessage&Action=DeleteQueue", "sqs", false, "SignatureDoesNotMatch"},
		{"a dotted path", "/111111111111/../orders", "sqs", false, "SignatureDoesNotMatch"},
		{"an escaped dotted path", "/111111111111/%2e%2e/orders", "sqs", false, "SignatureDoesNotMatch"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := signed(t, "", "")
			u, err := r.URL.Parse(tc.target)
			clustertest.Must(t, err)
			path, query, _ := strings.Cut(tc.target, "?")
			if u.Path, err = url.PathUnescape(path); err != nil {
				t.Fatal(err)
			}
			u.RawPath, u.RawQuery = path, query
			r.URL, r.RequestURI = u, tc.target
			if tc.token {
				r.Header.Set("X-Amz-Security-Token", "x")
			}
			(&sigv4.Signer{KeyID: annaKey, Secret: secret, Region: "mars", Service: tc.service, Now: time.Now}).Sign(r, "")
			_, _, err = New(newNode(), time.Now).Verify(r, "")
			if codeOf(err) != tc.code || (err == nil) != (tc.code == "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNewestKeys checks that a node that does not know a key catches up first.
func TestNewestKeys(t *testing.T) {
	t.Parallel()
	n := newNode()
	n.caught = func() error {
		n.table.Store(n.Access().WithKey(statehash.Key{}, access.Key{ID: newKey, Secret: secret,
			User: access.User{Account: ours, Name: "new"}}))
		return nil
	}
	g := New(n, time.Now)
	for range 2 {
		if got, _, err := g.Verify(signed(t, newKey, secret), ""); err != nil || got.User != "new" {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if n.catches.Load() != 1 {
		t.Errorf("the node caught up %d times", n.catches.Load())
	}
	n.table.Store(n.Access().WithoutKey(statehash.Key{}, newKey))
	n.caught = func() error { return errors.New("no leader") }
	if _, _, err := g.Verify(signed(t, newKey, secret), ""); codeOf(err) != "InvalidClientTokenId" {
		t.Errorf("a revoked key: %v", err)
	}
}

// TestUnauthenticatedCallersAreBounded sends more requests with unknown keys than may wait at once.
func TestUnauthenticatedCallersAreBounded(t *testing.T) {
	t.Parallel()
	n := newNode()
	waiting, release := make(chan struct{}), make(chan struct{})
	n.caught = func() error {
		waiting <- struct{}{}
		<-release
		return nil
	}
	g := New(n, time.Now)
	ended := make(chan error, searchesMax)
	for range searchesMax {
		r := signed(t, newKey, secret)
		go func() {
			_, _, err := g.Verify(r, "")
			ended <- err
		}()
	}
	for range searchesMax {
		<-waiting
	}
	if _, _, err := g.Verify(signed(t, newKey, secret), ""); codeOf(err) != "InvalidClientTokenId" || n.catches.Load() != searchesMax {
		t.Errorf("got %v, and %d requests made the node catch up", err, n.catches.Load())
	}
	close(release)
	for range searchesMax {
		if err := <-ended; codeOf(err) != "InvalidClientTokenId" {
			t.Errorf("got %v", err)
		}
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	root := auth.Identity{AccessKeyID: rootKey, Account: ours}
	anna := auth.Identity{AccessKeyID: annaKey, Account: ours, User: "anna"}
	other := auth.Identity{AccessKeyID: otherKey, Account: theirs}
	statement := func(effect, principal, action, rest string) string {
		return `{"Statement":{"Effect":"` + effect + `","Principal":` + principal + `,"Action":"` + action + `","Resource":"*"` + rest +
			`}}`
	}
	everybody := `"*"`
	for _, tc := range []struct {
		name   string
		caller auth.Identity
		action string
		of     string // policy of the resource
		user   string // policy of anna
		code   string
	}{
		{"the account", root, "sqs:SendMessage", "", "", ""},
		{"the account, denied", root, "sqs:SendMessage", statement("Deny", everybody, "sqs:*", ""), "", "AccessDenied"},
		{"the account, about a policy that denies everything", root, "sqs:SetQueueAttributes", statement("Deny", everybody, "*", ""),
			"", ""},
		{"a user about that", anna, "sqs:SetQueueAttributes", statement("Deny", everybody, "*", ""),
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`, "AccessDenied"},
		{"a user without a policy", anna, "sqs:SendMessage", "", "", "AccessDenied"},
		{"a user with one", anna, "sqs:SendMessage", "", `{"Statement":{"Effect":"Allow","Action":"sqs:Send*","Resource":"` + orders +
			`"}}`, ""},
		{"another action", anna, "sqs:ReceiveMessage", "", `{"Statement":{"Effect":"Allow","Action":"sqs:Send*","Resource":"` + orders +
			`"}}`, "AccessDenied"},
		{"another resource", anna, "sqs:SendMessage", "", `{"Statement":{"Effect":"Allow","Action":"sqs:Send*","Resource":"` + orders +
			`x"}}`, "AccessDenied"},
		{"by the resource", anna, "sqs:SendMessage", statement("Allow", `{"AWS":"arn:aws:iam::000000000000:user/anna"}`,
			"sqs:SendMessage", ""), "", ""},
		{"by name of the user", anna, "sqs:SendMessage", "",
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:username":"anna"}}}}`, ""},
		{"from the right network", anna, "sqs:SendMessage", "",
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"192.0.2.0/24"}}}}`, ""},
		{"from another network", anna, "sqs:SendMessage", "",
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}}`,
			"AccessDenied"},
		{"without TLS", root, "sqs:SendMessage", statement("Deny", everybody, "sqs:*",
			`,"Condition":{"Bool":{"aws:SecureTransport":"false"}}`), "", "AccessDenied"},
		{"another account", other, "sqs:SendMessage", "", "", "AccessDenied"},
		{"another account that the resource permits", other, "sqs:SendMessage",
			statement("Allow", `{"AWS":"999999999999"}`, "sqs:SendMessage", ""), "", ""},
		{"nobody", auth.Identity{}, "sqs:SendMessage", "", "", "MissingAuthenticationToken"},
		{"nobody, where everybody may", auth.Identity{}, "sqs:SendMessage", statement("Allow", everybody, "sqs:SendMessage", ""), "", ""},
		{"a policy that cannot be read", anna, "sqs:SendMessage", `{"Statement":"Allow"}`,
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`, "AccessDenied"},
		{"the account, about a policy that cannot be read", root, "sqs:SetQueueAttributes", `{"Statement":"Allow"}`, "", ""},
		{"the account, about what such a policy is of", root, "sqs:SendMessage", `{"Statement":"Allow"}`, "", "AccessDenied"},
		{"nobody, where a permission has no principal", auth.Identity{}, "sqs:SendMessage",
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`, "", "MissingAuthenticationToken"},
		{"a user whose policy has a typo", anna, "sqs:SendMessage", "",
			`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Conditions":{}}}`, "AccessDenied"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			n := newNode()
			n.table.Store(n.Access().WithPolicy(statehash.Key{},
				access.Policy{User: access.User{Account: ours, Name: "anna"}, Text: tc.user}))
			g := New(n, time.Now)
			for range 2 { // the second time with a cached policy
				from := sigv4.ConnectionOf(signed(t, "", ""))
				err := g.Authorize(t.Context(), &from, tc.caller,
					auth.Permission{Action: tc.action, Resource: orders, Account: ours, Policy: func() string { return tc.of }})
				if codeOf(err) != tc.code || (err == nil) != (tc.code == "") {
					t.Fatalf("got %v", err)
				}
			}
		})
	}
}

// TestDocumentsAreBounded reads more policies than the cache may keep.
func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	var d documents
	long := strings.Repeat("x", 1<<20)
	for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
		if d.read(iam.QueuePolicy, `{"Id":"`+name+long+`","Statement":[]}`) == nil {
			t.Fatal("no document")
		}
	}
	if d.bytes > documentsBytesMax || len(d.known) > 4 {
		t.Errorf("%d documents of %d bytes are kept", len(d.known), d.bytes)
	}
}

// TestVerifyToken checks tokens of known, new, revoked and inactive keys, and no token.
func TestVerifyToken(t *testing.T) {
	t.Parallel()
	n := newNode()
	g := New(n, time.Now)
	verify := func(id, secret string) (auth.Identity, error) {
		caller, token, err := g.VerifyToken(t.Context(), sas.Sign("sb://h/orders", id, secret, time.Now().Add(time.Hour)))
		if err == nil && (!token.Covers("orders") || token.Covers("others")) {
			t.Errorf("%s: token %+v with %v", id, token, err)
		}
		return caller, err
	}
	if got, err := verify(annaKey, secret); err != nil || got.Account != ours || got.User != "anna" || got.Service != sas.Service {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := verify(annaKey, secret+"x"); codeOf(err) != sas.WrongMAC {
		t.Errorf("a wrong secret: %v", err)
	}
	n.caught = func() error {
		n.table.Store(n.Access().WithKey(statehash.Key{}, access.Key{ID: newKey, Secret: secret,
			User: access.User{Account: ours, Name: "new"}}))
		return nil
	}
	if got, err := verify(newKey, secret); err != nil || got.User != "new" || n.catches.Load() != 1 {
		t.Errorf("a new key: %+v, %v", got, err)
	}
	n.caught = func() error { return nil }
	n.table.Store(n.Access().WithoutKey(statehash.Key{}, newKey))
	if _, err := verify(newKey, secret); codeOf(err) != sas.UnknownKey {
		t.Errorf("a revoked key: %v", err)
	}
	if got, _, err := g.VerifyToken(t.Context(), ""); err != nil || got != (auth.Identity{}) {
		t.Errorf("no token: %+v, %v", got, err)
	}
}
