package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster"
)

// memberNode is a node with a given membership.
type memberNode struct {
	*node
	err     error
	done    []string
	drained bool
}

func (m *memberNode) note(what string, change cluster.Change) error {
	m.done = append(m.done, fmt.Sprintf("%s %s %d", what, change.Node, change.IfIndex))
	return m.err
}

func (m *memberNode) Members(context.Context) (cluster.MemberList, error) {
	return cluster.MemberList{LeaderID: "n1-00000000", Index: 7}, m.err
}

func (m *memberNode) LocalMembers(context.Context) cluster.MemberList {
	return cluster.MemberList{Index: 6}
}

func (m *memberNode) AddMember(_ context.Context, c cluster.Change) error { return m.note("add", c) }

func (m *memberNode) RemoveMember(_ context.Context, c cluster.Change) error {
	return m.note("remove", c)
}

func (m *memberNode) PromoteMember(_ context.Context, c cluster.Change) error {
	return m.note("promote", c)
}

func (m *memberNode) ReplaceMember(_ context.Context, c cluster.Change) error {
	return m.note("replace", c)
}

func (m *memberNode) MoveLeadership(_ context.Context, c cluster.Change) error {
	return m.note("transfer", c)
}

func (m *memberNode) DrainMember(_ context.Context, node string, drained bool) (string, error) {
	m.drained = drained
	return cmp.Or(node, "n1") + "-00000000", m.err
}

func (m *memberNode) Drained() bool { return m.drained }

func post(a *Admin, path, contentType, body string) (int, string) {
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

func TestChangesOfTheMembers(t *testing.T) {
	refusal := func(kind cluster.RefusalKind) error {
		return fmt.Errorf("wrapped: %w", &cluster.MembershipRefusal{Kind: kind, Text: "no", Hint: "do that"})
	}
	cases := []struct {
		name, path, contentType, body string
		err                           error
		want                          int
		part                          string
		done                          []string
	}{
		{"remove", "remove", contentTypeJSON, `{"node":"n2","ifIndex":7}`, nil, 200, `"index": 7`, []string{"remove n2 7"}},
		{"add", "add", contentTypeJSON + "; charset=utf-8", `{"node":"n4"}`, nil, 200, "", []string{"add n4 0"}},
		{"promote", "promote", contentTypeJSON, `{"node":"n4"}`, nil, 200, "", []string{"promote n4 0"}},
		{"replace", "replace", contentTypeJSON, `{"node":"n4"}`, nil, 200, "", []string{"replace n4 0"}},
		{"leadership to anybody", "transfer-leader", contentTypeJSON, `{}`, nil, 200, "", []string{"transfer  0"}},
		{"leadership without a body", "transfer-leader", contentTypeJSON, ``, nil, 200, "", []string{"transfer  0"}},
		{"no node", "remove", contentTypeJSON, `{}`, nil, 400, "node is missing", nil},
		{"an unknown field", "remove", contentTypeJSON, `{"node":"n1","force":true}`, nil, 400, "force", nil},
		{"from a form", "remove", "text/plain", `{"node":"n2"}`, nil, 415, contentTypeJSON, nil},
		{"an unknown node", "remove", contentTypeJSON, `{"node":"n9"}`, refusal(cluster.RefusedUnknownNode), 404, "do that",
			[]string{"remove n9 0"}},
		{"unsafe", "remove", contentTypeJSON, `{"node":"n2"}`, refusal(cluster.RefusedUnsafe), 409, `"kind": "unsafe"`,
			[]string{"remove n2 0"}},
		{"no leader", "remove", contentTypeJSON, `{"node":"n2"}`, cluster.ErrUnavailable, 503, "leader", []string{"remove n2 0"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			n := &memberNode{node: newNode(t), err: test.err}
			a := New(Options{Node: n, Now: time.Now, Logger: newAdmin(n.node).Logger})
			code, body := post(a, "/v1/cluster/"+test.path, test.contentType, test.body)
			if code != test.want || !strings.Contains(body, test.part) {
				t.Errorf("got %d %s, want %d with %q", code, body, test.want, test.part)
			}
			if diff := gocmp.Diff(test.done, n.done); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMembersWithoutALeader(t *testing.T) {
	n := &memberNode{node: newNode(t), err: cluster.ErrUnavailable}
	a := New(Options{Node: n, Now: time.Now, Logger: newAdmin(n.node).Logger})
	if code, body := get(a, "/v1/cluster/members"); code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", code, body)
	}
	code, body := get(a, "/v1/cluster/members?local=true")
	var list cluster.MemberList
	if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK || list.Index != 6 {
		t.Errorf("got %d %s, %v", code, body, err)
	}
}

func TestDrain(t *testing.T) {
	n := &memberNode{node: newNode(t)}
	a := New(Options{Node: n, Now: time.Now, Logger: newAdmin(n.node).Logger})
	body := "{}"
	check := func(path string, code int, part string) {
		t.Helper()
		if got, body := post(a, "/v1/cluster/"+path, contentTypeJSON, body); got != code || !strings.Contains(body, part) {
			t.Errorf("%s: got %d %s", path, got, body)
		}
	}
	check("drain", 200, `"drained": true`)
	if code, body := get(a, "/v1/cluster/drain"); code != http.StatusOK || !strings.Contains(body, "true") {
		t.Errorf("got %d %s", code, body)
	}
	check("uncordon", 200, `"drained": false`)
	n.err = errors.New("nobody wants to lead")
	check("drain", 503, "still the leader")
	n.err, body = nil, `{"node":"n3"}`
	check("drain", 200, `"nodeId": "n3-00000000"`)
	n.err = &cluster.MembershipRefusal{Kind: cluster.RefusedUnknownNode, Text: "no member has that name"}
	check("uncordon", 404, "no member has that name")
	n.err = cluster.ErrOutcomeUnknown
	check("drain", 503, "the outcome is unknown")
}
