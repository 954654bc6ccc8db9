package files

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport/ops"
)

func tokenLine(role, token, name string) string {
	return fmt.Sprintf("%s %x %s\n", role, sha256.Sum256([]byte(token)), name)
}

func TestTokens(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "tokens"), time.Now()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(CheckInterval)
	}
	write("# who may do what\n\n" + tokenLine("viewer", "v", "prometheus") + tokenLine("admin", "a", "anna"))
	f, err := OpenTokens(path, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	want := func(token string, who ops.Operator) {
		t.Helper()
		if got, known := f.Find(token); got != who || known != (who != ops.Operator{}) {
			t.Errorf("%q is of %+v, %v, want %+v", token, got, known, who)
		}
	}
	want("v", ops.Operator{Name: "prometheus", Role: ops.Viewer})
	want("a", ops.Operator{Name: "anna", Role: ops.Administrator})
	want("", ops.Operator{})
	want("x", ops.Operator{})
	write(tokenLine("operator", "another", "anna"))
	want("a", ops.Operator{})
	want("another", ops.Operator{Name: "anna", Role: ops.Operate})
	write("nonsense")
	want("another", ops.Operator{Name: "anna", Role: ops.Operate})
}

func TestUnusableTokens(t *testing.T) {
	secret := "a-token-that-somebody-put-here-by-mistake-and-that-must-not-be-shown"
	for _, text := range []string{
		"", "# nothing\n", "admin " + secret + " anna\n", "admin " + secret + "\n", tokenLine("root", "t", "anna"),
		tokenLine("admin", "t", "anna") + tokenLine("viewer", "t", "otto"),
		strings.Replace(tokenLine("admin", "t", "anna"), " anna", "00 anna", 1),
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTokens(path, time.Now, slog.New(slog.DiscardHandler)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := OpenTokens(filepath.Join(t.TempDir(), "none"), time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a file that is not there can be used")
	}
}
