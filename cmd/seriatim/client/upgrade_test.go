package client

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestUpgradeCommands(t *testing.T) {
	const (
		done  = `{"formatVersion":2,"possible":2,"newest":2,"ready":false,"members":[{"nodeId":"n1-1","name":"n1","version":"v2","formatMax":2}]}`
		ready = `{"formatVersion":1,"possible":2,"newest":2,"ready":true,"members":[{"nodeId":"n1-1","name":"n1","version":"v2","formatMax":2}]}`
		mixed = `{"formatVersion":1,"possible":1,"newest":2,"ready":false,"missing":"an older program runs on n2","members":[{"nodeId":"n1-1","name":"n1","version":"v2","formatMax":2},{"nodeId":"n2-2","name":"n2","formatMax":0}]}`
	)
	tests := []struct {
		name, answer, command string
		want                  []string
		code                  exit.Code
	}{
		{"done", done, "status", []string{"Format 2 is in force", "up to 2"}, exit.OK},
		{"finalize, unconfirmed", ready, "finalize", []string{"No node can go back", "add --yes"}, exit.Usage},
		{"finalize, dry run", ready, "finalize --dry-run", []string{"No node can go back", "nothing was changed"}, exit.OK},
		{"ready", ready, "status", []string{"seriatim upgrade finalize"}, exit.OK},
		{"ready, checked", ready, "check", []string{"all members can read 2"}, exit.OK},
		{"mixed", mixed, "status", []string{"an older program runs on n2", "unknown"}, exit.OK},
		{"mixed, checked", mixed, "check", []string{"Format 1 is in force"}, exit.Failed},
		{"finalize", done, "finalize --yes", []string{"Format 2 is in force"}, exit.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endpoint, _ := fakeServer(t, map[string]any{"GET /v1/upgrade": tt.answer, "POST /v1/upgrade/finalize": tt.answer})
			r := runTool(t, endpoint, "", append([]string{"upgrade"}, strings.Fields(tt.command)...)...)
			if exit.CodeOf(r.err) != tt.code {
				t.Errorf("ended with %v", r.err)
			}
			for _, want := range tt.want {
				if said := r.out + r.words + exit.HintOf(r.err); !strings.Contains(said, want) {
					t.Errorf("no %q in\n%s", want, said)
				}
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		endpoint, _ := fakeServer(t, map[string]any{"GET /v1/upgrade": ready})
		if r := runTool(t, endpoint, "", "upgrade", "status", "-o", "json"); r.err != nil || !strings.Contains(r.out, `"ready": true`) {
			t.Errorf("got %v\n%s", r.err, r.out)
		}
	})
}
