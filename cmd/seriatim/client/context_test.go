package client

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/contexts"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// ownContexts gives a test a file of contexts of its own, and returns its path.
func ownContexts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": dir, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "credentials"), "AWS_CONFIG_FILE": filepath.Join(dir, "config"),
	} {
		t.Setenv(name, value)
	}
	path, err := contexts.Path()
	clustertest.Must(t, err)
	clustertest.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	return path
}

// credentials is a server that keeps the Authorization headers of its requests.
func credentials(t *testing.T) (address string, seen func() string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	address, _ = node(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		list = append(list, "authorization: "+r.Header.Get("Authorization"))
		mu.Unlock()
		says(http.StatusBadRequest, "{}")(w, r)
	})
	return address, func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(list, "\n")
		list = nil
		return all
	}
}

// The key and the token of a context go to its own addresses, and never to another that a flag or a
// variable names.
func TestSecretsStayInTheirContext(t *testing.T) {
	path, dir := ownContexts(t), t.TempDir()
	own, atOwn := credentials(t)
	other, atOther := credentials(t)
	token := filepath.Join(dir, "token")
	clustertest.Must(t, os.WriteFile(token, []byte("TOKEN"), 0o600))
	clustertest.Must(t, os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "credentials"),
		[]byte("[p]\naws_access_key_id = CONTEXTKEY\naws_secret_access_key = s\n"), 0o600))
	f, err := contexts.Read(path)
	clustertest.Must(t, err)
	withToken := contexts.Context{Endpoints: []string{own}, Admins: []string{own}, TokenFile: token}
	withKey, withProfile := withToken, withToken
	withKey.KeyID, withKey.Secret, withProfile.Profile = "CONTEXTKEY", "s", "p"
	f.Contexts = map[string]contexts.Context{"key": withKey, "profile": withProfile}
	clustertest.Must(t, f.Write())
	for _, c := range []struct {
		name, args, variable string
		to                   func() string
		want, never          string
	}{
		{"to the client port", "queue show q", "", atOwn, "CONTEXTKEY", ""},
		{"to the admin port", "account list", "", atOwn, "Bearer TOKEN", ""},
		{"to one of the admin ports", "account list --admin " + own, "", atOwn, "Bearer TOKEN", ""},
		{"to the same client port", "queue show q --endpoint " + own, "", atOwn, "CONTEXTKEY", ""},
		{"to the client port beside another admin port", "queue show q --admin " + other, "", atOwn, "CONTEXTKEY", ""},
		{"to another client port", "queue show q --endpoint " + other, "", atOther, "", "CONTEXTKEY"},
		{"to another admin port", "account list --admin " + other, "", atOther, "", "TOKEN"},
		{"to another client port beside its own", "queue show q --endpoint " + other + "," + own, "", atOther, "", "CONTEXTKEY"},
		{"to the client port of a variable", "queue show q", EnvEndpoint, atOther, "", "CONTEXTKEY"},
		{"to the admin port of a variable", "account list", EnvAdmin, atOther, "", "TOKEN"},
	} {
		for _, name := range f.Names() {
			t.Run(c.name+" with "+name, func(t *testing.T) {
				if c.variable != "" {
					t.Setenv(c.variable, other)
				}
				r := runAlone(t.Context(), "", append(strings.Fields(c.args), "--context", name)...)
				got := c.to()
				if got == "" || !strings.Contains(got, c.want) || c.never != "" && strings.Contains(got, c.never) {
					t.Errorf("the server got %q; %v", got, r.err)
				}
				atOwn()
				atOther()
			})
		}
	}
}

// The file of contexts, the home directory and AWS_PROFILE matter only to commands that need a
// context.
func TestContextIsReadWhenNeeded(t *testing.T) {
	path := ownContexts(t)
	endpoint, _ := fakeServer(t, map[string]any{"GetQueueAttributes": counted("1", "0", "0")})
	t.Setenv("AWS_PROFILE", "missing")
	stats := []string{"queue", "purge", "q", "--dry-run"}
	check := func(when string, args []string, want exit.Code, says string) {
		t.Helper()
		r := runAlone(t.Context(), "", args...)
		if exit.CodeOf(r.err) != want || r.err != nil && !strings.Contains(r.err.Error(), says) {
			t.Errorf("%s: exit code %d, want %d and %q: %v", when, exit.CodeOf(r.err), want, says, r.err)
		}
	}
	addressed := append(slices.Clone(stats), "--endpoint", endpoint)
	check("AWS_PROFILE is wrong", addressed, exit.OK, "")
	clustertest.Must(t, os.WriteFile(path, []byte("broken: ["), 0o600))
	check("the file is wrong", addressed, exit.OK, "")
	check("the file is wrong, and no address is given", stats, exit.Failed, path)
	check("the file is wrong, and a context is given", append(addressed, "--context", "x"), exit.Failed, path)
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	wrongOutput := append(slices.Clone(stats), "-o", "nonsense")
	check("no home directory", wrongOutput, exit.Usage, "unknown output format")
	check("no home directory, and a context is given", append(wrongOutput, "--context", "x"), exit.Failed,
		"folder for the contexts is unknown")
}

// A context has absolute paths of files, so that it works in any folder.
func TestContextHasAbsolutePaths(t *testing.T) {
	path, dir := ownContexts(t), t.TempDir()
	t.Chdir(dir)
	if r := runAlone(t.Context(), "", "context", "add", "c", "--ca-file", "ca.crt", "--admin-token-file", "../t"); r.err != nil {
		t.Fatal(r.err)
	}
	f, err := contexts.Read(path)
	clustertest.Must(t, err)
	c, err := f.Find("c")
	if err != nil || c.CAFile != filepath.Join(dir, "ca.crt") || c.TokenFile != filepath.Join(filepath.Dir(dir), "t") {
		t.Errorf("%+v, %v", c, err)
	}
}
