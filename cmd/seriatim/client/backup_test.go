package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// backupServer serves content as a backup and announces the length and checksum of whole.
func backupServer(t *testing.T, content, whole string, abort bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			"X-Seriatim-Index": "7", "X-Seriatim-Log-Time": "1700000000000", "X-Seriatim-State-Hash": "abc", "X-Seriatim-Cluster-Id": "c1",
			"Trailer": "X-Seriatim-Backup-Bytes, X-Seriatim-Backup-Crc32c",
		} {
			w.Header().Set(name, value)
		}
		_, _ = io.WriteString(w, content) // a failure shows at the other end
		if abort {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("X-Seriatim-Backup-Bytes", fmt.Sprint(len(whole)))
		w.Header().Set("X-Seriatim-Backup-Crc32c", fmt.Sprintf("%08x", crc32.Checksum([]byte(whole), crc32.MakeTable(crc32.Castagnoli))))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestBackupCreate(t *testing.T) {
	cases := []struct {
		name, content, whole string
		abort                bool
		code                 exit.Code
	}{
		{"whole", "seriatim...", "seriatim...", false, exit.OK},
		{"too short", "seriatim..", "seriatim...", false, exit.Failed},
		{"changed", "seriatim..!", "seriatim...", false, exit.Failed},
		{"cut off", "seriatim", "seriatim...", true, exit.Failed},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			directory := t.TempDir()
			file := filepath.Join(directory, "b")
			r := runTool(t, backupServer(t, test.content, test.whole, test.abort), "", "backup", "create", "--file", file, "-o", "json",
				"--progress", "json")
			if code := exit.CodeOf(r.err); code != test.code {
				t.Fatalf("exit code %d: %v", code, r.err)
			}
			if test.code != exit.OK {
				if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
				return
			}
			var done created
			if err := json.Unmarshal([]byte(r.out), &done); err != nil || done.Index != 7 || done.LogTimeMs != 1700000000000 ||
				done.StateHash != "abc" || done.ClusterID != "c1" || done.Bytes != int64(len(test.whole)) {
				t.Errorf("%+v, %v", done, err)
			}
			if content, err := os.ReadFile(file); err != nil || string(content) != test.whole {
				t.Errorf("%q, %v", content, err)
			}
			if !strings.Contains(r.words, fmt.Sprintf(`{"bytes":%d,`, len(test.whole))) {
				t.Errorf("progress %q", r.words)
			}
		})
	}
}

// TestBackupInterrupted: the command reports the interruption and leaves no file.
func TestBackupInterrupted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "seriatim") // a failure shows at the other end
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	directory := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for ctx.Err() == nil { // until a part of it is there
			parts, _ := filepath.Glob(filepath.Join(directory, "*.part"))
			if len(parts) == 1 {
				if info, err := os.Stat(parts[0]); err == nil && info.Size() > 0 {
					interrupt()
				}
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r := runToolIn(ctx, server.URL, "", "backup", "create", "--file", filepath.Join(directory, "b"))
	if exit.CodeOf(r.err) != exit.Interrupted {
		t.Errorf("exit code %d: %v", exit.CodeOf(r.err), r.err)
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestBackupAsksTheNextNode: after the 503 of a node without a leader, the tool asks the next one.
func TestBackupAsksTheNextNode(t *testing.T) {
	sound := backupServer(t, "seriatim...", "seriatim...", false)
	away, _ := node(t, says(http.StatusServiceUnavailable, `{"error":"there is no leader"}`))
	for _, test := range []struct {
		name, addresses, text string
		code                  exit.Code
	}{
		{"the first is turned away", away + "," + sound, "", exit.OK},
		{"the first is dead, the second turned away", closedPort(t) + "," + away + "," + sound, "", exit.OK},
		{"all are turned away", away + "," + away, "there is no leader", exit.Unavailable},
		{"the last is dead", away + "," + closedPort(t), "there is no leader", exit.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := runTool(t, test.addresses, "", "backup", "create", "--file", filepath.Join(t.TempDir(), "b"))
			if code := exit.CodeOf(r.err); code != test.code || r.err != nil && !strings.Contains(r.err.Error(), test.text) {
				t.Errorf("exit code %d, want %d with %q: %v", code, test.code, test.text, r.err)
			}
		})
	}
}

func TestBackupUsage(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		code exit.Code
	}{
		{"no file", []string{"backup", "create"}, exit.Usage},
		{"progress of no kind", []string{"backup", "create", "--file", text, "--force", "--progress", "loud"}, exit.Usage},
		{"exists", []string{"backup", "create", "--file", text}, exit.Conflict},
		{"restore nothing", []string{"backup", "restore", text + "x"}, exit.NotFound},
		{"restore no backup", []string{"backup", "restore", text}, exit.Usage},
		{"no server", []string{"backup", "create", "--file", text, "--force"}, exit.Unavailable},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			r := runTool(t, "http://127.0.0.1:1", "", test.args...)
			if code := exit.CodeOf(r.err); code != test.code {
				t.Errorf("exit code %d: %v", code, r.err)
			}
			if content, err := os.ReadFile(text); err != nil || string(content) != "something else" {
				t.Errorf("the file is now %q, %v", content, err)
			}
		})
	}
}

