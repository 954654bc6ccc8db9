package console

import (
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/ops"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Node is the node behind the console; *cluster.Node is one. Safe for concurrent use.
type Node interface {
	Status() cluster.Status
	Access() *access.Table
	Secret(key access.Key) (string, error)
	// ReadLocal calls read with the state that this node has applied.
	ReadLocal(read func(queue.View))
	// Depths returns the messages of a queue in the last steps of 10 seconds.
	Depths(queue string, steps int) []int64
}

// Options configure a Console.
type Options struct {
	Node   Node
	Admin  *ops.Admin   // documents about the cluster, access and history
	Native *grpc.Server // queues, messages and topics
	Tokens ops.Tokens   // Find is nil: every caller may do everything
	Names  service.Names
	// ClientURL is the URL of the client port, for snippets.
	ClientURL string
	Enforced  bool // the client port verifies signatures, so logins with access keys are possible
	Version   string
	Audit     *slog.Logger
	Logger    *slog.Logger
	Now       func() time.Time
	Random    io.Reader // source of session ids
}

// Console is the handler of the pages. Safe for concurrent use.
type Console struct {
	Options
	mux      *http.ServeMux
	sessions *sessions
	tables   tableCache
	attempts attempts
}

// New returns a Console.
func New(o Options) *Console {
	c := &Console{Options: o, mux: http.NewServeMux(), sessions: newSessions(o.Now, o.Random)}
	for _, r := range routes() {
		c.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { c.serve(w, req, r) })
	}
	c.mux.HandleFunc("GET /static/{file}", serveStatic)
	return c
}

// Mount serves the console on the admin port.
func (c *Console) Mount(admin *ops.Admin) {
	for _, pattern := range []string{
		"/{$}", "/static/", "/login", "/logout", "/search", "/queues", "/queues/", "/topics", "/topics/", "/dlqs", "/dlqs/",
		"/cluster", "/cluster/", "/access", "/access/", "/audit", "/audit/", "/charts",
	} {
		admin.Mount(pattern, c)
	}
}

// contentSecurityPolicy permits the console's own files and nothing else.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// ServeHTTP serves one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if _, pattern := c.mux.Handler(r); pattern == "" {
		p := &page{console: c, w: w, r: r, session: c.sessions.find(r)}
		p.identify()
		p.problem(http.StatusNotFound, "There is no such page.")
		return
	}
	c.mux.ServeHTTP(w, r)
}

// formBytesMax bounds a form: a message of 1 MiB, percent-encoded, and its fields.
const formBytesMax = 4 << 20

// serve checks session, role and form token, and serves a route.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, of route) {
	p := &page{console: c, w: w, r: r, route: of, session: c.sessions.find(r)}
	known := p.identify()
	if known {
		unverified.From(r.Context()).Verified()
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, formBytesMax)
		if err := r.ParseForm(); err != nil {
			p.problem(http.StatusBadRequest, "The form cannot be read: "+err.Error())
			return
		}
	}
	switch {
	case of.needs == ops.NoRole:
	case !known:
		p.toLogin()
		return
	case p.session.credentials.key.AccessKeyID != "" && !of.keys:
		p.problem(http.StatusForbidden, "An access key shows the queues and topics of its account. This page needs an admin token.")
		return
	case p.session.credentials.key.AccessKeyID == "" && p.who.Role < of.needs:
		p.problem(http.StatusForbidden, "This needs the role "+of.needs.String()+", and you have the role "+p.who.Role.String()+".")
		return
	}
	if r.Method == http.MethodPost && !p.session.owns(r) {
		p.problem(http.StatusForbidden, "The form has expired or did not come from this console. Nothing was changed. Go back, reload the "+
			"page, and send it again.")
		return
	}
	of.serve(p)
}
