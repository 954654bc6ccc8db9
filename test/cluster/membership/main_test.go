package membership

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) { os.Exit(harness.WithBinary(&binary, m.Run)) }

// waitMax bounds every wait on a slow, shared machine.
const waitMax = 90 * time.Second

func cluster(t *testing.T, nodes int) *harness.Cluster {
	t.Helper()
	return harness.New(t, harness.Options{Binary: binary, Nodes: nodes,
		Args: []string{"--log-segment-size", "4MiB", "--promote-after", "1s"}})
}

// spare starts a further node for the test.
func spare(t *testing.T, c *harness.Cluster, name string) *harness.Node {
	t.Helper()
	n, err := c.Spare(name)
	harness.Must(t, err)
	harness.Must(t, n.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("--- %s\n%s", n.Name, n.LogTail())
		}
		_ = n.Kill() // it may have ended already
	})
	ready(t, n)
	return n
}

func ready(t *testing.T, nodes ...*harness.Node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.WaitReady(t.Context(), waitMax); err != nil {
			t.Fatalf("%s: %v", n.Name, err)
		}
	}
}

// tool runs the command-line tool against a node and returns its output and exit code.
func tool(t *testing.T, n *harness.Node, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--admin", n.Admin)...)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// change runs a command of the tool that must succeed. It repeats the command while another change
// is in progress.
func change(t *testing.T, n *harness.Node, args ...string) {
	t.Helper()
	out, code := tool(t, n, args...)
	if code != 0 {
		t.Fatalf("seriatim %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
}

type memberList struct {
	Index   uint64
	Members []struct {
		NodeID, Name, Role, Note string
		Healthy                  bool
	}
}

func members(t *testing.T, n *harness.Node) (memberList, error) {
	t.Helper()
	var list memberList
	body, err := n.Get(t.Context(), "/v1/cluster/members")
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	return list, err
}

// waitRoles waits until the members have these roles, by name. Leaders count as voters.
func waitRoles(t *testing.T, n *harness.Node, want string) memberList {
	t.Helper()
	deadline := time.Now().Add(waitMax)
	for {
		list, err := members(t, n)
		var found []string
		for _, m := range list.Members {
			found = append(found, m.Name+" "+strings.Replace(m.Role, "leader", "voter", 1))
		}
		if err == nil && strings.Join(found, ", ") == want {
			return list
		}
		if time.Now().After(deadline) {
			t.Fatalf("the members are %v (%v), not %s", found, err, want)
		}
		time.Sleep(100 * time.Millisecond) // another process has no event to wait for
	}
}

// toolAt is tool for commands that use the client port.
func toolAt(t *testing.T, n *harness.Node, args ...string) (string, int) {
	t.Helper()
	return tool(t, n, append(args, "--endpoint", n.Client)...)
}
