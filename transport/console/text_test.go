package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// zeros is a source of bytes that differ.
type zeros struct{ next *byte }

// Read fills p. Three bytes count, so that no two ids are equal.
func (z zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = counter[i%len(counter)]
	}
	for i := range counter {
		if counter[i]++; counter[i] != 0 {
			break
		}
	}
	return len(p), nil
}

var counter [8]byte

// discard is a response without a reader.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	clustertest.Must(t, err)
	return u
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n", "a\u202eb": "a\ufffdb", "a\x1b[0m": "a\ufffd[0m", "\xff": "\ufffd", "\u200bx": "\ufffdx",
		"é世": "é世",
	} {
		if got := harmless(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"orders.fifo": "orders.fifo", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "a\nb": `$'a\x0ab'`,
		"a\u202eb": `$'a\xe2\x80\xaeb'`,
	} {
		if got := shell(given); got != want {
			t.Errorf("%q: got %s, want %s", given, got, want)
		}
	}
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"/queues?a=b": "/queues?a=b", "": "/", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/",
		"queues": "/", "/a\r\nb": "/",
	} {
		if got := localPath(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := grouped(given); got != want {
			t.Errorf("%d: got %s, want %s", given, got, want)
		}
	}
	if got := size(1536); got != "1.5 KiB" {
		t.Errorf("got %s", got)
	}
	if text, ok := pretty(`{"a":[1]}`); !ok || !strings.Contains(text, "\n  \"a\"") {
		t.Errorf("got %q", text)
	}
	if _, ok := pretty("no JSON"); ok {
		t.Error("a plain text is JSON")
	}
}
