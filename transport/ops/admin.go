package ops

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/ops/records"
	"github.com/seriatimq/seriatim/transport/service"
)

// Node is the node behind the admin port; *cluster.Node is one. Safe for concurrent use.
type Node interface {
	Status() cluster.Status
	Ready() error
	Metrics() []cluster.Metric
	// ReadLocal calls read with the state that this node has applied.
	ReadLocal(read func(queue.View))
	// Read calls read with a state that contains all acknowledged changes.
	Read(ctx context.Context, read func(queue.View) error) (cluster.Position, error)
}

// Options configure an Admin.
type Options struct {
	Node         Node
	Version      string
	QueueSeries  int // most queues with metrics of their own, the first ones by name; 0: none
	Profiles     bool
	Now          func() time.Time
	Logger       *slog.Logger
	Audit        *slog.Logger // for changes; nil: Logger
	PeekBytesMax int          // bytes of bodies in one answer; 0: a default
	Account      string       // default account of new access keys
	Random       io.Reader    // source of access keys
	Policies     *Policies    // for simulations; may be nil
	// RequestsRefused counts the requests of an account refused by its quota; may be nil. The account
	// of the cluster is empty.
	RequestsRefused func(owner string) uint64
	// Spans counts the spans of requests by outcome; may be nil.
	Spans func() service.Spans
	// Connections describes the connections of both ports; may be nil.
	Connections func() (clients, operators transport.Connections)
	// Open knows the open connections of both ports; nil: none.
	Open *connections.Table
	// AuditRecords and LogRecords keep the newest records of the logs; nil: none.
	AuditRecords, LogRecords *records.Ring
	// Settings returns the settings of this node; nil: they are not shown.
	Settings func() []NodeSetting
	// LogLevel is the lowest level of Logger; nil: it cannot be changed.
	LogLevel *slog.LevelVar

	Tokens Tokens
	// CertificatesEnd returns the ends of the certificates in use, by port; may be nil.
	CertificatesEnd func() map[string]time.Time
	// Debug writes debugging information about the process, by name; may be nil.
	Debug map[string]func(io.Writer) error
	// LastBackup is the time of the last backup from this node before its start; zero: never.
	LastBackup time.Time
	// OnBackup is called when a backup was read to its end; may be nil.
	OnBackup func(at time.Time)
}

// Admin is the handler of the admin port. Safe for concurrent use.
type Admin struct {
	Options
	mux      *http.ServeMux
	guard    *guard
	requests *Requests
	stopping atomic.Bool
	backedUp atomic.Int64 // Unix seconds of the newest backup, 0 if there is none
}

const defaultPeekBytesMax = 8 << 20

// New returns an Admin with its own registry.
func New(o Options) *Admin {
	if o.Audit == nil {
		o.Audit = o.Logger
	}
	if o.PeekBytesMax == 0 {
		o.PeekBytesMax = defaultPeekBytesMax
	}
	registry := prometheus.NewRegistry()
	a := &Admin{Options: o, mux: http.NewServeMux(), requests: newRequests(registry)}
	if node, ok := o.Node.(historian); ok {
		a.requests.history = node.ClientRequests()
	}
	if !o.LastBackup.IsZero() {
		a.backedUp.Store(o.LastBackup.Unix())
	}
	registerNode(registry, a)
	a.guard = newGuard(a, registry)
	for _, r := range a.routes(&scraper{admin: a, registry: registry}) {
		a.mux.HandleFunc(r.pattern, a.guard.wrap(r))
	}
	return a
}

// Requests counts the requests of the client port.
func (a *Admin) Requests() *Requests { return a.requests }

// Stop makes the node report that it is not ready, so that load balancers leave it before it stops.
func (a *Admin) Stop() { a.stopping.Store(true) }

// ServeHTTP serves one request of the admin port.
func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := connections.From(r.Context()); c != nil {
		c.Begin(a.Now())
		defer c.End()
		who, _ := a.guard.caller(r)
		c.Note(connections.Doing{Protocol: adminPort, Action: what(r), AccessKey: who.Name, UserAgent: r.UserAgent()})
	}
	a.mux.ServeHTTP(w, r)
}

func (a *Admin) live(w http.ResponseWriter, _ *http.Request) { a.say(w, http.StatusOK, "ok\n") }

func (a *Admin) ready(w http.ResponseWriter, _ *http.Request) {
	if a.stopping.Load() {
		a.say(w, http.StatusServiceUnavailable, "not ready: the node is stopping\n")
		return
	}
	if err := a.Node.Ready(); err != nil {
		a.say(w, http.StatusServiceUnavailable, "not ready: "+err.Error()+"\n")
		return
	}
	a.say(w, http.StatusOK, "ok\n")
}

func (a *Admin) status(w http.ResponseWriter, _ *http.Request) {
	status := a.Node.Status()
	if status.Version == "" {
		status.Version = a.Version
	}
	if status.Peers == nil {
		status.Peers = []cluster.PeerStatus{} // a list in JSON, also when empty
	}
	a.answer(w, http.StatusOK, status)
}

func (a *Admin) say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	// An error means that the caller is gone.
	_, _ = w.Write([]byte(text))
}

func (a *Admin) answer(w http.ResponseWriter, code int, value any) {
	body, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		a.Logger.Error("an answer of the admin port could not be encoded", "error", err)
		a.say(w, http.StatusInternalServerError, "internal error\n")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n'))
}

func (a *Admin) fail(w http.ResponseWriter, code int, text string) {
	a.answer(w, code, document.Refusal{Error: text})
}
