package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a bundle with a store at a time.
func at(s store, now time.Time, hosts ...string) (bundle, *bytes.Buffer) {
	var out bytes.Buffer
	return bundle{store: s, hosts: hosts, valid: 90 * day, now: now, out: &out}, &out
}

// must completes a bundle and returns the certificate of its nodes.
func must(t *testing.T, b bundle) *x509.Certificate {
	t.Helper()
	if err := b.complete(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes, err := b.store.read(t.Context(), "nodes")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := decode(nodes["tls.crt"], nodes["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(nodes["ca.crt"])
	if _, err := leaf.certificate.Verify(x509.VerifyOptions{Roots: authorities, CurrentTime: b.now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Errorf("the certificate is not of its authority: %v", err)
	}
	return leaf.certificate
}

// stores returns an empty store of each kind.
func stores(t *testing.T) map[string]store {
	t.Helper()
	return map[string]store{"folders": folders(filepath.Join(t.TempDir(), "secrets")), "secrets": newAPI(t).open(t, "release")}
}

// TestBundle: a second run keeps the parts, except a certificate that ends soon or lacks a name.
func TestBundle(t *testing.T) {
	for kind, s := range stores(t) {
		t.Run(kind, func(t *testing.T) {
			now := time.Now()
			b, _ := at(s, now, "*.nodes")
			first := must(t, b)
			kept := all(t, s)
			if len(kept["authority"]) != 2 || len(kept["gossip"]) != 1 || len(kept["admin"]) != len(callers)+1 ||
				len(kept["first-key"]) != 2 {
				t.Errorf("made was %v", kept)
			}
			b, out := at(s, now.Add(59*day), "n1.nodes")
			if again := must(t, b); !again.Equal(first) || strings.Contains(out.String(), "made") ||
				strings.Contains(out.String(), "issued") {
				t.Errorf("made again: %s", out)
			}
			if diff := cmp.Diff(kept, all(t, s)); diff != "" {
				t.Errorf("what was there has changed (-before +after):\n%s", diff)
			}
			b, _ = at(s, now.Add(61*day), "*.nodes")
			renewed := must(t, b)
			if renewed.Equal(first) || !renewed.NotAfter.After(first.NotAfter) {
				t.Error("a certificate with less than a third of its time was not renewed")
			}
			b, _ = at(s, now.Add(61*day), "*.nodes", "queue.example.org")
			if named := must(t, b); named.VerifyHostname("queue.example.org") != nil {
				t.Error("a name was added, and the certificate lacks it")
			}
			delete(kept, "nodes")
			after := all(t, s)
			delete(after, "nodes")
			if diff := cmp.Diff(kept, after); diff != "" {
				t.Errorf("more than the certificate has changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestBundleAfterHalfARenewal: an interrupted call can leave a certificate with the key of another
// one. The next call replaces both.
func TestBundleAfterHalfARenewal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	b, _ := at(folders(dir), time.Now(), "n1")
	must(t, b)
	key := filepath.Join(dir, "nodes", "tls.key")
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(80 * day)
	must(t, b)
	if err := os.WriteFile(key, old, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, b)
	if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "nodes", "tls.crt"), key); err != nil {
		t.Errorf("run again, it keeps what does not fit together: %v", err)
	}
}

// TestBundleWithoutCertificates: the command makes no certificates, even if there are none yet.
func TestBundleWithoutCertificates(t *testing.T) {
	b, _ := at(folders(t.TempDir()), time.Now(), "n1")
	b.withoutCertificates = true
	if err := b.complete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if parts := all(t, b.store); parts["authority"] != nil || parts["nodes"] != nil || parts["gossip"] == nil || parts["admin"] == nil ||
		parts["first-key"] == nil {
		t.Errorf("made was %v", parts)
	}
}

func all(t *testing.T, s store) map[string]files {
	t.Helper()
	parts := map[string]files{}
	for _, part := range []string{"authority", "nodes", "gossip", "admin", "first-key"} {
		content, err := s.read(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		parts[part] = content
	}
	return parts
}

// TestBundleWithoutAuthority: the command makes no second authority, which would divide the nodes.
func TestBundleWithoutAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	b, _ := at(folders(dir), time.Now(), "n1")
	first := must(t, b)
	if err := os.RemoveAll(filepath.Join(dir, "authority")); err != nil {
		t.Fatal(err)
	}
	if again := must(t, b); !again.Equal(first) {
		t.Error("a good certificate was replaced")
	}
	b.now = b.now.Add(80 * day)
	if err := b.complete(t.Context()); err == nil || !strings.Contains(err.Error(), "authority") {
		t.Errorf("without its authority the certificate cannot be renewed, got %v", err)
	}
}

// api is a fake of the part of the Kubernetes API that the command uses.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string]map[string]any
	version int
}

const namespacePath = "/api/v1/namespaces/queues/secrets"

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{objects: map[string]map[string]any{}}
	a.Server = httptest.NewTLSServer(a)
	t.Cleanup(a.Close)
	return a
}

// open returns a client with the account of a pod.
func (a *api) open(t *testing.T, prefix string) *secrets {
	t.Helper()
	dir := t.TempDir()
	root := pem.EncodeToMemory(&pem.Block{Type: chainBlock, Bytes: a.Certificate().Raw})
	for name, text := range map[string]string{"token": "of the pod\n", "namespace": "queues", "ca.crt": string(root)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openSecrets(a.URL, dir, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, namespacePath), "/")
	there, found := a.objects[name]
	sent := map[string]any{}
	if r.Method != http.MethodGet {
		text, _ := io.ReadAll(r.Body)
		if json.Unmarshal(text, &sent) != nil {
			http.Error(w, `{"message":"not JSON"}`, http.StatusBadRequest)
			return
		}
	}
	metadata, _ := sent["metadata"].(map[string]any)
	refuse := func(status int, text string) { http.Error(w, `{"message":"`+text+`"}`, status) }
	switch {
	case r.Header.Get("Authorization") != "Bearer of the pod":
		refuse(http.StatusUnauthorized, "who are you")
		return
	case !strings.HasPrefix(r.URL.Path, namespacePath):
		refuse(http.StatusForbidden, "another namespace")
		return
	case r.Method == http.MethodPost:
		name, _ = metadata["name"].(string)
		if _, taken := a.objects[name]; taken {
			refuse(http.StatusConflict, "it exists")
			return
		}
	case !found:
		refuse(http.StatusNotFound, "not found")
		return
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(there)
		return
	case metadata["resourceVersion"] != there["metadata"].(map[string]any)["resourceVersion"]:
		refuse(http.StatusConflict, "it was changed meanwhile")
		return
	}
	a.version++
	metadata["resourceVersion"] = strings.Repeat("v", a.version)
	a.objects[name] = sent
	_ = json.NewEncoder(w).Encode(sent)
}

// TestSecretsKeepTheirPlace: the secrets have the names that the chart mounts, and keep the
// additions of others.
func TestSecretsKeepTheirPlace(t *testing.T) {
	a := newAPI(t)
	b, _ := at(a.open(t, "release"), time.Now(), "n1")
	must(t, b)
	for _, name := range []string{"release-authority", "release-nodes", "release-gossip", "release-admin", "release-first-key"} {
		if a.objects[name] == nil {
			t.Errorf("there is no secret %s", name)
		}
	}
	a.objects["release-nodes"]["data"].(map[string]any)["other"] = "b3RoZXI="
	b.now = b.now.Add(89 * day)
	must(t, b)
	if a.objects["release-nodes"]["data"].(map[string]any)["other"] != "b3RoZXI=" {
		t.Error("what others had added is gone")
	}
	unauthenticated := a.open(t, "release")
	unauthenticated.token = "of a stranger"
	b.store = unauthenticated
	if err := b.complete(t.Context()); err == nil || !strings.Contains(err.Error(), "who are you") {
		t.Errorf("the refusal is %v", err)
	}
}
