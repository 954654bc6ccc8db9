package client

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const healthyMembers = `{"clusterId":"c","leaderId":"n1-00000001","index":7,"voters":3,"members":[
	{"nodeId":"n1-00000001","name":"n1","role":"leader","healthy":true,"address":"10.0.0.1:9326","lagEntries":0,"lastContactMs":0},
	{"nodeId":"n2-00000002","name":"n2","role":"voter","healthy":true,"address":"10.0.0.2:9326","lagEntries":3,"lastContactMs":40},
	{"nodeId":"n3-00000003","name":"n3","role":"voter","healthy":true,"address":"10.0.0.3:9326","lagEntries":0,"lastContactMs":20}],
	"waiting":[{"nodeId":"n4-00000004","name":"n4","address":"10.0.0.4:9326"}],
	"summary":"Healthy: 3 of 3 voters answer, leader n1, all caught up; 1 node may fail","healthy":true,"mayFail":1,"warnings":[]}`

var degradedMembers = strings.NewReplacer(
	`"nodeId":"n2-00000002","name":"n2","role":"voter","healthy":true`, `"nodeId":"n2-00000002","name":"n2","role":"voter","healthy":false`,
	`"nodeId":"n3-00000003","name":"n3","role":"voter",`, `"nodeId":"n3-00000003","name":"n3","role":"voter","drained":true,`,
	`Healthy: 3 of 3 voters answer, leader n1, all caught up; 1 node may fail","healthy":true,"mayFail":1,"warnings":[]`,
	`Degraded: 2 of 3 voters answer, leader n1; no further node may fail","healthy":false,"mayFail":0,"warnings":["n3: its disk is nearly full"]`,
).Replace(healthyMembers)

const noMembers = `{"clusterId":"","leaderId":"","index":0,"voters":3,"members":[],"waiting":[{"nodeId":"n2-00000002","name":"n2","address":"10.0.0.2:9326"}],
	"summary":"No cluster yet: waiting for 1 of 3 initial members: n1, n2 are here","healthy":false,"mayFail":0,"warnings":[]}`

