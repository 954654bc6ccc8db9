package security

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// key is an access key as the tool prints it.
type key struct {
	ID     string `json:"id"`
	Secret string `json:"secret"`
}

// tool runs the command-line tool against a node and returns its output.
func tool(t *testing.T, n *harness.Node, stdin string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shared.binary,
		slices.Concat(args, []string{"--endpoint", "http://" + n.Client, "--admin", "http://" + n.Admin})...)
	cmd.Stdin = strings.NewReader(stdin)
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("seriatim %s: %v\n%s", strings.Join(args, " "), err, words.String())
	}
	return out
}

// newKey creates a key of a user, or of the account itself.
func newKey(t *testing.T, n *harness.Node, user string) (k key) {
	t.Helper()
	harness.Must(t, json.Unmarshal(tool(t, n, "", "key", "create", "--user", user, "-o", "json"), &k))
	return k
}

// signer returns a signer with the key, for a service.
func (k key) signer(service string) *sigv4.Signer {
	return &sigv4.Signer{KeyID: k.ID, Secret: k.Secret, Region: harness.Region, Service: service, Now: time.Now}
}

// answer is the answer of a server.
type answer struct {
	status int
	code   string // first part of x-amzn-query-error
	body   string
}

// request is a request to send.
type request struct {
	body   string
	header http.Header
}

// post sends a request to a node, signed unless signer is nil.
func post(t *testing.T, n *harness.Node, q request, signer *sigv4.Signer) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.Client+"/", strings.NewReader(q.body))
	harness.Must(t, err)
	r.Header = q.header.Clone()
	if signer != nil {
		signer.Sign(r, q.body)
	}
	response, err := http.DefaultClient.Do(r)
	harness.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	harness.Must(t, err)
	code, _, _ := strings.Cut(response.Header.Get("X-Amzn-Query-Error"), ";")
	return answer{response.StatusCode, code, string(body)}
}
