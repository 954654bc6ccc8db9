package ops

import (
	"context"
	"net/http"
	"net/http/pprof"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/records"
)

// route is one endpoint of the admin port, with the role that it needs.
type route struct {
	pattern string
	needs   Role
	serve   http.HandlerFunc
}

// unaudited are the reads that live views repeat. Their calls would fill the audit log.
var unaudited = map[string]bool{"GET /v1/audit": true, "GET /v1/logs": true}

// routes lists the endpoints of the admin port.
func (a *Admin) routes(metrics http.Handler) []route {
	list := []route{
		{"GET /healthz/live", NoRole, a.live},
		{"GET /livez", NoRole, a.live},
		{"GET /healthz/ready", NoRole, a.ready},
		{"GET /readyz", NoRole, a.ready},
		// The port opens when the node has read its data. A startup probe must not wait for a majority,
		// or Kubernetes would restart the nodes that the others wait for.
		{"GET /startupz", NoRole, a.live},
		{"GET /metrics", Viewer, metrics.ServeHTTP},
		{"GET /v1/status", Viewer, a.status},
		{"GET /v1/queues", Viewer, a.queues},
		{"GET /v1/queues/{name}/messages", Operate, a.peek},
		{"GET /v1/debug/{what}", Administrator, a.debug},
		{"GET /v1/topics/{name}/deduplication", Operate, a.topicDeduplication},
	}
	if node, ok := a.Node.(historian); ok {
		list = append(list, route{"GET /v1/history", Viewer, func(w http.ResponseWriter, r *http.Request) { a.historyOf(w, r, node) }})
	}
	if node, ok := a.Node.(holding); ok {
		list = append(list, route{"GET /v1/holders", Viewer, func(w http.ResponseWriter, r *http.Request) { a.holders(w, r, node) }})
	}
	if node, ok := a.Node.(asking); ok && a.Open != nil {
		a.provideConnections(node)
		list = append(list,
			route{"GET /v1/connections", Viewer, func(w http.ResponseWriter, r *http.Request) { a.openConnections(w, r, node) }},
			route{"POST /v1/connections/close", Operate, func(w http.ResponseWriter, r *http.Request) { a.closeConnection(w, r, node) }})
	}
	list = append(list, a.recordRoutes()...)
	if node, ok := a.Node.(asking); ok && a.Settings != nil {
		a.provideSettings(node)
		list = append(list, route{"GET /v1/settings", Operate, func(w http.ResponseWriter, r *http.Request) { a.settings(w, r, node) }})
	}
	if node, ok := a.Node.(asking); ok && a.LogLevel != nil {
		a.provideLogLevel(node)
		list = append(list,
			route{"GET /v1/logs/level", Viewer, func(w http.ResponseWriter, r *http.Request) { a.logLevels(w, r, node) }},
			route{"POST /v1/logs/level", Administrator, func(w http.ResponseWriter, r *http.Request) { a.setLogLevel(w, r, node) }})
	}
	if node, ok := a.Node.(archivist); ok {
		list = append(list,
			route{"GET /v1/backup", Administrator, a.guard.few(backupsMax,
				func(w http.ResponseWriter, r *http.Request) { a.backup(node, w, r) })},
			route{"POST /v1/restore", Administrator, a.guard.few(restoresMax,
				func(w http.ResponseWriter, r *http.Request) { a.restore(node, w, r) })})
	}
	if node, ok := a.Node.(member); ok {
		list = append(list, a.memberRoutes(node)...)
	}
	if node, ok := a.Node.(submitter); ok {
		list = append(list, a.accessRoutes(node)...)
		list = append(list, a.accountRoutes(node)...)
	}
	if node, ok := a.Node.(upgrader); ok {
		list = append(list,
			route{"GET /v1/upgrade", Viewer, func(w http.ResponseWriter, _ *http.Request) { a.answer(w, http.StatusOK, node.Upgrade()) }},
			route{"POST /v1/upgrade/finalize", Administrator, func(w http.ResponseWriter, r *http.Request) { a.finalize(w, r, node) }})
	}
	if a.Profiles {
		list = append(list,
			route{"GET /debug/pprof/", Administrator, pprof.Index},
			route{"GET /debug/pprof/cmdline", Administrator, pprof.Cmdline},
			route{"GET /debug/pprof/profile", Administrator, pprof.Profile},
			route{"GET /debug/pprof/symbol", Administrator, pprof.Symbol},
			route{"GET /debug/pprof/trace", Administrator, pprof.Trace})
	}
	return list
}

// recordRoutes lists the endpoints for the newest records of the logs.
func (a *Admin) recordRoutes() (list []route) {
	node, ok := a.Node.(asking)
	if !ok {
		return nil
	}
	for _, log := range []struct {
		path, subject string
		ring          *records.Ring
	}{{"GET /v1/audit", subjectAudit, a.AuditRecords}, {"GET /v1/logs", subjectLogs, a.LogRecords}} {
		if log.ring == nil {
			continue
		}
		a.provideRecords(node, log.subject, log.ring)
		list = append(list, route{log.path, Operate, func(w http.ResponseWriter, r *http.Request) {
			a.recordsOf(w, r, node, log.subject)
		}})
	}
	return list
}

// memberRoutes lists the endpoints for the members of the cluster.
func (a *Admin) memberRoutes(node member) []route {
	change := func(execute func(context.Context, cluster.Change) error, wanted bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { a.change(w, r, node, execute, wanted) }
	}
	return []route{
		{"GET /v1/cluster/members", Viewer, func(w http.ResponseWriter, r *http.Request) { a.members(w, r, node) }},
		{"POST /v1/cluster/add", Administrator, change(node.AddMember, true)},
		{"POST /v1/cluster/remove", Administrator, change(node.RemoveMember, true)},
		{"POST /v1/cluster/promote", Administrator, change(node.PromoteMember, true)},
		{"POST /v1/cluster/replace", Administrator, change(node.ReplaceMember, true)},
		// The new leader is optional.
		{"POST /v1/cluster/transfer-leader", Operate, change(node.MoveLeadership, false)},
		{"GET /v1/cluster/drain", Viewer, func(w http.ResponseWriter, _ *http.Request) { a.drained(w, node) }},
		{"POST /v1/cluster/drain", Operate, func(w http.ResponseWriter, r *http.Request) { a.drain(w, r, node, true) }},
		{"POST /v1/cluster/uncordon", Operate, func(w http.ResponseWriter, r *http.Request) { a.drain(w, r, node, false) }},
	}
}
