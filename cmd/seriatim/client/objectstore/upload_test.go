package objectstore

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

var credentials = aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret", SessionToken: "session"}

// store keeps parts as S3 does, and checks signatures with the SDK of AWS.
type store struct {
	t       *testing.T
	mu      sync.Mutex
	busy    int // answers 503 that are left
	parts   map[string]string
	objects map[string]string
	open    int    // uploads
	refuse  string // in an answer 200 to the last request
	page    string // instead of the answer to the last request
	lose    bool   // the answer to the last request
	ended   bool   // there is no upload any more
	closed  bool   // nobody is told what is there
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.checkSignature(r)
	if s.busy > 0 {
		s.busy--
		http.Error(w, "<Error><Code>SlowDown</Code><Message>later</Message></Error>", http.StatusServiceUnavailable)
		return
	}
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodHead:
		if s.closed {
			w.WriteHeader(http.StatusForbidden)
		} else if _, there := s.objects[r.URL.Path]; !there {
			w.WriteHeader(http.StatusNotFound)
		}
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.open++
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u+1/=</UploadId></InitiateMultipartUploadResult>")
	case query.Get("uploadId") != "u+1/=" || s.ended:
		http.Error(w, "<Error><Code>NoSuchUpload</Code><Message>what?</Message></Error>", http.StatusNotFound)
	case r.Method == http.MethodPut:
		s.parts[query.Get("partNumber")] = string(body)
		w.Header().Set("ETag", `"`+query.Get("partNumber")+`"`)
	case r.Method == http.MethodDelete:
		s.open--
		w.WriteHeader(http.StatusNoContent)
	case s.page != "":
		_, _ = io.WriteString(w, s.page)
	case s.refuse != "":
		_, _ = io.WriteString(w, "<Error><Code>InternalError</Code><Message>"+s.refuse+"</Message></Error>")
	default:
		var list struct {
			Part []struct {
				PartNumber int
				ETag       string
			}
		}
		if err := xml.Unmarshal(body, &list); err != nil {
			s.t.Error(err)
		}
		for i, p := range list.Part {
			if p.PartNumber != i+1 || p.ETag != fmt.Sprintf("%q", fmt.Sprint(i+1)) {
				s.t.Errorf("part %d is %+v", i+1, p)
			}
			s.objects[r.URL.Path] += s.parts[fmt.Sprint(p.PartNumber)]
		}
		s.open--
		if s.lose {
			s.ended = true
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "<CompleteMultipartUploadResult/>")
	}
}

