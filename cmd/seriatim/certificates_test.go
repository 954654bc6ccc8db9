package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// issued is a directory with the files of seriatim cert.
type issued struct {
	t   *testing.T
	dir string
}

func newIssued(t *testing.T) issued {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certs")
	must(t, "cert", "ca", "--dir", dir)
	must(t, "cert", "issue", "n1", "--dir", dir, "--host", "127.0.0.1")
	return issued{t, dir}
}

func (i issued) file(name string) string { return filepath.Join(i.dir, name) }

// renew replaces the certificate of n1, first its key, and returns the new one.
func (i issued) renew() *x509.Certificate {
	i.t.Helper()
	fresh := i.t.TempDir()
	for _, name := range []string{"ca.crt", "ca.key"} {
		content, err := os.ReadFile(i.file(name))
		if err != nil {
			i.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fresh, name), content, 0o600); err != nil {
			i.t.Fatal(err)
		}
	}
	must(i.t, "cert", "issue", "n1", "--dir", fresh, "--host", "127.0.0.1")
	pair, err := tls.LoadX509KeyPair(filepath.Join(fresh, "n1.crt"), filepath.Join(fresh, "n1.key"))
	if err != nil {
		i.t.Fatal(err)
	}
	for _, name := range []string{"n1.key", "n1.crt"} {
		if err := os.Rename(filepath.Join(fresh, name), i.file(name)); err != nil {
			i.t.Fatal(err)
		}
	}
	return pair.Leaf
}

