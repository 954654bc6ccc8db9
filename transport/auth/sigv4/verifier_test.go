package sigv4

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/auth"
)

const (
	testKey    = "AKIDEXAMPLE"
	testSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	testBody   = `{"QueueUrl":"http://127.0.0.1:9324/000000000000/orders.fifo","MessageBody":"one"}`
)

var (
	signedAt    = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	credentials = aws.Credentials{AccessKeyID: testKey, SecretAccessKey: testSecret}
)

type keyTable map[string]string

func (k keyTable) Secret(id string) (string, bool, error) {
	secret, ok := k[id]
	return secret, ok, nil
}

// verifierAt returns a Verifier whose clock does not move.
func verifierAt(now time.Time) *Verifier {
	return New(keyTable{testKey: testSecret}, func() time.Time { return now })
}

func newRequest(t testing.TB, method, target, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:9324"+target, strings.NewReader(body))
	clustertest.Must(t, err)
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	r.Header.Set("Amz-Sdk-Request", "attempt=1;   max=3")
	return r
}

// signed returns a request signed by the AWS SDK in a header.
func signed(t testing.TB, method, target, body string) *http.Request {
	t.Helper()
	r := newRequest(t, method, target, body)
	sign(t, r, digestOf(body))
	return r
}

func sign(t testing.TB, r *http.Request, content string) {
	t.Helper()
	clustertest.Must(t, v4.NewSigner().SignHTTP(t.Context(), credentials, r, content, "sqs", "eu-north-1", signedAt))
}

// received returns the request as a server gets it from a connection.
func received(t testing.TB, r *http.Request) (*http.Request, string) {
	t.Helper()
	var wire bytes.Buffer
	clustertest.Must(t, r.Write(&wire))
	got, err := http.ReadRequest(bufio.NewReader(&wire))
	clustertest.Must(t, err)
	body, err := io.ReadAll(got.Body)
	clustertest.Must(t, err)
	return got, string(body)
}

func wantRefusal(t testing.TB, err error, code string) {
	t.Helper()
	var refused *auth.Error
	if !errors.As(err, &refused) || refused.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestSignedByTheSDK(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, method, target, body string }{
		{"a command", http.MethodPost, "/", testBody},
		{"no body", http.MethodPost, "/", ""},
		{"a path", http.MethodPost, "/000000000000/orders.fifo", testBody},
		{"a path that is escaped", http.MethodPost, "/a%2Fb/c%20d~e", testBody},
		{"a query", http.MethodGet, "/?Action=ListQueues&QueueNamePrefix=a%20b%2Bc&Empty=&Empty=1&B=%7E", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, body := received(t, signed(t, tc.method, tc.target, tc.body))
			v := verifierAt(signedAt.Add(10 * time.Minute))
			for range 2 { // the second time with a cached signing key
				got, plain, err := v.Verify(r, body)
				if err != nil || got != (auth.Identity{AccessKeyID: testKey, Service: "sqs"}) || plain != tc.body {
					t.Errorf("got %+v, %q, %v", got, plain, err)
				}
			}
		})
	}
}

