package ops

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seriatimq/seriatim/transport/unverified"
)

// refusalPause is the minimum time between two log lines about refused calls, which anyone who reaches the
// port can cause.
const refusalPause = 30 * time.Second

// pathMax bounds the part of a path that is logged.
const pathMax = 256

// guard accepts callers with the role that a route needs, and logs their calls.
type guard struct {
	admin   *Admin
	refused *prometheus.CounterVec

	mu     sync.Mutex
	logged time.Time // of the last logged refusal
}

func newGuard(a *Admin, registry *prometheus.Registry) *guard {
	g := &guard{admin: a, refused: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "seriatim_admin_refused_total", Help: "Calls of the admin port that were refused, by reason: no known token, a missing " +
			"role, or too many concurrent calls.",
	}, []string{"reason"})}
	for _, reason := range []string{"token", "role", "busy"} {
		g.refused.WithLabelValues(reason)
	}
	registry.MustRegister(g.refused)
	return g
}

// call is one call of the admin port, for its line in the log.
type call struct {
	target string // of a change: a node, an access key, a user
}

type callKey struct{}

// aimAt sets the target of a call.
func aimAt(ctx context.Context, target string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.target = target
	}
}

// wrap returns the handler of a route.
func (g *guard) wrap(of route) http.HandlerFunc {
	if of.needs == NoRole {
		return of.serve
	}
	return func(w http.ResponseWriter, r *http.Request) {
		who, known := g.caller(r)
		if known {
			unverified.From(r.Context()).Verified()
		}
		switch {
		case !known:
			g.challenge(w, r)
		case who.Role < of.needs:
			g.refuse(w, r, who, http.StatusForbidden, "role",
				"this call needs the role "+of.needs.String()+", and the token has the role "+who.Role.String())
		case of.needs < Operate || unaudited[of.pattern], isLocal(r) && r.Method == http.MethodGet: // pages refresh by themselves
			of.serve(w, r)
		default:
			g.audited(w, r, who, of.serve)
		}
	}
}

// challenge refuses a call without a known token.
func (g *guard) challenge(w http.ResponseWriter, r *http.Request) {
	file := g.admin.Tokens.OwnFile
	w.Header().Set("WWW-Authenticate", "Bearer")
	switch {
	case r.Header.Get("Authorization") != "":
		g.refuse(w, r, Operator{}, http.StatusUnauthorized, "token",
			"this token is not valid here: it was revoked, belongs to another cluster or node, or was not sent as Authorization: Bearer")
	case file != "":
		// The command-line tool gets the name of the file here, so this does not count as a refusal.
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer token-file=%q", file))
		g.admin.fail(w, http.StatusUnauthorized, fmt.Sprintf("this port needs a token, which is in the file %s. Run the tool as a user "+
			"that can read the file, or give it a copy with --admin-token-file. Other programs send Authorization: Bearer.", file))
	default:
		g.refuse(w, r, Operator{}, http.StatusUnauthorized, "token",
			"this port needs a token: send it as Authorization: Bearer, or give the tool --admin-token-file or SERIATIM_ADMIN_TOKEN")
	}
}

// few bounds the concurrent calls of a route.
func (g *guard) few(most int, serve http.HandlerFunc) http.HandlerFunc {
	places := make(chan struct{}, most)
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			serve(w, r)
		default:
			who, _ := g.caller(r)
			w.Header().Set("Retry-After", "10")
			g.refuse(w, r, who, http.StatusServiceUnavailable, "busy",
				fmt.Sprintf("this node serves %d such calls at a time: wait for another to end, or ask another node", most))
		}
	}
}

// caller returns the operator that sent a request.
func (g *guard) caller(r *http.Request) (Operator, bool) {
	if who, local := r.Context().Value(operatorKey{}).(Operator); local {
		return who, true
	}
	if g.admin.Tokens.Find == nil {
		return anybody, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Operator{}, false
	}
	return g.admin.Tokens.Find(strings.TrimSpace(token))
}

// isLocal reports whether a request is a Local.
func isLocal(r *http.Request) bool {
	_, local := r.Context().Value(operatorKey{}).(Operator)
	return local
}

func (g *guard) refuse(w http.ResponseWriter, r *http.Request, who Operator, status int, reason, text string) {
	g.refused.WithLabelValues(reason).Inc()
	now := g.admin.Now()
	g.mu.Lock()
	log := g.logged.IsZero() || now.Sub(g.logged) >= refusalPause
	if log {
		g.logged = now
	}
	g.mu.Unlock()
	if log {
		g.admin.Audit.Warn("refused a call of the admin port", "who", who.Name, "what", what(r), "remote", r.RemoteAddr, "reason", reason)
	}
	g.admin.fail(w, status, text)
}

// audited serves a call and logs the operator, the action and the outcome.
func (g *guard) audited(w http.ResponseWriter, r *http.Request, who Operator, serve http.HandlerFunc) {
	began, c, answer := g.admin.Now(), &call{}, &answerStatus{ResponseWriter: w, status: http.StatusOK}
	outcome := "broken off" // of a backup that is not read to its end
	defer func() {
		g.admin.Audit.Info("admin call", "who", who.Name, "role", who.Role.String(), "what", what(r), "target", c.target,
			"outcome", outcome, "status", answer.status, "remote", r.RemoteAddr, "dur_ms",
			float64(g.admin.Now().Sub(began).Microseconds())/1000)
	}()
	serve(answer, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	if outcome = "done"; answer.status >= http.StatusBadRequest {
		outcome = "refused"
	}
}

// what describes the call in a log.
func what(r *http.Request) string {
	return r.Method + " " + r.URL.Path[:min(len(r.URL.Path), pathMax)]
}

// answerStatus remembers the status of an answer.
type answerStatus struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the status.
func (w *answerStatus) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *answerStatus) Unwrap() http.ResponseWriter { return w.ResponseWriter }