// trusted returns the TLS configuration of a client that trusts the issued certificates.
func (i issued) trusted() *tls.Config {
	i.t.Helper()
	text, err := os.ReadFile(i.file("ca.crt"))
	if err != nil {
		i.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// caller repeats a request until the test ends, and counts the answers.
type caller struct {
	client *http.Client
	make   func() (*http.Request, error)
	done   atomic.Int64
}

// run ends with the first wrong answer.
func (c *caller) run(stop <-chan struct{}) error {
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	defer c.client.CloseIdleConnections()
	for {
		select {
		case <-stop:
			return nil
		case <-pace.C:
		}
		request, err := c.make()
		if err != nil {
			return err
		}
		response, err := c.client.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("answer %d: HTTP %d %s, %w", c.done.Load()+1, response.StatusCode, body, err)
		}
		c.done.Add(1)
	}
}

// The test replaces the certificates of the client and the admin port while clients send over old
// and new connections, with both versions of HTTP. No request fails, and new connections show the
// new certificate.
func TestCertificatesAreReplacedUnderLoad(t *testing.T) {
	certs, base := newIssued(t), freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil, "--tls-cert", certs.file("n1.crt"), "--tls-key", certs.file("n1.key"),
		"--admin-cert", certs.file("n1.crt"), "--admin-key", certs.file("n1.key"))
	p.err.wait(t, `"msg":"ready"`, 1)
	endpoint, admin := fmt.Sprintf("https://127.0.0.1:%d", base), fmt.Sprintf("https://127.0.0.1:%d", base+1)
	must(t, "queue", "create", "load.fifo", "--endpoint", endpoint, "--ca-file", certs.file("ca.crt"))
	var callers []*caller
	for _, kept := range []bool{true, false} {
		for _, http2 := range []bool{true, false} {
			c := &caller{client: certs.client(http2, kept)}
			c.make = func() (*http.Request, error) {
				body := fmt.Sprintf(`{"QueueUrl":"load.fifo","MessageBody":"m","MessageGroupId":"%v%v","MessageDeduplicationId":"%v%v%d"}`,
					kept, http2, kept, http2, c.done.Load())
				r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
				if err == nil {
					r.Header.Set("Content-Type", "application/x-amz-json-1.0")
					r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
				}
				return r, err
			}
			callers = append(callers, c)
		}
		callers = append(callers, &caller{client: certs.client(false, kept), make: func() (*http.Request, error) {
			return http.NewRequest(http.MethodGet, admin+"/readyz", nil)
		}})
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	for _, c := range callers {
		running.Go(func() {
			if err := c.run(stop); err != nil {
				t.Error(err)
			}
		})
	}
	const rounds = 3
	for range rounds {
		leaf := certs.renew()
		for _, port := range []string{endpoint, admin} {
			certs.awaitShown(port, leaf)
		}
		for _, c := range callers {
			for done := c.done.Load(); c.done.Load() == done && !t.Failed(); {
				time.Sleep(time.Millisecond) // one more answer
			}
		}
	}
	close(stop)
	running.Wait()
	metrics := get(t, certs.client(false, false), admin+"/metrics")
	for _, port := range []string{"client", "admin"} {
		if line := `seriatim_tls_cert_expiry_timestamp_seconds{port="` + port + `"} `; !strings.Contains(metrics, line) {
			t.Errorf("no line %s", line)
		}
	}
}

func (i issued) client(http2, kept bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	return &http.Client{Timeout: waitMax,
		Transport: &http.Transport{TLSClientConfig: i.trusted(), Protocols: protocols, DisableKeepAlives: !kept}}
}

// awaitShown waits until new connections show a certificate.
func (i issued) awaitShown(url string, want *x509.Certificate) {
	i.t.Helper()
	for end := time.Now().Add(waitMax); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), i.trusted())
		if err != nil {
			i.t.Fatal(err)
		}
		shown := conn.ConnectionState().PeerCertificates[0]
		conn.Close()
		if shown.Equal(want) {
			return
		}
	}
	i.t.Fatalf("%s does not show the new certificate", url)
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The tool reaches an admin port with TLS. If it cannot, the hint names the missing flag.
func TestAdminPortWithTLS(t *testing.T) {
	certs, base := newIssued(t), freeBase(t, 1)
	p := startServer(t, base, t.TempDir(), nil, "--admin-cert", certs.file("n1.crt"), "--admin-key", certs.file("n1.key"))
	p.err.wait(t, `"msg":"ready"`, 1)
	admin := fmt.Sprintf("127.0.0.1:%d", base+1)
	must(t, "cluster", "status", "--admin", "https://"+admin, "--ca-file", certs.file("ca.crt"))
	for _, tc := range []struct{ admin, hint string }{
		{"http://" + admin, "--admin https://" + admin},
		{"https://" + admin, "--ca-file FILE"},
	} {
		if out, code := tool(t, "cluster", "status", "--admin", tc.admin); code == 0 || !strings.Contains(out, tc.hint) {
			t.Errorf("%s: exit code %d, want %q\n%s", tc.admin, code, tc.hint, out)
		}
	}
}

// Without a token file and without insecure-admin the admin port needs the node's own token, which
// the tool finds on this machine. Health needs no token, and no other node can connect.
func TestAdminPortIsClosedByDefault(t *testing.T) {
	base, data := freeBase(t, 1), t.TempDir()
	p := startServer(t, base, data, nil, "--insecure-admin=false", "--insecure-peers=false")
	p.err.wait(t, `"msg":"ready"`, 1)
	admin, file := fmt.Sprintf("127.0.0.1:%d", base+1), filepath.Join(data, "admin.token")
	p.err.wait(t, `"msg":"the admin port needs the token in this file.*admin\.token`, 1)
	for _, path := range []string{"/healthz/live", "/readyz"} {
		response, err := http.Get("http://" + admin + path)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %+v, %v", path, response, err)
		}
		response.Body.Close()
	}
	for _, path := range []string{"/v1/status", "/metrics", "/v1/backup", "/v1/access/keys"} {
		response, err := http.Get("http://" + admin + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), file) {
			t.Errorf("%s: HTTP %d %s, %v", path, response.StatusCode, body, err)
		}
	}
	must(t, "cluster", "status", "--admin", admin)
	must(t, "backup", "create", "--admin", admin, "--file", filepath.Join(t.TempDir(), "backup"))
	if out, code := tool(t, "cluster", "status", "--admin", admin, "--admin-token-file", writeToken(t, "of-another-node")); code != 4 ||
		!strings.Contains(out, "this token is not valid here") {
		t.Errorf("a wrong token: exit code %d\n%s", code, out)
	}
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.err.text(), strings.TrimSpace(string(token))) {
		t.Error("the log shows the token")
	}
	// The tool reads it again at each call, and the node after a restart.
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	p = startServer(t, base, data, nil, "--insecure-admin=false", "--insecure-peers=false")
	p.err.wait(t, `"msg":"ready"`, 1)
	must(t, "cluster", "status", "--admin", admin)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(token) {
		t.Errorf("another token after a restart, %v", err)
	}
	// The peer port gives no answer in the clear.
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", base+2))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const hello = "SRTM\x02\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01x\x00\x01y"
	if _, err := conn.Write([]byte(hello)); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); strings.Contains(string(answer), "SRTM") {
		t.Errorf("the peer port answers %q", answer)
	}
}

