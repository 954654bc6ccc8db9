package console

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops"
)

//go:embed templates/*.html
var templateFiles embed.FS

// templates has a set of templates for each page: the layout, the shared parts, and the page.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	shared := template.Must(template.New("layout.html").Funcs(functions).ParseFS(templateFiles, "templates/layout.html",
		"templates/parts.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	parsed := map[string]*template.Template{}
	for _, name := range names {
		base := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if base != "layout" && base != "parts" {
			parsed[base] = template.Must(template.Must(shared.Clone()).ParseFS(templateFiles, name))
		}
	}
	return parsed
}

// page is one request.
type page struct {
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	route   route
	session *session // nil: none
	who     ops.Operator

	crumbs []crumb
	still  bool // the page does not refresh
}

// crumb is a link to a page above.
type crumb struct{ Title, URL string }

// view is the content of the layout.
type view struct {
	Title, Section string
	Crumbs         []crumb
	Cluster        cluster.Status
	Health         string // ok, warning or critical
	Sentence       string
	Who            ops.Operator
	Key            bool // a session of an access key
	Login          bool // there is something to log out of
	CSRF           string
	Flashes        []flash
	Here           string // path and query of this page
	Live           bool
	Version        string
	Data           any
}

// Operates reports whether the caller may operate queues. Policies decide for access keys.
func (v view) Operates() bool { return v.Key || v.Who.Role >= ops.Operate }

// Administers reports whether the caller may change definitions. Policies decide for access keys.
func (v view) Administers() bool { return v.Key || v.Who.Role >= ops.Administrator }

// Allowed reports whether the caller sees the pages about cluster and access.
func (v view) Allowed(role string) bool {
	needed, _ := ops.ParseRole(role)
	return !v.Key && v.Who.Role >= needed
}

// render writes a page.
func (p *page) render(name, title string, data any) { p.renderStatus(http.StatusOK, name, title, data) }

func (p *page) renderStatus(code int, name, title string, data any) {
	v := view{
		Title: title, Section: section(p.r.URL.Path), Crumbs: p.crumbs, Who: p.who, Here: p.r.URL.RequestURI(), Version: p.console.Version,
		Live: !p.still && p.r.Method == http.MethodGet && name != "login" && name != "problem", Data: data,
	}
	if p.r.Method != http.MethodGet {
		v.Here = p.r.URL.Path
	}
	if p.session != nil {
		v.Key, v.Login, v.CSRF = p.session.credentials.key.AccessKeyID != "", p.session.credentials.login, p.session.csrf
		if p.r.Header.Get("HX-Request") == "" {
			v.Flashes = p.session.said()
		}
	}
	if name != "login" && p.who.Name != "" {
		v.Cluster = p.console.Node.Status()
		v.Health, v.Sentence = healthOf(v.Cluster)
	}
	var out bytes.Buffer
	if err := templates[name].ExecuteTemplate(&out, "layout.html", v); err != nil {
		p.console.Logger.Error("a page of the console could not be rendered", "page", name, "error", err)
		http.Error(p.w, "This page could not be rendered. See the log of the node.", http.StatusInternalServerError)
		return
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.w.WriteHeader(code)
	_, _ = p.w.Write(out.Bytes()) // an error means that the browser is gone
}

func section(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}

// healthOf describes the cluster by the status of this node.
func healthOf(s cluster.Status) (level, sentence string) {
	name := s.LeaderName
	switch {
	case s.LeaderID == "":
		return "critical", "No leader: sends and receives wait until a majority of the nodes answers"
	case len(s.Warnings) > 0:
		return "warning", s.Warnings[0]
	case s.Role == "leader":
		return "ok", "Healthy: this node, " + s.NodeName + ", leads"
	}
	if name == "" {
		name = s.LeaderID
	}
	return "ok", "Healthy: " + name + " leads"
}

// problemPage is the answer to a failed request.
type problemPage struct {
	Code int
	Text string
}

// problem answers with an error.
func (p *page) problem(code int, text string) {
	p.still = true
	p.renderStatus(code, "problem", http.StatusText(code), problemPage{Code: code, Text: text})
}

// fail answers a failed read.
func (p *page) fail(err error) { p.problem(statusFor(err), textOf(err)) }

// statusFor returns the HTTP status for an error of the native API or the admin port.
func statusFor(err error) int {
	var refused *ops.RefusedCall
	if errors.As(err, &refused) {
		return refused.Status
	}
	switch status.Code(err) {
	case codes.NotFound:
		return http.StatusNotFound
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return http.StatusServiceUnavailable
	case codes.Internal, codes.Unknown:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// textOf returns the text of an error for people.
func textOf(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// done reports the outcome of a change and sends the browser to a page.
func (p *page) done(err error, to, text, cli string) {
	f := flash{Kind: "done", Text: text, CLI: cli}
	if err != nil {
		f.Kind, f.Text = "failed", textOf(err)
	}
	p.session.say(f)
	http.Redirect(p.w, p.r, to, http.StatusSeeOther)
}

// confirmed checks that a form repeats a name, and sends the browser back if not.
func (p *page) confirmed(name, back string) bool {
	if p.r.PostFormValue("confirm") == name {
		return true
	}
	p.session.say(flash{Kind: "failed", Text: "Nothing was changed: type " + harmless(name) + " to confirm."})
	http.Redirect(p.w, p.r, back, http.StatusSeeOther)
	return false
}

func (p *page) redirect(to string) { http.Redirect(p.w, p.r, to, http.StatusSeeOther) }