func TestClusterCommands(t *testing.T) {
	const members, local = "GET /v1/cluster/members", "GET /v1/cluster/members?local=true"
	const noLeader = `503 {"error":"no leader is available"}`
	cases := []struct {
		name    string
		args    string
		stdin   string
		answers map[string]any
		code    exit.Code
		parts   []string // of output, words and error
		sent    string   // body of the POST
	}{
		{
			"status", "cluster status", "",
			map[string]any{members: "200 " + healthyMembers},
			exit.OK,
			[]string{"Healthy: 3 of 3 voters answer, leader n1, all caught up", "n2-00000002", "seriatim cluster add n4-00000004"},
			"",
		},
		{
			"status, one is silent", "cluster status", "",
			map[string]any{members: "200 " + degradedMembers},
			exit.Failed,
			[]string{"Degraded: 2 of 3 voters answer, leader n1; no further node may fail\n", "Warning: n3: its disk is nearly full\n",
				"drained"},
			"",
		},
		{
			"status, no leader", "cluster status", "",
			map[string]any{members: noLeader, local: "200 " + healthyMembers},
			exit.Unavailable,
			[]string{"No leader yet, although this node reaches all voters"},
			"",
		},
		{
			"status as JSON", "cluster status -o json", "",
			map[string]any{members: "200 " + healthyMembers},
			exit.OK,
			[]string{`"summary": "Healthy`, `"healthy": true`, `"index": 7`, `"mayFail": 1`},
			"",
		},
		{
			"status before there is a cluster", "cluster status", "",
			map[string]any{members: noLeader, local: "200 " + noMembers},
			exit.Unavailable,
			[]string{"waiting for 1 of 3 initial members", "belongs to no cluster yet"},
			"",
		},
		{
			"remove a node that is not there", "cluster remove n9", "",
			map[string]any{members: "200 " + healthyMembers},
			exit.NotFound,
			[]string{"no member has the id or name n9"},
			"",
		},
		{"members of this node", "cluster members --local", "", map[string]any{local: "200 " + healthyMembers}, exit.OK,
			[]string{"10.0.0.2:9326"}, ""},
		{
			"remove, confirmed", "cluster remove n3", "n3\n",
			map[string]any{members: "200 " + healthyMembers, "POST /v1/cluster/remove": "200 " + healthyMembers},
			exit.OK,
			[]string{"Type n3 again", "n3: removed"},
			`{"ifIndex":7,"node":"n3"}`,
		},
		{"remove, not confirmed", "cluster remove n3", "n2\n", map[string]any{members: "200 " + healthyMembers}, exit.Usage,
			[]string{"nothing was changed"}, ""},
		{
			"remove what is no member", "cluster remove n9", "n9\n",
			map[string]any{members: "200 " + healthyMembers},
			exit.NotFound,
			[]string{"no member has the id or name n9"},
			"",
		},
		{
			"remove, refused", "cluster remove n3 --yes", "",
			map[string]any{"POST /v1/cluster/remove": `409 {"error":"without it no quorum","kind":"unsafe","hint":"wait"}`},
			exit.Conflict,
			[]string{"without it no quorum", "wait"},
			`{"node":"n3"}`,
		},
		{
			"remove what was removed", "cluster remove n9 --yes --if-present", "",
			map[string]any{"POST /v1/cluster/remove": `404 {"error":"no member n9","kind":"unknown-node"}`},
			exit.OK,
			[]string{"n9 is no member"},
			`{"node":"n9"}`,
		},
		{
			"remove what was removed, without --yes", "cluster remove n9 --if-present", "",
			map[string]any{members: "200 " + healthyMembers},
			exit.OK,
			[]string{"n9 is no member"},
			"",
		},
		{
			"remove what was removed, as a document", "cluster remove n9 --yes --if-present -o json", "",
			map[string]any{"POST /v1/cluster/remove": `404 {"error":"no member n9","kind":"unknown-node"}`,
				members: "200 " + healthyMembers},
			exit.OK,
			[]string{`"nodeId": "n1-00000001"`},
			`{"node":"n9"}`,
		},
		{
			"remove what was removed, without --yes, as a document", "cluster remove n9 --if-present -o json", "",
			map[string]any{members: "200 " + healthyMembers},
			exit.OK,
			[]string{`"nodeId": "n1-00000001"`},
			"",
		},
		{
			"promote an unknown node", "cluster promote n9", "",
			map[string]any{"POST /v1/cluster/promote": `404 {"error":"no member n9","kind":"unknown-node"}`},
			exit.NotFound,
			[]string{"no member n9"},
			`{"node":"n9"}`,
		},
		{
			"replace", "cluster replace n3 --yes --if-index 5", "",
			map[string]any{"POST /v1/cluster/replace": "200 " + healthyMembers},
			exit.OK,
			[]string{"n3: replaced"},
			`{"ifIndex":5,"node":"n3"}`,
		},
		{"add without a leader", "cluster add n4", "", map[string]any{"POST /v1/cluster/add": noLeader}, exit.Unavailable,
			[]string{"no leader"}, `{"node":"n4"}`},
		{
			"transfer to anybody", "cluster transfer-leader", "",
			map[string]any{"POST /v1/cluster/transfer-leader": "200 " + healthyMembers},
			exit.OK,
			[]string{"leadership: handed over"},
			`{"node":""}`,
		},
		{"drain", "cluster drain", "", map[string]any{"POST /v1/cluster/drain": `200 {"nodeId":"n1-00000001","drained":true}`}, exit.OK,
			[]string{"true"}, `{}`},
		{"drain another node", "cluster drain n2", "",
			map[string]any{"POST /v1/cluster/drain": `200 {"nodeId":"n2-00000002","drained":true}`}, exit.OK, []string{"n2-00000002"},
			`{"node":"n2"}`},
		{"drain and wait", "cluster drain --wait 1ms", "",
			map[string]any{"POST /v1/cluster/drain": `200 {"nodeId":"n1-00000001","drained":true}`}, exit.OK, []string{"true"}, `{}`},
		{"drain without a successor", "cluster drain --wait 1ms", "",
			map[string]any{"POST /v1/cluster/drain": `503 {"error":"still the leader"}`}, exit.Unavailable, []string{"still the leader"},
			`{}`},
		{"check ready", "check ready", "", map[string]any{"GET /readyz": "200 ok"}, exit.OK, []string{"ready", "ok"}, ""},
		{"check ready as JSON", "check ready -o json", "", map[string]any{"GET /readyz": "200 ok"}, exit.OK, []string{`"answer": "ok"`},
			""},
		{"check ready, refused", "check ready", "", map[string]any{"GET /readyz": "503 not ready: no leader is known"}, exit.Failed,
			[]string{"no leader is known"}, ""},
		{"check live", "check live", "", map[string]any{"GET /livez": "200 ok"}, exit.OK, []string{"live"}, ""},
		{"uncordon", "cluster uncordon", "", map[string]any{"POST /v1/cluster/uncordon": `200 {"nodeId":"n1-00000001","drained":false}`},
			exit.OK, []string{"false"}, `{}`},
		{"no name", "cluster replace", "", nil, exit.Usage, []string{"NAME is missing"}, ""},
		{"unknown command", "cluster evict", "", nil, exit.Usage, []string{"evict"}, ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			endpoint, calls := fakeServer(t, test.answers)
			got := runTool(t, endpoint, test.stdin, strings.Fields(test.args)...)
			if code := exit.CodeOf(got.err); code != test.code {
				t.Errorf("exit code %d, want %d: %v", code, test.code, got.err)
			}
			text := got.out + got.words
			if got.err != nil {
				text += got.err.Error() + exit.HintOf(got.err)
			}
			for _, part := range test.parts {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in\n%s", part, text)
				}
			}
			for _, c := range calls() {
				if strings.HasPrefix(c.Action, "POST") && c.Input != test.sent {
					t.Errorf("sent %s, want %s", c.Input, test.sent)
				}
			}
		})
	}
}

