package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// haystack holds all output of a server and its tools, by source.
type haystack map[string]string

// lacks fails the test if the output contains a secret.
func (h haystack) lacks(t *testing.T, secrets map[string]string) {
	t.Helper()
	for what, secret := range secrets { // order does not matter: every find is an error
		if len(secret) < 12 {
			t.Fatalf("%s is too short to search for: %q", what, secret)
		}
		for where, text := range h { // order does not matter
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s", where, what)
			}
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// unpacked returns the contents of a bundle.
func unpacked(t *testing.T, path string) (all string, names []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for archive := tar.NewReader(packed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return b.String(), names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, head.Name)
		if _, err := io.Copy(&b, archive); err != nil {
			t.Fatal(err)
		}
	}
}

// pemBody returns the first line of a PEM key after its header.
func pemBody(t *testing.T, path string) string {
	t.Helper()
	return strings.Split(content(t, path), "\n")[1]
}

// No log, metric, error, setting, bundle or audit line contains a secret or the content of a
// message. The audit names the caller. The id of a request is in the error and in the log.
func TestSecretsAreNotShown(t *testing.T) {
	dir, base := filepath.Join(t.TempDir(), "certs"), freeBase(t, 1)
	file := func(name string) string { return filepath.Join(dir, name) }
	must(t, "cert", "ca", "--dir", dir)
	must(t, "cert", "issue", "n1", "--dir", dir)
	must(t, "cert", "token", "anna", "--role", "admin", "--dir", dir)
	settings := []string{
		"--auth", "--log-level", "debug", "--admin-tokens-file", file("admin-tokens"), "--audit-log-file", file("audit.log"),
		"--node-name", "n1",
		"--peer-cert", file("n1.crt"), "--peer-key", file("n1.key"), "--peer-ca", file("ca.crt"), "--gossip-key-file", file("gossip.key"),
	}
	data := t.TempDir()
	p := startServer(t, base, data, nil, settings...)
	p.err.wait(t, `"msg":"ready"`, 1)
	admin, shown := fmt.Sprintf("127.0.0.1:%d", base+1), haystack{}
	t.Setenv("SERIATIM_ENDPOINT", fmt.Sprintf("http://127.0.0.1:%d", base))
	t.Setenv("SERIATIM_ADMIN", admin)
	t.Setenv("SERIATIM_ADMIN_TOKEN", content(t, file("anna.token")))
	var key struct{ ID, Secret string }
	if err := json.Unmarshal([]byte(must(t, "key", "create", "-o", "json")), &key); err != nil || key.Secret == "" {
		t.Fatalf("%v: no key", err)
	}
	const body, attribute, wrong = "the-body-nobody-may-read", "the-attribute-nobody-may-read", "a-wrong-secret-of-forty-characters-00000"
	t.Setenv("AWS_ACCESS_KEY_ID", key.ID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key.Secret)
	must(t, "queue", "create", "orders.fifo")
	must(t, "msg", "send", "orders.fifo", body, "--group", "g", "--deduplication-id", "1", "--attribute", "a="+attribute)
	refused, code := tool(t, "msg", "send", "orders.fifo", body, "--group", "g", "--deduplication-id", strings.Repeat("2", 129))
	if code == 0 {
		t.Fatal("a deduplication id of 129 characters is accepted")
	}
	must(t, "msg", "receive", "orders.fifo", "--delete")
	must(t, "queue", "purge", "orders.fifo", "--yes")
	t.Setenv("AWS_SECRET_ACCESS_KEY", wrong)
	denied, code := tool(t, "queue", "list")
	if code != 4 {
		t.Fatalf("a wrong secret: exit code %d\n%s", code, denied)
	}
	if err := os.WriteFile(file("stranger.token"), []byte("a-token-of-nobody"), 0o600); err != nil {
		t.Fatal(err)
	}
	unknown, _ := tool(t, "cluster", "members", "--admin-token-file", file("stranger.token"))
	must(t, "debug", "bundle", "--file", file("bundle.tar.gz"))
	bundle, names := unpacked(t, file("bundle.tar.gz"))
	for _, name := range []string{"status.json", "members.json", "metrics.txt", "config.yaml", "log.txt", "goroutines.txt", "heap.pprof"} {
		if !strings.Contains(strings.Join(names, " "), "/node-1/"+name) {
			t.Errorf("the bundle lacks %s: %v", name, names)
		}
	}
	if !strings.Contains(bundle, "seriatim_build_info") || !strings.Contains(bundle, "admin-tokens-file:") ||
		!strings.Contains(bundle, `"msg":"ready"`) {
		t.Error("the bundle lacks metrics, settings or the log")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+content(t, file("anna.token")))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	metrics, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(metrics), `seriatim_auth_failures_total{code="SignatureDoesNotMatch"} 1`) {
		t.Errorf("%v: metrics lack the wrong signature", err)
	}
	shown["metrics"], shown["the bundle"], shown["an error"] = string(metrics), bundle, refused+denied+unknown
	shown["print-config"] = must(t, append([]string{"server", "--print-config"}, settings...)...)
	shown["the log"], shown["the audit"] = p.err.text(), content(t, file("audit.log"))
	_, first, _ := strings.Cut(content(t, filepath.Join(data, "first-key")), "AWS_SECRET_ACCESS_KEY=")
	shown.lacks(t, map[string]string{
		"the secret of the first key": strings.TrimSpace(first),
		"the secret of an access key": key.Secret, "a wrong secret": wrong, "a token": content(t, file("anna.token")),
		"an unknown token": "a-token-of-nobody", "the gossip key": content(t, file("gossip.key")),
		"the key of a certificate": pemBody(t, file("n1.key")), "a body": body, "an attribute of a message": attribute,
	})
	for _, line := range []string{
		`"msg":"admin call".*"node":"n1".*"who":"anna".*"what":"POST /v1/access/keys","target":"` + key.ID +
			` of 000000000000/".*"outcome":"done"`,
		`"msg":"client call".*"action":"PurgeQueue".*"queue":"orders.fifo".*"account":"` + key.ID + `".*"code":""`,
		`"msg":"refused a call of the admin port".*"reason":"token"`,
	} {
		if !regexp.MustCompile(line).MatchString(shown["the audit"]) {
			t.Errorf("the audit lacks %s:\n%s", line, shown["the audit"])
		}
	}
	if strings.Contains(shown["the log"], `"msg":"admin call"`) || strings.Contains(shown["the audit"], `"msg":"request"`) {
		t.Error("the streams are mixed")
	}
	id := regexp.MustCompile(`request id ([0-9a-f-]{36})`).FindStringSubmatch(refused)
	if id == nil || !regexp.MustCompile(`"ts":.*"msg":"request".*"request_id":"`+id[1]+
		`","action":"Send".*"queue":"orders.fifo".*"dur_ms":[0-9.]+`).MatchString(shown["the log"]) {
		t.Errorf("the log lacks the request of the error %s", refused)
	}
}
