package ops

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
)

// openNode starts a node of its own with an admin port.
func openNode(t *testing.T, name string) (*cluster.Node, *httptest.Server) {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	n, err := cluster.Open(t.Context(), cluster.Config{
		NodeName: name, DataDir: filepath.Join(t.TempDir(), name), PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0",
		BootstrapExpect: 1, Log: cluster.LogPolicy{SegmentBytes: 1 << 20}, Logger: logger,
		Fatal: func(code cluster.ExitCode, err error) { panic(fmt.Sprint(code, err)) },
	})
	clustertest.Must(t, err)
	server := httptest.NewServer(New(Options{Node: n, Now: time.Now, Logger: logger}))
	t.Cleanup(func() {
		server.Close()
		clustertest.Check(t, n.Close(context.WithoutCancel(t.Context())))
	})
	for deadline := time.Now().Add(time.Minute); n.Ready() != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(n.Ready())
		}
	}
	return n, server
}

func download(t *testing.T, from string) (*http.Response, string) {
	t.Helper()
	response, err := http.Get(from + "/v1/backup")
	clustertest.Must(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response.Status, err)
	}
	return response, string(content)
}

func upload(t *testing.T, to, content string) (int, string) {
	t.Helper()
	response, err := http.Post(to+"/v1/restore", backupMediaType, strings.NewReader(content))
	clustertest.Must(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	clustertest.Must(t, err)
	return response.StatusCode, string(answer)
}

func TestBackupAndRestoreOverHTTP(t *testing.T) {
	old, from := openNode(t, "old")
	clustertest.Must(t, clustertest.Err(old.Submit(t.Context(), &queue.CreateQueue{Queue: "orders"})))
	response, content := download(t, from.URL)
	status := old.Status()
	if response.Header.Get(headerIndex) != fmt.Sprint(status.AppliedIndex) || response.Header.Get(headerStateHash) != status.StateHash ||
		response.Header.Get(headerClusterID) != status.ClusterID {
		t.Errorf("headers %v, status %+v", response.Header, status)
	}
	sum := crc32.Checksum([]byte(content), crc32.MakeTable(crc32.Castagnoli))
	if response.Trailer.Get(trailerBytes) != fmt.Sprint(len(content)) || response.Trailer.Get(trailerChecksum) != fmt.Sprintf("%08x", sum) {
		t.Errorf("trailers %v for %d bytes of checksum %08x", response.Trailer, len(content), sum)
	}

	fresh, to := openNode(t, "fresh")
	for _, test := range []struct {
		name, content string
		status        int
		text          string
	}{
		{"cut off", content[:len(content)-3], http.StatusUnprocessableEntity, "damaged data"},
		{"whole", content, http.StatusOK, `"queues": 1`},
		{"again", content, http.StatusConflict, "fresh cluster only"},
	} {
		if code, answer := upload(t, to.URL, test.content); code != test.status || !strings.Contains(answer, test.text) {
			t.Errorf("%s: %d %s", test.name, code, answer)
		}
	}
	fresh.ReadLocal(func(v queue.View) {
		if !v.QueueExists("orders") {
			t.Error("the queue was not restored")
		}
	})
}

// brokenNode has no leader.
type brokenNode struct{ *node }

func (brokenNode) Backup(context.Context) (*cluster.Backup, error) {
	return nil, cluster.ErrUnavailable
}

func (brokenNode) Restore(context.Context, io.Reader, cluster.RestoreOptions) (cluster.Restored, error) {
	return cluster.Restored{}, cluster.ErrOutcomeUnknown
}

// A web page in an operator's browser cannot send the content types that a restore accepts.
func TestRestoreFromAPage(t *testing.T) {
	a := New(Options{Node: brokenNode{newNode(t)}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	for contentType, want := range map[string]int{
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415,
		backupMediaType: 503, "application/octet-stream": 503,
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/restore", strings.NewReader("x"))
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: got %d %s, want %d", contentType, w.Code, w.Body, want)
		}
	}
}

func TestUnavailableNodeGivesNoBackup(t *testing.T) {
	a := New(Options{Node: brokenNode{newNode(t)}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	for _, request := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/v1/backup", nil),
		httptest.NewRequest(http.MethodPost, "/v1/restore", strings.NewReader("x")),
	} {
		w := httptest.NewRecorder()
		request.Header.Set("Content-Type", backupMediaType)
		a.ServeHTTP(w, request)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"error"`) {
			t.Errorf("%s: %d %s", request.URL.Path, w.Code, w.Body)
		}
	}
}
