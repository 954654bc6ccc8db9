package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The tool verifies a backup of one cluster and restores it into another.
func TestBackupAndRestore(t *testing.T) {
	old := devNode(t)
	must(t, "queue", "create", "orders.fifo", "--endpoint", old)
	must(t, "msg", "send", "orders.fifo", "hello", "--group", "g", "--deduplication-id", "1", "--endpoint", old)
	file := filepath.Join(t.TempDir(), "orders.backup")
	var created map[string]any
	if err := json.Unmarshal([]byte(must(t, "backup", "create", "--file", file, "-o", "json", "--endpoint", old)), &created); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || created["bytes"] != float64(info.Size()) || created["index"] == float64(0) || created["file"] != file {
		t.Errorf("created %v, %v", created, err)
	}
	if out, code := tool(t, "backup", "create", "--file", file, "--endpoint", old); code != 7 || !strings.Contains(out, "--force") {
		t.Errorf("over an existing file: %d %s", code, out)
	}
	if out := must(t, "backup", "verify", file); !strings.Contains(out, created["stateHash"].(string)) {
		t.Errorf("verify: %s", out)
	}
	if out, code := tool(t, "backup", "restore", file, "--endpoint", old); code != 7 || !strings.Contains(out, "fresh cluster") {
		t.Errorf("into a cluster that is in use: %d %s", code, out)
	}

	fresh := devNode(t)
	if out := must(t, "backup", "restore", file, "--endpoint", fresh); !strings.Contains(out, created["stateHash"].(string)) {
		t.Errorf("restore: %s", out)
	}
	if out := must(t, "msg", "receive", "orders.fifo", "--wait", "5", "--endpoint", fresh); !strings.Contains(out, "hello") {
		t.Errorf("received %s", out)
	}
	must(t, "backup", "create", "--file", file, "--force", "--endpoint", fresh)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.part"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The account in a URL or an ARN selects the queue.
func TestURLNamesTheAccount(t *testing.T) {
	const tenant = "111111111111"
	endpoint := devNode(t)
	must(t, "account", "create", tenant, "--endpoint", endpoint)
	for _, account := range []string{"000000000000", tenant} {
		must(t, "queue", "create", "q.fifo", "--account", account, "--endpoint", endpoint)
		must(t, "msg", "send", "q.fifo", "of "+account, "--group", "g", "--deduplication-id", account, "--account", account,
			"--endpoint", endpoint)
	}
	for _, account := range []string{"000000000000", tenant} {
		for _, name := range []string{endpoint + "/" + account + "/q.fifo", account + "/q.fifo"} {
			if out := must(t, "msg", "peek", name, "--endpoint", endpoint); !strings.Contains(out, "of "+account) {
				t.Errorf("peek %s: %s", name, out)
			}
			if out := must(t, "dedup", "lookup", name, account, "--endpoint", endpoint); !strings.Contains(out, "stored") {
				t.Errorf("lookup %s: %s", name, out)
			}
		}
	}
	must(t, "dedup", "window", endpoint+"/"+tenant+"/q.fifo", "10m", "--endpoint", endpoint)
	if out := must(t, "dedup", "window", "q.fifo", "--endpoint", endpoint); !strings.Contains(out, "5m") {
		t.Errorf("the queue of the cluster's account changed: %s", out)
	}
}
