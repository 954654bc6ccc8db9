package contexts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "contexts.yaml")
	f, err := Read(path)
	if err != nil || len(f.Names()) != 0 {
		t.Fatalf("%v, %v", f, err)
	}
	f.Current = "prod"
	f.Contexts["prod"] = Context{
		Endpoints: []string{"https://q1:9324", "https://q2:9324"}, CAFile: "ca.crt", KeyID: "id", Secret: "s: \"x\"",
	}
	f.Contexts["local"] = Context{Account: "000000000001"}
	if err := f.Write(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	read, err := Read(path)
	if diff := cmp.Diff(f, read, cmpopts.IgnoreUnexported(File{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := read.Find("prd"); err == nil || !strings.Contains(err.Error(), "local, prod") {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a readable secret: %v", err)
	}
}

func TestRefusesUnknownMembers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "contexts.yaml")
	if err := os.WriteFile(path, []byte("contexts:\n  a:\n    endpoint: http://x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("%v", err)
	}
}

func TestProfile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"credentials": "[default]\naws_access_key_id = d\naws_secret_access_key = ds\n[prod]\naws_access_key_id = p\n" +
			"aws_secret_access_key = p#s;x\n",
		"config": "[default]\nregion = us-west-2\n[profile prod]\nregion = eu-west-1\n[profile empty]\nregion = eu-west-1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	for name, want := range map[string]Key{"default": {"d", "ds", "us-west-2"}, "prod": {"p", "p#s;x", "eu-west-1"}} {
		if got, err := Profile(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"empty", "missing"} {
		if got, err := Profile(name); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
