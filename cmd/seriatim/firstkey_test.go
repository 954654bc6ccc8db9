package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// keyEnvironment sets the key of a file for the commands of a test, and returns its secret.
func keyEnvironment(t *testing.T, file string) (secret string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`^(?:export )?AWS_ACCESS_KEY_ID=(\S+)\n(?:export )?AWS_SECRET_ACCESS_KEY=(\S+)\n`).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("%s holds %q", file, text)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", found[1])
	t.Setenv("AWS_SECRET_ACCESS_KEY", found[2])
	return found[2]
}

// By default a server accepts only signed requests. Its standard output is no terminal, so the
// first key is only in the data directory.
func TestServerBeginsWithAKey(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	base, dir := freeBase(t, 1), t.TempDir()
	p := startServer(t, base, dir, nil, "--auth=true", "--log-level", "debug")
	p.err.wait(t, `"msg":"ready"`, 1)
	at := endpoint(base, 1)
	if out, code := tool(t, "queue", "create", "orders.fifo", "--endpoint", at); code == 0 ||
		!strings.Contains(out, "MissingAuthenticationToken") {
		t.Errorf("unsigned: exit code %d\n%s", code, out)
	}
	secret := keyEnvironment(t, filepath.Join(dir, "first-key"))
	must(t, "queue", "create", "orders.fifo", "--endpoint", at)
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	p = startServer(t, base, dir, nil, "--auth=true", "--log-level", "debug")
	p.err.wait(t, `"msg":"ready"`, 1)
	if out := must(t, "queue", "list", "--endpoint", at); !strings.Contains(out, "orders.fifo") {
		t.Errorf("after a restart: %s", out)
	}
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	if said := p.out.text() + p.err.text(); strings.Contains(said, secret) || strings.Contains(said, "no access key") {
		t.Errorf("the server said %s", said)
	}
	if out := p.out.text(); out != "" {
		t.Errorf("on standard output: %s", out)
	}
}

// If auth is on and the cluster has no key, every node logs an advice, and the advice works.
func TestAuthWithoutKeys(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	base, dir := freeBase(t, 1), t.TempDir()
	at := endpoint(base, 1)
	p := startServer(t, base, dir, nil, "--auth=false")
	p.err.wait(t, `"msg":"ready"`, 1)
	must(t, "queue", "create", "orders.fifo", "--endpoint", at)
	p.signal(t, syscall.SIGTERM)
	p.wait(t)
	p = startServer(t, base, dir, nil, "--auth=true")
	p.err.wait(t, `"level":"ERROR".*no access key.*seriatim key create`, 1)
	if _, err := os.Stat(filepath.Join(dir, "first-key")); err == nil {
		t.Error("an old cluster was given a key")
	}
	made := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(made, []byte(must(t, "key", "create", "--admin", "127.0.0.1:"+strconv.Itoa(base+1))), 0o600); err != nil {
		t.Fatal(err)
	}
	keyEnvironment(t, made)
	if out := must(t, "queue", "list", "--endpoint", at); !strings.Contains(out, "orders.fifo") {
		t.Errorf("with a key that was made: %s", out)
	}
}

// dev needs no key, and with --auth all its nodes share one.
func TestDevWithAuth(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	base, dir := freeBase(t, 3), t.TempDir()
	p, _ := startCluster(t, base, nil, "--auth", "--data-dir", dir)
	file := filepath.Join(dir, "first-key")
	p.out.wait(t, regexp.QuoteMeta("export $(cat '"+file+"')"), 1)
	for node := 1; node <= 3; node++ {
		if out, code := tool(t, "queue", "list", "--endpoint", endpoint(base, node)); code == 0 {
			t.Errorf("node %d answers strangers: %s", node, out)
		}
	}
	secret := keyEnvironment(t, file)
	must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint(base, 1))
	for node := 1; node <= 3; node++ {
		if out := must(t, "queue", "list", "--endpoint", endpoint(base, node)); !strings.Contains(out, "orders.fifo") {
			t.Errorf("node %d: %s", node, out)
		}
		log, err := os.ReadFile(filepath.Join(dir, "node-"+strconv.Itoa(node), "seriatim.log"))
		if err != nil || strings.Contains(string(log), secret) {
			t.Errorf("the log of node %d holds the secret, or is not there (%v)", node, err)
		}
	}
}

// --print-config prints the names of files, never their contents.
func TestPrintedConfigurationHasNoSecrets(t *testing.T) {
	const id, secret = "AKIASERIATIMTEST0001", "a-secret-of-this-test"
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("AWS_ACCESS_KEY_ID="+id+"\nAWS_SECRET_ACCESS_KEY="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := must(t, "server", "--print-config", "--first-key-file", key, "--data-dir", dir)
	if !strings.Contains(out, key) || strings.Contains(out, secret) || strings.Contains(out, id) {
		t.Errorf("printed:\n%s", out)
	}
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := tool(t, "server", "--print-config", "--first-key-file", key, "--data-dir", dir); code != 78 ||
		strings.Contains(out, secret) {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
