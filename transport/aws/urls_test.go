package aws

import (
	"net/url"
	"strings"
	"testing"
)

func TestNameInURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ url, want string }{
		{"q", "q"},
		{"q.fifo", "q.fifo"},
		{"http://localhost:9324/000000000000/q", "q"},
		{"https://sqs.eu-west-1.amazonaws.com/123456789012/q.fifo", "q.fifo"},
		{"http://h/a/b/c/q", "q"},
		{"http://h/1/q/", "q"},
		{"http://h/1/q?x=/y/z", "q"},
		{"http://h/1/q#/y/z", "q"},
		{"http://h/1/%71", "q"},
		{"http://h/q", ""},
		{"http://h//q", ""},
		{"http://h/", ""},
		{"http://h", ""},
		{"http:///1/q", ""},
		{"//h/1/q", ""},
		{"h/x://1/2/q", ""},
		{"?x://1/2/q", ""},
		{"/1/q", ""},
		{"1/q", ""},
		{"http://h/1/%zz", ""},
		{"", ""},
	} {
		if _, got := NameInURL(tc.url); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.url, got, tc.want)
		}
	}
}

func FuzzNameInURL(f *testing.F) {
	f.Add("http://localhost:9324/000000000000/q")
	f.Add("https://h/a/b%2Fc?x#y")
	f.Add("//0/0/0") // relative to a scheme, hence no absolute URL
	f.Fuzz(func(t *testing.T, text string) {
		id, name := NameInURL(text)
		if strings.Contains(name, "/") || strings.Contains(id, "/") {
			t.Fatalf("%q: a name with a slash: %q of %q", text, name, id)
		}
		parsed, err := url.Parse(text)
		if err != nil || parsed.Scheme == "" || parsed.Host == "" || parsed.Opaque != "" || !strings.Contains(text, "/") {
			return
		}
		segments := strings.Split(strings.TrimSuffix(parsed.Path, "/"), "/")
		want, before := "", ""
		if n := len(segments); n >= 3 && segments[n-1] != "" && segments[n-2] != "" {
			want, before = segments[n-1], segments[n-2]
		}
		if name != want || id != before {
			t.Fatalf("%q: got %q of %q, want %q of %q", text, name, id, want, before)
		}
	})
}