func (s *store) checkSignature(r *http.Request) {
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.RequestURI, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	again.Header.Set("X-Amz-Content-Sha256", r.Header.Get("X-Amz-Content-Sha256"))
	if err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(context.Background(), credentials, again, r.Header.Get("X-Amz-Content-Sha256"), "s3", "eu-west-1", noon); err != nil {
		s.t.Error(err)
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want {
		s.t.Errorf("signed %s\nwant %s", got, want)
	}
}

func newStore(t *testing.T) (*store, func(string) string) {
	t.Helper()
	s := &store{t: t, parts: map[string]string{}, objects: map[string]string{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	environment := map[string]string{
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "session",
		"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_S3": server.URL + "/",
	}
	return s, func(name string) string { return environment[name] }
}

func open(t *testing.T, environment func(string) string, destination string) *Upload {
	t.Helper()
	u, err := New(t.Context(), destination, environment, func() time.Time { return noon }, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUpload: parts are put together in order, also when the store was busy; nothing is there
// before the end.
func TestUpload(t *testing.T) {
	for _, size := range []int{0, 1, partBytes, partBytes + 1, 2*partBytes + 17} {
		s, environment := newStore(t)
		u := open(t, environment, "s3://backups/prod/")
		if want := "s3://backups/prod/seriatim-20261123T120000Z.backup"; u.Name() != want {
			t.Errorf("it is named %s", u.Name())
		}
		s.busy = 1
		content := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
		if _, err := io.Copy(u, io.LimitReader(bytes.NewReader(content), int64(size))); err != nil {
			t.Fatal(err)
		}
		if len(s.objects) != 0 {
			t.Error("an object is there before the end")
		}
		if err := u.Finish(); err != nil {
			t.Fatal(err)
		}
		if got := s.objects["/backups/prod/seriatim-20261123T120000Z.backup"]; got != string(content) || s.open != 0 {
			t.Errorf("%d bytes became %d, %d uploads are open", size, len(got), s.open)
		}
		if err := u.Abort(); err != nil || s.open != 0 {
			t.Errorf("an upload that is over cannot be given up: %v", err)
		}
	}
}

// TestFailures: they are reported, and the store is told to forget what it has.
func TestFailures(t *testing.T) {
	s, environment := newStore(t)
	s.refuse = "parts are lost"
	u := open(t, environment, "s3://backups/one")
	if _, err := u.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := u.Finish(); err == nil || !strings.Contains(err.Error(), "parts are lost") {
		t.Errorf("an error with the status 200 is %v", err)
	}
	if err := u.Abort(); err != nil || s.open != 0 {
		t.Errorf("not given up: %v, %d open", err, s.open)
	}
	s.busy = tries
	u = open(t, environment, "s3://backups/one")
	if err := u.Finish(); err == nil || !strings.Contains(err.Error(), "SlowDown") {
		t.Errorf("a store that is always busy gives %v", err)
	}
	if s.busy != 0 {
		t.Errorf("%d tries were left", s.busy)
	}
	if err := u.Abort(); err != nil {
		t.Errorf("nothing was begun: %v", err)
	}
}

// TestUnknown: when the last answer is lost, or is none of a store, nobody is told that nothing
// was kept.
func TestUnknown(t *testing.T) {
	s, environment := newStore(t)
	s.lose = true
	u := open(t, environment, "s3://backups/one")
	if _, err := u.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := u.Finish(); !errors.Is(err, ErrUnknown) || s.objects["/backups/one"] != "x" {
		t.Errorf("the object is there, and the error is %v", err)
	}
	if err := u.Abort(); err != nil {
		t.Errorf("it cannot be given up: %v", err)
	}
	s, environment = newStore(t)
	s.page = "<html><body>Sign in</body></html>"
	u = open(t, environment, "s3://backups/one")
	if err := u.Finish(); !errors.Is(err, ErrUnknown) {
		t.Errorf("a page of something else is taken for success: %v", err)
	}
	s, environment = newStore(t)
	s.refuse = "no"
	if err := open(t, environment, "s3://backups/one").Finish(); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("a refusal is taken for something else: %v", err)
	}
}

// TestLocations: what is no destination, and how those of AWS are written.
func TestLocations(t *testing.T) {
	_, environment := newStore(t)
	for _, wrong := range []string{"", "backups", "http://backups/x", "s3://", "s3://backups/a b", "s3://backups/a/../b", "s3://backups/x?y=z"} {
		if _, err := locate(wrong, environment, time.Now); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	none := func(string) string { return "" }
	if _, err := locate("s3://backups/x", none, time.Now); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
	aws := func(name string) string {
		if strings.Contains(name, "ENDPOINT") {
			return ""
		}
		return environment(name)
	}
	if at, err := locate("s3://backups/x", aws, time.Now); err != nil || at.url != "https://backups.s3.eu-west-1.amazonaws.com/x" {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestExists: an object is found before it is replaced; one whose name has the time is not looked
// for, as the right to look may be missing.
func TestExists(t *testing.T) {
	s, environment := newStore(t)
	if there, err := open(t, environment, "s3://backups/one").Exists(); err != nil || there {
		t.Errorf("nothing is there: %v, %v", there, err)
	}
	s.objects["/backups/one"] = "x"
	if there, err := open(t, environment, "s3://backups/one").Exists(); err != nil || !there {
		t.Errorf("it is there: %v, %v", there, err)
	}
	s.closed = true
	if there, err := open(t, environment, "s3://backups/one").Exists(); err == nil || there {
		t.Errorf("nobody says whether it is there: %v, %v", there, err)
	}
	if there, err := open(t, environment, "s3://backups/").Exists(); err != nil || there {
		t.Errorf("the name has the time: %v, %v", there, err)
	}
}

// TestSecretInDestination: what is wrong with a destination is said without a secret in it.
func TestSecretInDestination(t *testing.T) {
	_, environment := newStore(t)
	for _, destination := range []string{"s3://id:geheim@backups/x", "s3://id:gehei%zz@backups/x"} {
		if _, err := locate(destination, environment, time.Now); err == nil || strings.Contains(err.Error(), "gehei") {
			t.Errorf("%v", err)
		}
	}
	for _, endpoint := range []string{"http://id:geheim@minio", "http://id:geheim%zz@minio", "ftp://id:geheim@minio"} {
		with := func(name string) string {
			if name == "AWS_ENDPOINT_URL_S3" {
				return endpoint
			}
			return environment(name)
		}
		if _, err := locate("s3://backups/x", with, time.Now); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v", err)
		}
	}
}