func writeToken(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The admin port checks the token and its role, and notices new and revoked tokens without a
// restart. No output shows a token.
func TestAdminPortWithTokens(t *testing.T) {
	dir, base := filepath.Join(t.TempDir(), "certs"), freeBase(t, 1)
	file := func(name string) string { return filepath.Join(dir, name) }
	must(t, "cert", "token", "watcher", "--role", "viewer", "--dir", dir)
	must(t, "cert", "token", "anna", "--role", "operator", "--dir", dir)
	settings := []string{"--admin-tokens-file", file("admin-tokens")}
	p := startServer(t, base, t.TempDir(), nil, settings...)
	p.err.wait(t, `"msg":"ready"`, 1)
	admin := fmt.Sprintf("127.0.0.1:%d", base+1)
	try := func(token string, want int, args ...string) string {
		t.Helper()
		args = append(args, "--admin", admin)
		if token != "" {
			args = append(args, "--admin-token-file", file(token+".token"))
		}
		out, code := tool(t, args...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d\n%s", args, code, want, out)
		}
		return out
	}
	if out := try("", 4, "cluster", "members"); !strings.Contains(out, "--admin-token-file") {
		t.Errorf("it does not say what to do\n%s", out)
	}
	try("watcher", 0, "cluster", "members")
	if out := try("watcher", 4, "cluster", "drain"); !strings.Contains(out, "needs the role operator") {
		t.Errorf("it does not say what is missing\n%s", out)
	}
	try("watcher", 4, "backup", "create", "--file", filepath.Join(t.TempDir(), "backup"))
	try("anna", 0, "cluster", "drain")
	try("anna", 0, "cluster", "uncordon")
	p.err.wait(t, `"msg":"admin call".*"who":"anna".*"what":"POST /v1/cluster/drain".*"outcome":"done"`, 1)
	must(t, "cert", "token", "otto", "--role", "admin", "--dir", dir)
	content, err := os.ReadFile(file("admin-tokens"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(content), "\n")
	if err := os.WriteFile(file("admin-tokens"), []byte(lines[0]+lines[2]), 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(waitMax); ; time.Sleep(20 * time.Millisecond) {
		if _, code := tool(t, "cluster", "drain", "--admin", admin, "--admin-token-file", file("otto.token")); code == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a new token is not known")
		}
	}
	try("anna", 4, "cluster", "uncordon")
	shown := must(t, append([]string{"server", "--print-config"}, settings...)...) + p.err.text()
	for _, name := range []string{"watcher", "anna", "otto"} {
		token, err := os.ReadFile(file(name + ".token"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shown, strings.TrimSpace(string(token))) {
			t.Errorf("the token of %s is shown", name)
		}
	}
	if out, code := tool(t, "cert", "token", "anna", "--dir", dir); code == 0 || !strings.Contains(out, "exists") {
		t.Errorf("a token is overwritten: %d\n%s", code, out)
	}
}
