package security

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestAccessRefusals checks that the admin port refuses invalid changes of keys and policies.
func TestAccessRefusals(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[0]
	existing := newKey(t, n, "existing")
	const asJSON = "application/json"
	for _, tc := range []struct {
		name, path, contentType, body string
		status                        int
		says                          string
	}{
		{"from a web page", "/v1/access/keys", "text/plain", `{}`, http.StatusUnsupportedMediaType, "content type"},
		{"no JSON", "/v1/access/keys", asJSON, `{`, http.StatusBadRequest, "not a valid change"},
		{"an unknown member", "/v1/access/keys", asJSON, `{"name":"anna"}`, http.StatusBadRequest, "unknown field"},
		{"an id without a secret", "/v1/access/keys", asJSON, `{"id":"AKIAEXAMPLE000000001"}`, http.StatusBadRequest, "belong together"},
		{"an account of letters", "/v1/access/keys", asJSON, `{"account":"mine"}`, http.StatusBadRequest, "12 digits"},
		{"a user with blanks", "/v1/access/keys", asJSON, `{"user":"anna b"}`, http.StatusBadRequest, "name of a user"},
		{"an id that exists", "/v1/access/keys", asJSON, `{"id":"` + existing.ID + `","secret":"another-example-secret"}`,
			http.StatusConflict, "already"},
		{"a key that does not exist", "/v1/access/keys/AKIAEXAMPLE000000009/delete", asJSON, `{}`, http.StatusNotFound, "cannot be found"},
		{"an id that cannot be one", "/v1/access/keys/x/disable", asJSON, `{}`, http.StatusBadRequest, "16 to 128"},
		{"a policy that cannot be obeyed", "/v1/access/policies", asJSON,
			`{"user":"anna","policy":"{\"Statement\":{\"Effect\":\"Perhaps\"}}"}`, http.StatusBadRequest,
			"Statement.Effect: must be Allow or Deny"},
		{"a policy of the account", "/v1/access/policies", asJSON, `{"policy":"{\"Statement\":[]}"}`, http.StatusBadRequest, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.Admin+tc.path, strings.NewReader(tc.body))
			harness.Must(t, err)
			r.Header.Set("Content-Type", tc.contentType)
			response, err := http.DefaultClient.Do(r)
			harness.Must(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			harness.Must(t, err)
			if response.StatusCode != tc.status || !strings.Contains(string(body), tc.says) {
				t.Errorf("got %d %s", response.StatusCode, body)
			}
		})
	}
}

// TestDisabledKeys checks that a disabled key is refused until it is enabled again.
func TestDisabledKeys(t *testing.T) {
	t.Parallel()
	n := shared.cluster.Nodes[1]
	k := newKey(t, n, "")
	c := client(n, k)
	for range 3 {
		harness.Must(t, harness.Err(c.ListQueues(t.Context(), nil)))
		tool(t, n, "", "key", "disable", "--yes", k.ID)
		if _, err := c.ListQueues(t.Context(), nil); codeOf(err) != "InvalidClientTokenId" {
			t.Fatalf("a disabled key: %v", err)
		}
		tool(t, n, "", "key", "enable", k.ID)
	}
}
