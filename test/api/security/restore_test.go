package security

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// waitMax bounds the time until a node is ready.
const waitMax = time.Minute

// identities contains the keys, accounts and policies of a cluster.
type identities struct {
	root, user, tenant, disabled, revoked key
	accounts, policies, keys              string // as the tool lists them
}

const restoredTenant = "777777777777"

// list records the accounts, policies and keys that the tool lists.
func (i *identities) list(t *testing.T, n *harness.Node) {
	t.Helper()
	i.accounts = string(tool(t, n, "", "account", "list", "-o", "json"))
	i.policies = string(tool(t, n, "", "policy", "list", "-o", "json"))
	i.keys = string(tool(t, n, "", "key", "list", "-o", "json"))
}

// newIdentities creates keys, policies and accounts of all kinds.
func newIdentities(t *testing.T, n *harness.Node) *identities {
	t.Helper()
	i := &identities{
		root: newKey(t, n, ""), user: newKey(t, n, "anna"),
		tenant:   tenantKey(t, n, restoredTenant, "--queues", "1", "--requests-per-second", "1000"),
		disabled: newKey(t, n, "anna"), revoked: newKey(t, n, "anna"),
	}
	tool(t, n, "", "key", "disable", "--yes", i.disabled.ID)
	tool(t, n, "", "key", "revoke", i.revoked.ID, "--yes")
	tool(t, n, `{"Statement":{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"arn:aws:sqs:*:*:kept"}}`, "policy", "put", "anna",
		"--file", "-")
	create(t, client(n, i.root), "kept")
	create(t, client(n, i.tenant), "kept")
	i.list(t, n)
	return i
}

// check makes permitted and forbidden calls with every identity at a node.
func (i *identities) check(t *testing.T, what string, n *harness.Node) {
	t.Helper()
	var now identities
	if now.list(t, n); now.accounts != i.accounts || now.policies != i.policies || now.keys != i.keys {
		t.Errorf("%s: there are %+v, want %+v", what, now, *i)
	}
	url := "http://" + n.Client + "/000000000000/kept"
	send := func(k key) error {
		_, err := client(n, k).SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
		return err
	}
	for name, c := range map[string]struct {
		k    key
		code string
	}{
		"the account": {i.root, ""}, "a user": {i.user, ""}, "another account": {i.tenant, "AccessDenied"},
		"a disabled key": {i.disabled, "InvalidClientTokenId"}, "a revoked key": {i.revoked, "InvalidClientTokenId"},
		"a wrong secret": {key{i.root.ID, i.root.Secret + "!"}, "SignatureDoesNotMatch"},
	} {
		if err := send(c.k); codeOf(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s, %s sends: %v", what, name, err)
		}
	}
	if _, err := client(n, i.user).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url}); codeOf(err) != "AccessDenied" {
		t.Errorf("%s, a user receives: %v", what, err)
	}
	if _, err := client(n, i.tenant).CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("more")}); codeOf(err) != "OverLimit" {
		t.Errorf("%s, a queue above the quota: %v", what, err)
	}
}

// TestIdentitiesSurvive makes a cluster with keys, policies and accounts lose its majority, and
// restores its backup in another cluster, which had a key of its own.
func TestIdentitiesSurvive(t *testing.T) {
	t.Parallel()
	old := harness.New(t, harness.Options{Binary: shared.binary, Dir: t.TempDir(), Args: []string{"--auth"}})
	first := old.Nodes[0]
	want := newIdentities(t, first)
	file := filepath.Join(t.TempDir(), "identities.backup")
	tool(t, first, "", "backup", "create", "--file", file)

	fresh := harness.New(t, harness.Options{Binary: shared.binary, Dir: t.TempDir(), Nodes: 1, Args: []string{"--auth"}})
	foreign := newKey(t, fresh.Nodes[0], "")
	tool(t, fresh.Nodes[0], "", "backup", "restore", file, "--secrets-key", filepath.Join(first.DataDir, "secrets.key"))
	want.check(t, "restored", fresh.Nodes[0])
	if _, err := client(fresh.Nodes[0], foreign).ListQueues(t.Context(), nil); codeOf(err) != "InvalidClientTokenId" {
		t.Errorf("a key of the cluster before the restore: %v", err)
	}

	var status struct{ NodeID string }
	if err := json.Unmarshal(tool(t, first, "", "status", "-o", "json"), &status); err != nil || status.NodeID == "" {
		t.Fatalf("%+v, %v", status, err)
	}
	for _, n := range old.Nodes[1:] {
		harness.Must(t, n.Kill())
	}
	harness.Must(t, first.Stop(waitMax))
	recovery := exec.CommandContext(t.Context(), shared.binary, "cluster", "force-recover", "--data-dir", first.DataDir,
		"--keep-this-node-only", "--yes")
	recovery.Stdin = strings.NewReader(status.NodeID + "\n")
	if out, err := recovery.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	harness.Must(t, first.Start())
	harness.Must(t, old.Part(first).WaitReady(t.Context(), waitMax))
	want.check(t, "recovered", first)
}
