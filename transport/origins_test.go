package transport

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	loopback := Origins{Loopback: true}
	listed := Origins{Loopback: true, Allowed: []string{"https://app.example.org:8443", "null"}}
	open := Origins{}
	for _, c := range []struct {
		name    string
		origins Origins
		host    string
		header  http.Header
		status  int
	}{
		{"an SDK", loopback, "127.0.0.1:9324", nil, 200},
		{"an SDK by name", loopback, "localhost:9324", nil, 200},
		{"IPv6", loopback, "[::1]:9324", nil, 200},
		{"a name below localhost", loopback, "sqs.LOCALHOST:9324", nil, 200},
		{"a name that somebody points at loopback", loopback, "evil.example.org:9324", nil, 403},
		{"a name that looks like localhost", loopback, "localhost.evil.example.org", nil, 403},
		{"the same with its own origin", loopback, "evil.example.org:9324", http.Header{"Origin": {"http://evil.example.org:9324"}}, 403},
		{"a name behind a proxy", listed, "APP.example.org", nil, 200},
		{"any name elsewhere", open, "queue.example.org:9324", nil, 200},
		{"a page of another origin", loopback, "127.0.0.1:9324", http.Header{"Origin": {"https://evil.example.org"}}, 403},
		{"the same on an open port", open, "10.0.0.1:9324", http.Header{"Origin": {"https://evil.example.org"}}, 403},
		{"a file or a sandbox", loopback, "127.0.0.1:9324", http.Header{"Origin": {"null"}}, 403},
		{"another port of the same machine", loopback, "127.0.0.1:9324", http.Header{"Origin": {"http://127.0.0.1:8080"}}, 403},
		{"the port's own", loopback, "127.0.0.1:9324", http.Header{"Origin": {"http://127.0.0.1:9324"}}, 200},
		{"an allowed one", listed, "127.0.0.1:9324", http.Header{"Origin": {"https://app.example.org:8443"}}, 200},
		{"allowed but for its port", listed, "127.0.0.1:9324", http.Header{"Origin": {"https://app.example.org"}}, 403},
		{"null, allowed", listed, "127.0.0.1:9324", http.Header{"Origin": {"null"}}, 200},
		{"all allowed", Origins{Loopback: true, Allowed: []string{"*"}}, "evil.example.org",
			http.Header{"Origin": {"https://evil.example.org"}}, 200},
		{"two origins", listed, "127.0.0.1", http.Header{"Origin": {"https://app.example.org:8443", "https://evil.example.org"}}, 403},
		{"an image in a page", open, "10.0.0.1:9324", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"an image in a page of another port", open, "10.0.0.1:9324", http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		{"an image in an own page", open, "10.0.0.1:9324", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 200},
		{"a topic", open, "10.0.0.1:9325", http.Header{"X-Amz-Sns-Message-Type": {"SubscriptionConfirmation"}}, 403},
		{"a topic that names an origin", listed, "127.0.0.1:9325",
			http.Header{"X-Amz-Sns-Message-Type": {"Notification"}, "Origin": {"null"}}, 403},
		{"an address typed in", open, "10.0.0.1:9324", http.Header{"Sec-Fetch-Site": {"none"}}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.Host = c.host
			if c.header != nil {
				r.Header = c.header
			}
			w := httptest.NewRecorder()
			served := false
			c.origins.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })).ServeHTTP(w, r)
			if w.Code != c.status || served != (c.status == http.StatusOK) {
				t.Errorf("got %d %s, served %v", w.Code, w.Body, served)
			}
			allowed := w.Header().Get("Access-Control-Allow-Origin")
			if want := served && c.header.Get("Origin") != "" && c.origins.allowed(c.header.Get("Origin")); (allowed != "") != want {
				t.Errorf("pages may read the answer: %q", allowed)
			}
		})
	}
}

// TestPreflight sends the preflight request of a browser for the headers that SDKs use.
func TestPreflight(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]int{"https://app.example.org": http.StatusNoContent,
		"https://evil.example.org": http.StatusForbidden} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "x-amz-target")
		w := httptest.NewRecorder()
		Origins{Allowed: []string{"https://app.example.org"}}.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
		if headers := w.Header().Get("Access-Control-Allow-Headers"); w.Code != want ||
			(headers == "x-amz-target") != (want == http.StatusNoContent) {
			t.Errorf("%s: got %d, %q", origin, w.Code, headers)
		}
	}
}

func TestLoopbackAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"127.0.0.1:9324": true, "localhost:9324": true, "[::1]:9324": true, "127.1.2.3:0": true,
		":9324": false, "0.0.0.0:9324": false, "10.0.0.1:9324": false, "queue.example.org:9324": false, "nonsense": false,
	} {
		if LoopbackAddress(addr) != want {
			t.Errorf("%s: got %v", addr, !want)
		}
	}
}
