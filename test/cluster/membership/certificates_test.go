package membership

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// environment returns the variables of a node that uses the files of an authority.
func environment(t *testing.T, a *harness.Authority, node string) []string {
	t.Helper()
	env, err := a.Environment(node)
	harness.Must(t, err)
	return env
}

func newAuthority(t *testing.T) *harness.Authority {
	t.Helper()
	a, err := harness.NewAuthority(binary, filepath.Join(t.TempDir(), "certs"))
	harness.Must(t, err)
	return a
}

// Nodes with certificates of one authority form a cluster, and continue when one restarts with a
// renewed certificate. A node with another authority never becomes a member, even if it has the
// gossip key.
func TestNodesKnowEachOtherByCertificate(t *testing.T) {
	own, foreign := newAuthority(t), newAuthority(t)
	env := func(node string) []string {
		if node != "n4" {
			return environment(t, own, node)
		}
		return append(environment(t, foreign, node)[:3], environment(t, own, node)[3])
	}
	c := harness.New(t, harness.Options{Binary: binary, Env: env, Args: []string{"--log-segment-size", "4MiB", "--promote-after", "1s"}})
	intruder, err := c.Spare("n4")
	harness.Must(t, err)
	harness.Must(t, intruder.Start())
	t.Cleanup(func() { _ = intruder.Kill() })
	// By the time its log tells why it is alone, it has met a node of the cluster.
	await(t, "the foreign node to be refused", func() bool {
		return strings.Contains(intruder.Log(), "certificate") || strings.Contains(intruder.Log(), "x509") ||
			strings.Contains(intruder.Log(), "tls:")
	})
	leader, err := c.WaitLeader(t.Context(), waitMax)
	harness.Must(t, err)
	waitRoles(t, leader, "n1 voter, n2 voter, n3 voter")
	harness.Must(t, leader.Kill())
	harness.Must(t, leader.Start())
	ready(t, c.Nodes...)
	harness.Must(t, harness.Err(c.WaitConverged(t.Context(), waitMax)))
}

// A node of another cluster with the same authority and gossip key does not join, and takes no
// member away: each cluster continues with its own members.
func TestAnotherClusterStaysAnother(t *testing.T) {
	own := newAuthority(t)
	env := func(node string) []string { return environment(t, own, node) }
	c := harness.New(t, harness.Options{Binary: binary, Env: env,
		Args: []string{"--log-segment-size", "4MiB", "--promote-after", "1s", "--log-level", "debug"}})
	other := harness.New(t, harness.Options{Binary: binary, Dir: t.TempDir(), Nodes: 1, Env: env,
		Args: []string{"--log-segment-size", "4MiB", "--promote-after", "1s", "--log-level", "debug"}})
	foreign := other.Nodes[0]
	before, err := foreign.Status(t.Context())
	harness.Must(t, err)
	harness.Must(t, foreign.Stop(waitMax))
	harness.Must(t, foreign.Start("--bootstrap-expect", "0", "--join", c.Gossip()))
	ready(t, foreign)
	const refusal = "a node of another cluster"
	await(t, "the clusters to meet", func() bool { return strings.Contains(foreign.Log(), refusal) })
	for _, n := range c.Nodes {
		await(t, n.Name+" to meet the other cluster", func() bool { return strings.Contains(n.Log(), refusal) })
	}
	leader, err := c.WaitLeader(t.Context(), waitMax)
	harness.Must(t, err)
	waitRoles(t, leader, "n1 voter, n2 voter, n3 voter")
	waitRoles(t, foreign, "n1 voter")
	if after, err := foreign.Status(t.Context()); err != nil || after.ClusterID != before.ClusterID || after.NodeID != before.NodeID {
		t.Errorf("the other cluster was %+v and is %+v, %v", before, after, err)
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(waitMax); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}

// The command overwrites no files, and reports what it cannot make.
func TestCertificateFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(want string, code int, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary, append([]string{"cert"}, args...)...).CombinedOutput()
		got := 0
		if exited, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exited.ExitCode()
		}
		if got != code || !strings.Contains(string(out), want) {
			t.Errorf("seriatim cert %s: exit code %d, want %d and %q\n%s", strings.Join(args, " "), got, code, want, out)
		}
	}
	run("seriatim cert ca --dir certs", 3, "issue", "n1")
	run("valid until", 0, "ca")
	run("choose another --dir", 7, "ca")
	run("n1.crt", 0, "issue", "n1", "--host", "10.0.0.1")
	run("seriatim cert renew n1", 7, "issue", "n1")
	run("cannot be the name", 2, "issue", "../n1")
	run("cannot be the name", 2, "issue", "ca")
	for _, name := range []string{"ca.key", "n1.key", "gossip.key"} {
		if info, err := os.Stat(filepath.Join("certs", name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
