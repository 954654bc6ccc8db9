package owntoken

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A node draws a token once, and only its owner can read it.
func TestTokenIsDrawnOnce(t *testing.T) {
	folder := t.TempDir()
	first, err := Open(folder, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Read(first.File)
	if err != nil || !first.Is(text) || first.Is("") || first.Is(text+"x") {
		t.Errorf("the file holds %d characters, %v", len(text), err)
	}
	info, err := os.Stat(filepath.Join(folder, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := Open(folder, rand.Reader); err != nil || !again.Is(text) {
		t.Errorf("the next start has another token, %v", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Read refuses files without a token, because the tool sends the content to the node that named
// the file.
func TestOtherFilesAreNotRead(t *testing.T) {
	folder := t.TempDir()
	secret := "a-secret-that-is-no-token"
	for _, name := range []string{"id_rsa", FileName} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := Read(filepath.Join(folder, name)); err == nil || text != "" || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := Read(FileName); err == nil {
		t.Error("a relative path was read")
	}
	if _, err := Open(folder, rand.Reader); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a file without a token: %v", err)
	}
}
