package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// asking asks all nodes; *cluster.Node is one.
type asking interface {
	Provide(subject string, answer cluster.Provider)
	AskAll(ctx context.Context, subject string, query any) (answers []cluster.NodeAnswer, missing []string, err error)
	AskOne(ctx context.Context, node, subject string, query any) (cluster.NodeAnswer, error)
}

var _ asking = (*cluster.Node)(nil)

// Subjects of questions to all nodes.
const (
	subjectConnections = "connections"
	subjectClose       = "close-connection"
)

// adminPort is the name of the admin port among the connections of a node.
const adminPort = "admin"

// connectionsMax bounds the connections of one node in an answer.
const connectionsMax = 1000

// connectionQuery selects connections; an empty field selects all.
type connectionQuery struct{ Port, Queue, AccessKey, Find string }

// ownConnections are the connections of one node.
type ownConnections struct {
	List      []connections.State
	Untracked int64
}

// provideConnections answers the questions of other nodes about the connections of this one.
func (a *Admin) provideConnections(node asking) {
	node.Provide(subjectConnections, func(_ context.Context, text json.RawMessage) (any, error) {
		var q connectionQuery
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, err
		}
		list, untracked := a.Open.List(connectionsMax, func(s *connections.State) bool {
			return (q.Port == "" || q.Port == s.Port) && (q.Queue == "" || q.Queue == s.Queue) &&
				(q.AccessKey == "" || q.AccessKey == s.AccessKey) && (q.Find == "" || strings.Contains(s.Address+" "+s.UserAgent, q.Find))
		})
		return ownConnections{list, untracked}, nil
	})
	node.Provide(subjectClose, func(_ context.Context, text json.RawMessage) (any, error) {
		var id string
		if err := json.Unmarshal(text, &id); err != nil {
			return nil, err
		}
		return a.Open.Close(id), nil
	})
}

// openConnections answers GET /v1/connections.
func (a *Admin) openConnections(w http.ResponseWriter, r *http.Request, node asking) {
	p := r.URL.Query()
	answers, missing, err := node.AskAll(r.Context(), subjectConnections,
		connectionQuery{p.Get("port"), p.Get("queue"), p.Get("accessKey"), p.Get("find")})
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	out := document.Connections{Connections: []document.Connection{}, Missing: listed(missing)}
	for _, answer := range answers {
		var own ownConnections
		if json.Unmarshal(answer.Content, &own) != nil {
			out.Missing = append(out.Missing, answer.Node)
			continue
		}
		if of := p.Get("node"); of != "" && of != answer.Node && of != answer.NodeID {
			continue
		}
		out.Untracked += own.Untracked
		for _, c := range own.List {
			out.Connections = append(out.Connections, document.Connection{
				ID: c.ID, NodeID: answer.NodeID, Node: answer.Node, Port: c.Port, Address: c.Address, Protocol: c.Protocol,
				AccessKey: c.AccessKey, UserAgent: c.UserAgent, SinceMs: c.SinceMs, LastRequestMs: c.LastRequestMs, Requests: c.Requests,
				Action: c.Action, Queue: c.Queue, Waiting: c.Waiting,
			})
		}
	}
	slices.SortStableFunc(out.Connections, func(a, b document.Connection) int { return strings.Compare(a.Node, b.Node) })
	a.answer(w, http.StatusOK, out)
}

// closeConnection answers POST /v1/connections/close.
func (a *Admin) closeConnection(w http.ResponseWriter, r *http.Request, node asking) {
	var in document.CloseConnection
	if !a.readBody(w, r, changeBytesMax, &in) {
		return
	}
	aimAt(r.Context(), in.Node+"/"+in.ID)
	if in.ID == "" {
		a.fail(w, http.StatusBadRequest, "id is missing: GET /v1/connections lists the connections")
		return
	}
	answer, err := node.AskOne(r.Context(), in.Node, subjectClose, in.ID)
	if err != nil {
		a.failChange(w, err)
		return
	}
	out := document.ClosedConnection{Node: answer.Node, ID: in.ID}
	if err := json.Unmarshal(answer.Content, &out.Closed); err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if !out.Closed {
		a.fail(w, http.StatusNotFound, "the node "+answer.Node+" has no connection "+in.ID)
		return
	}
	a.answer(w, http.StatusOK, out)
}