// TestDrainWaits: the command returns when its time is over, or when it is interrupted.
func TestDrainWaits(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]any{"POST /v1/cluster/drain": `200 {"nodeId":"n1-00000001","drained":true}`})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	got := runToolIn(ctx, endpoint, "", "cluster", "drain", "--wait", "1h")
	if exit.CodeOf(got.err) != exit.Interrupted || !strings.Contains(got.err.Error(), "is drained") ||
		!strings.Contains(exit.HintOf(got.err), "uncordon") {
		t.Errorf("who interrupts a wait must hear that the node stays drained: %v", got.err)
	}
	begun := time.Now()
	if got := runTool(t, endpoint, "", "cluster", "drain", "--wait", "200ms"); got.err != nil || time.Since(begun) < 200*time.Millisecond {
		t.Errorf("after %v: %+v", time.Since(begun), got)
	}
}

// A member without an answer may need any key: the command shows the others and fails.
func TestKeysOfASilentMember(t *testing.T) {
	const reported = `{"name":"n1","encryption":{"keys":[{"id":"aa","encrypts":true,"inFile":true,"needed":true,"for":["new data"]},{"id":"bb","inFile":true,"for":[]}],"clearText":["1 snapshot"]}}`
	address, _ := node(t, says(200, `{"members":[`+reported+`]}`))
	r := runTool(t, address, "", "encryption-key", "status")
	for _, line := range []string{"n1    aa          true      true     new data", "n1    bb          false     true     nothing",
		"n1    clear text  -         -        1 snapshot"} {
		if !strings.Contains(r.out, line) {
			t.Errorf("%q is missing in\n%s", line, r.out)
		}
	}
	if r.err != nil {
		t.Error(r.err)
	}
	address, _ = node(t, says(200, `{"members":[`+reported+`,{"name":"n2"}]}`))
	r = runTool(t, address, "", "encryption-key", "status")
	if exit.CodeOf(r.err) != exit.Failed || !strings.Contains(r.err.Error(), "n2") || !strings.Contains(r.out, "unknown") {
		t.Errorf("exit code %d: %v\n%s", exit.CodeOf(r.err), r.err, r.out)
	}
}