// TestBackupErrorsNameTheFile keeps the name of the temporary file out.
func TestBackupErrorsNameTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "b")
	r := runTool(t, backupServer(t, "seriatim", "seriatim", false), "", "backup", "create", "--file", file)
	if r.err == nil || r.err.Error() != "cannot write "+file+": no such file or directory" {
		t.Error(r.err)
	}
	r = runTool(t, "http://127.0.0.1:1", "", "backup", "restore", file)
	if exit.CodeOf(r.err) != exit.NotFound {
		t.Error(r.err)
	}
}

func TestBackupRestoreAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(file, []byte("seriatim and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		status int
		answer string
		code   exit.Code
	}{
		{http.StatusOK, `{"queues": 3, "stateHash": "abc"}`, exit.OK},
		{http.StatusConflict, `{"error": "not fresh"}`, exit.Conflict},
		{http.StatusUnprocessableEntity, `{"error": "damaged"}`, exit.Failed},
		{http.StatusServiceUnavailable, `{"error": "no leader"}`, exit.Unavailable},
		{http.StatusOK, `{"queues": 3, "state`, exit.Unavailable}, // it broke off: the outcome is unknown
	}
	for _, test := range cases {
		t.Run(fmt.Sprint(test.status), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.status == http.StatusOK {
					if got, err := io.ReadAll(r.Body); err != nil || string(got) != "seriatim and more" || r.URL.Path != "/v1/restore" {
						t.Errorf("%s got %q, %v", r.URL.Path, got, err)
					}
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer) // a failure shows at the other end
			}))
			defer server.Close()
			r := runTool(t, server.URL, "", "backup", "restore", file)
			if code := exit.CodeOf(r.err); code != test.code {
				t.Errorf("exit code %d: %v", code, r.err)
			}
			if test.code == exit.OK && !strings.Contains(r.out, "abc") {
				t.Errorf("printed %q", r.out)
			}
		})
	}
}

// A backup of nodes that encrypt is sent as it is, and another file is not.
func TestRestoreOfEncryptedBackup(t *testing.T) {
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sent++
		_, _ = io.WriteString(w, `{"queues": 3, "stateHash": "abc"}`)
	}))
	defer server.Close()
	keys, err := encryption.NewKeyring(rand.Reader, bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	if _, err := keys.NewWriter(&content, "backup"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "b")
	for text, code := range map[string]exit.Code{content.String(): exit.OK, "another file": exit.Usage} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := runTool(t, server.URL, "", "backup", "restore", file); exit.CodeOf(r.err) != code {
			t.Errorf("%.8q: %v", text, r.err)
		}
	}
	if sent != 1 {
		t.Errorf("%d files were sent", sent)
	}
}

// A backup goes to standard output, and its description to standard error. An incomplete backup is
// an error.
func TestBackupToPipe(t *testing.T) {
	for _, test := range []struct {
		content string
		code    exit.Code
	}{{"seriatim...", exit.OK}, {"seriatim..!", exit.Failed}} {
		r := runTool(t, backupServer(t, test.content, "seriatim...", false), "", "backup", "create", "--file", "-", "-o", "json")
		if exit.CodeOf(r.err) != test.code || r.out != test.content {
			t.Errorf("%q: %+v", test.content, r)
		}
		if r.err == nil && !strings.Contains(r.words, `"stateHash": "abc"`) {
			t.Errorf("standard error has %q", r.words)
		}
	}
}

// A restore reads standard input, whose length it does not know.
func TestRestoreFromPipe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, err := io.ReadAll(r.Body); err != nil || string(got) != "seriatim and more" {
			t.Errorf("got %q, %v", got, err)
		}
		_, _ = io.WriteString(w, `{"queues": 3, "stateHash": "abc"}`)
	}))
	defer server.Close()
	for content, code := range map[string]exit.Code{"seriatim and more": exit.OK, "something else": exit.Usage, "": exit.Usage} {
		if r := runTool(t, server.URL, content, "backup", "restore", "-"); exit.CodeOf(r.err) != code {
			t.Errorf("%q: %v", content, r.err)
		}
	}
}

// TestRestoreProgress: the last report has the number of sent bytes.
func TestRestoreProgress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b")
	if err := os.WriteFile(file, []byte("seriatim and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runTool(t, closedPort(t), "", "backup", "restore", file, "--progress", "json")
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(r.words, `{"bytes":0,`) {
		t.Errorf("of nothing sent: %q, %v", r.words, r.err)
	}
}