func TestPresigned(t *testing.T) {
	t.Parallel()
	r := newRequest(t, http.MethodGet, "/?Action=ReceiveMessage&X-Amz-Expires=60", "")
	r.Header = make(http.Header)
	link, _, err := v4.NewSigner().PresignHTTP(t.Context(), credentials, r, digestOf(""), "sqs", "eu-north-1", signedAt)
	clustertest.Must(t, err)
	follow := func(link string, now time.Time) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		clustertest.Must(t, err)
		got, body := received(t, r)
		_, _, err = verifierAt(now).Verify(got, body)
		return err
	}
	for _, tc := range []struct {
		name, old, changed string
		after              time.Duration
		code               string
	}{
		{"valid", "", "", 59 * time.Second, ""},
		{"over", "", "", 61 * time.Second, "RequestExpired"},
		{"not yet", "", "", -16 * time.Minute, "RequestExpired"},
		{"longer", "X-Amz-Expires=60", "X-Amz-Expires=3600", time.Minute, "SignatureDoesNotMatch"},
		{"for ever", "X-Amz-Expires=60", "X-Amz-Expires=604801", time.Minute, "IncompleteSignature"},
		{"another action", "Action=Receive", "Action=Delete", 0, "SignatureDoesNotMatch"},
		{"twice", "X-Amz-Date=", "X-Amz-Date=1&X-Amz-Date=", 0, "IncompleteSignature"},
		{"another key", testKey, "AKIDOTHER", 0, "InvalidClientTokenId"},
		{"no signature", "X-Amz-Signature=", "Y=", 0, "IncompleteSignature"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(link, tc.old, tc.changed, 1)
			if tc.old != "" && changed == link {
				t.Fatal("nothing was changed")
			}
			err := follow(changed, signedAt.Add(tc.after))
			if tc.code == "" && err != nil {
				t.Error(err)
			} else if tc.code != "" {
				wantRefusal(t, err, tc.code)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	authorization := func(old, changed string) func(*http.Request) {
		return func(r *http.Request) {
			header := r.Header.Get("Authorization")
			if !strings.Contains(header, old) {
				panic("nothing to change in " + header)
			}
			r.Header.Set("Authorization", strings.Replace(header, old, changed, 1))
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		after  time.Duration
		code   string
	}{
		{"unsigned", func(r *http.Request) { r.Header.Del("Authorization") }, 0, "MissingAuthenticationToken"},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 0, "IncompleteSignature"},
		{"signed twice", func(r *http.Request) { r.Header["Authorization"] = append(r.Header["Authorization"], "x") }, 0,
			"IncompleteSignature"},
		{"an unknown key", authorization(testKey, "AKIDOTHER"), 0, "InvalidClientTokenId"},
		{"odd characters in the key", authorization(testKey, "AK<ID>"), 0, "IncompleteSignature"},
		{"another region", authorization("eu-north-1", "eu-north-2"), 0, "SignatureDoesNotMatch"},
		{"another service", authorization("/sqs/", "/sns/"), 0, "SignatureDoesNotMatch"},
		{"another day", authorization("/20261123/", "/20261122/"), 0, "SignatureDoesNotMatch"},
		{"no termination", authorization("aws4_request", "aws4"), 0, "IncompleteSignature"},
		{"no signature", authorization("Signature=", "Other="), 0, "IncompleteSignature"},
		{"half a signature", func(r *http.Request) { h := r.Header["Authorization"]; h[0] = h[0][:len(h[0])-32] }, 0,
			"SignatureDoesNotMatch"},
		{"headers out of order", authorization("SignedHeaders=amz-sdk-request;", "SignedHeaders=x-amz-date;amz-sdk-request;"), 0,
			"IncompleteSignature"},
		{"host is not signed", authorization("host;", ""), 0, "SignatureDoesNotMatch"},
		{"the target is not signed", authorization(";x-amz-target", ""), 0, "SignatureDoesNotMatch"},
		{"a header is gone", func(r *http.Request) { r.Header.Del("Amz-Sdk-Request") }, 0, "SignatureDoesNotMatch"},
		{"a new header that matters", func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", unsignedPayload) }, 0,
			"SignatureDoesNotMatch"},
		{"another target", func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue") }, 0, "SignatureDoesNotMatch"},
		{"another host", func(r *http.Request) { r.Host = "127.0.0.1:9325" }, 0, "SignatureDoesNotMatch"},
		{"another path", func(r *http.Request) { r.URL.Path = "/b" }, 0, "SignatureDoesNotMatch"},
		{"another method", func(r *http.Request) { r.Method = http.MethodPut }, 0, "SignatureDoesNotMatch"},
		{"a query", func(r *http.Request) { r.URL.RawQuery = "Action=DeleteQueue" }, 0, "SignatureDoesNotMatch"},
		{"no date", func(r *http.Request) { r.Header.Del("X-Amz-Date") }, 0, "IncompleteSignature"},
		{"an odd date", func(r *http.Request) { r.Header.Set("X-Amz-Date", "today") }, 0, "IncompleteSignature"},
		{"old", nil, 16 * time.Minute, "RequestExpired"},
		{"early", nil, -16 * time.Minute, "RequestExpired"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := signed(t, http.MethodPost, "/a", testBody)
			if tc.change != nil {
				tc.change(r)
			}
			got, body := received(t, r)
			_, _, err := verifierAt(signedAt.Add(tc.after)).Verify(got, body)
			wantRefusal(t, err, tc.code)
		})
	}
}

func TestEveryByteOfTheBodyIsSigned(t *testing.T) {
	t.Parallel()
	r, body := received(t, signed(t, http.MethodPost, "/", testBody))
	v := verifierAt(signedAt)
	for i := range len(body) {
		changed := []byte(body)
		changed[i] ^= 1
		_, _, err := v.Verify(r, string(changed))
		wantRefusal(t, err, "SignatureDoesNotMatch")
	}
	_, _, err := v.Verify(r, body+" ")
	wantRefusal(t, err, "SignatureDoesNotMatch")
}

// After the secret of a key was replaced, cached results for the old one are not used.
func TestReplacedSecret(t *testing.T) {
	t.Parallel()
	keys := keyTable{testKey: testSecret}
	v := New(keys, func() time.Time { return signedAt })
	r, body := received(t, signed(t, http.MethodPost, "/", testBody))
	if _, _, err := v.Verify(r, body); err != nil {
		t.Fatal(err)
	}
	keys[testKey] = "another"
	_, _, err := v.Verify(r, body)
	wantRefusal(t, err, "SignatureDoesNotMatch")
	delete(keys, testKey)
	_, _, err = v.Verify(r, body)
	wantRefusal(t, err, "InvalidClientTokenId")
}

// Nothing of a refused request is cached.
func TestOnlyAcceptedRequestsAreKept(t *testing.T) {
	t.Parallel()
	r, body := received(t, signed(t, http.MethodPost, "/", testBody))
	v := verifierAt(signedAt)
	if _, _, err := v.Verify(r, body+" "); err == nil {
		t.Fatal("accepted")
	}
	if len(v.signing.kept)+len(v.lists.kept) != 0 {
		t.Errorf("%d signing keys and %d lists of headers are kept", len(v.signing.kept), len(v.lists.kept))
	}
	for i := range signingKeysMax + 1 {
		v.signing.keep(scope{day: string(rune(i))}, newSigningKey(scope{}, testSecret))
	}
	for i := range headerListsMax + 1 {
		v.lists.keep(newHeaderList([]string{"host", fmt.Sprint(i)}))
	}
	if len(v.signing.kept) != 1 || len(v.lists.kept) != 1 {
		t.Errorf("%d signing keys and %d lists of headers are kept", len(v.signing.kept), len(v.lists.kept))
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	with := func(content string) (*http.Request, string) {
		r := newRequest(t, http.MethodPost, "/", testBody)
		r.Header.Set("X-Amz-Content-Sha256", content)
		sign(t, r, content)
		return received(t, r)
	}
	v := verifierAt(signedAt)
	r, body := with(digestOf(testBody))
	if _, _, err := v.Verify(r, body); err != nil {
		t.Errorf("with its digest: %v", err)
	}
	_, _, err := v.Verify(r, "another body")
	wantRefusal(t, err, "XAmzContentSHA256Mismatch")
	r, _ = with(unsignedPayload)
	if _, got, err := v.Verify(r, "another body"); err != nil || got != "another body" {
		t.Errorf("unsigned: %q, %v", got, err)
	}
}

// A body in signed chunks is accepted unless a chunk was changed, left out, or moved.
func TestChunks(t *testing.T) {
	t.Parallel()
	r := newRequest(t, http.MethodPost, "/", "")
	r.Header.Set("X-Amz-Content-Sha256", signedChunks)
	sign(t, r, signedChunks)
	_, seed, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	scope := "20261123/eu-north-1/sqs/aws4_request"
	key := derive(signatureScope(scope), testSecret)
	var lines []string
	before := seed
	for _, data := range []string{"first, ", "second", ""} {
		text := strings.Join([]string{"AWS4-HMAC-SHA256-PAYLOAD", "20261123T100000Z", scope, before, digestOf(""), digestOf(data)}, "\n")
		sum := keyed(key[:], []byte(text))
		before = hex.EncodeToString(sum[:])
		lines = append(lines, hexLength(data)+";chunk-signature="+before+"\r\n"+data+"\r\n")
	}
	got, _ := received(t, r)
	v := verifierAt(signedAt)
	if _, body, err := v.Verify(got, strings.Join(lines, "")); err != nil || body != "first, second" {
		t.Fatalf("got %q, %v", body, err)
	}
	for name, tc := range map[string]struct{ body, code string }{
		"changed":      {strings.Replace(strings.Join(lines, ""), "second", "Second", 1), "SignatureDoesNotMatch"},
		"moved":        {lines[1] + lines[0] + lines[2], "SignatureDoesNotMatch"},
		"left out":     {lines[0] + lines[2], "SignatureDoesNotMatch"},
		"cut off":      {lines[0] + lines[1], "IncompleteBody"},
		"not signed":   {"1\r\na\r\n0\r\n\r\n", "IncompleteBody"},
		"too short":    {"5;" + lines[0][2:5], "IncompleteBody"},
		"not in chunk": {"{}", "IncompleteBody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := v.Verify(got, tc.body)
			wantRefusal(t, err, tc.code)
		})
	}
}

func TestUnsignedChunks(t *testing.T) {
	t.Parallel()
	r := newRequest(t, http.MethodPost, "/", "")
	r.Header.Set("X-Amz-Content-Sha256", unsignedChunks)
	sign(t, r, unsignedChunks)
	got, _ := received(t, r)
	_, body, err := verifierAt(signedAt).Verify(got, "6\r\nabcdef\r\n0\r\nx-amz-checksum-crc32:AAAA\r\n\r\n")
	if err != nil || body != "abcdef" {
		t.Errorf("got %q, %v", body, err)
	}
}

func hexLength(data string) string { return string("0123456789abcdef"[len(data)]) }

func signatureScope(text string) scope {
	parts := strings.Split(text, "/")
	return scope{day: parts[0], region: parts[1], service: parts[2]}
}

// Any request is either refused or correctly signed, and nothing panics.
func FuzzVerify(f *testing.F) {
	r := signed(f, http.MethodPost, "/a", testBody)
	f.Add("a", r.Header.Get("Authorization"), r.Header.Get("X-Amz-Date"), testBody, "")
	f.Add("?X-Amz-Signature=1&X-Amz-Credential=a", "", "", "", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
	f.Add("/a/../%zz?&=&a=%zz;", "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request,SignedHeaders=host,Signature=1", "20261123T100000Z",
		"1;\r\n", unsignedChunks)
	v := verifierAt(signedAt)
	f.Fuzz(func(t *testing.T, target, authorization, date, body, content string) {
		got, _ := received(t, signed(t, http.MethodPost, "/a", testBody))
		got.RequestURI = "/" + target
		path, query, _ := strings.Cut(got.RequestURI, "?")
		got.URL.RawQuery = query
		got.Header.Set("Authorization", authorization)
		got.Header.Set("X-Amz-Date", date)
		if content != "" {
			got.Header.Set("X-Amz-Content-Sha256", content)
		}
		_, _, err := v.Verify(got, body)
		var refused *auth.Error
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("refused with %v", err)
		}
		if err == nil && (withoutDots(path) != "/a" || query != "" || body != testBody || content != "") {
			t.Errorf("accepted /%q with body %q", target, body)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	r, body := received(b, signed(b, http.MethodPost, "/", testBody))
	v := verifierAt(signedAt)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := v.Verify(r, body); err != nil {
			b.Fatal(err)
		}
	}
}
