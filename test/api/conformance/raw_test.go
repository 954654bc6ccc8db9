package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// object is a JSON object.
type object = map[string]any

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// rawRequest is a hand-made request, for requests that no SDK sends.
type rawRequest struct {
	method string // default POST
	path   string // default /
	header map[string]string
	body   string
	host   string // default that of the first node
}

// do signs the request and sends it to one node after the other, as long as the answer is that the
// server is unavailable.
func (r rawRequest) do(t *testing.T) answer {
	t.Helper()
	for try := 0; ; try++ {
		got := r.once(t)
		if got.status != http.StatusServiceUnavailable || try == 5 {
			return got
		}
	}
}

func (r rawRequest) once(t *testing.T) answer {
	t.Helper()
	got, err := r.attempt(t)
	harness.Must(t, err)
	return got
}

// attempt sends the request once. The error is that of the connection.
func (r rawRequest) attempt(t *testing.T) (answer, error) {
	t.Helper()
	method, path := r.method, r.path
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, shared.cluster.Endpoint()+path, strings.NewReader(r.body))
	harness.Must(t, err)
	if r.host != "" {
		request.Host = r.host
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	sum := sha256.Sum256([]byte(r.body))
	key := aws.Credentials{AccessKeyID: harness.AccessKeyID, SecretAccessKey: harness.SecretAccessKey}
	if err := v4.NewSigner().SignHTTP(t.Context(), key, request, hex.EncodeToString(sum[:]), "sqs", harness.Region,
		time.Now()); err != nil {
		t.Fatal(err)
	}
	return exchange(request)
}

func send(t *testing.T, request *http.Request) answer {
	t.Helper()
	got, err := exchange(request)
	harness.Must(t, err)
	return got
}

func exchange(request *http.Request) (answer, error) {
	web := http.Client{Transport: harness.NewRoundTripper(shared.cluster.Rotate()), Timeout: requestTimeout}
	defer web.CloseIdleConnections()
	response, err := web.Do(request)
	if err != nil {
		return answer{}, fmt.Errorf("send: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer: %w", err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

func (a answer) String() string {
	return fmt.Sprintf("HTTP %d %v\n%s", a.status, a.header, a.body)
}

// refusal checks the form of the answer and returns its error.
func (a answer) refusal(t *testing.T, isJSON bool) *refusal {
	t.Helper()
	got, err := wireForms{isJSON: isJSON}.checkAnswer(a.status, a.header, a.body)
	if err != nil {
		t.Fatalf("%v: %v", err, a)
	}
	return got
}

// ok ends the test unless the answer is a success.
func (a answer) ok(t *testing.T) answer {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("refused: %v", a)
	}
	return a
}

// object returns the JSON body.
func (a answer) object(t *testing.T) object {
	t.Helper()
	out := object{}
	if len(bytes.TrimSpace(a.body)) == 0 {
		return out
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		t.Fatalf("%v: %v", err, a)
	}
	return out
}

// absent checks that a JSON answer is a success without the member.
func (a answer) absent(t *testing.T, member string) {
	t.Helper()
	if value, found := a.ok(t).object(t)[member]; found {
		t.Errorf("member %s is %v, want it left out", member, value)
	}
}

// contains checks that the body holds a text.
func (a answer) contains(t *testing.T, part string) {
	t.Helper()
	if !bytes.Contains(a.body, []byte(part)) {
		t.Errorf("the body lacks %q: %v", part, a)
	}
}

// jsonHeader returns the headers that an SDK sends for an action.
func jsonHeader(action string) map[string]string {
	return map[string]string{
		"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action, "X-Amzn-Query-Mode": "true",
	}
}

// postJSON sends an action in JSON.
func postJSON(t *testing.T, action string, in object) answer {
	t.Helper()
	body, err := json.Marshal(in)
	harness.Must(t, err)
	return rawRequest{header: jsonHeader(action), body: string(body)}.do(t)
}

var formHeader = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}

// form is the parameters of a Query request in pairs.
func form(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

// postForm sends an action in Query.
func postForm(t *testing.T, pairs ...string) answer {
	t.Helper()
	return rawRequest{header: formHeader, body: form(append(pairs, "Version", "2012-11-05")...)}.do(t)
}

func queuePath(queue string) string { return "/" + account + "/" + queueName(queue) }

// getQueue sends a Query request as a GET on the queue's URL.
func getQueue(t *testing.T, queue string, pairs ...string) answer {
	t.Helper()
	path := queuePath(queue)
	if len(pairs) > 0 {
		path += "?" + form(pairs...)
	}
	return rawRequest{method: http.MethodGet, path: path}.do(t)
}
