package aws

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue/access"
)

// AccountInPath returns the account in the path of a request, empty if there is none.
func AccountInPath(r *http.Request) string {
	if len(r.URL.Path) < 2 {
		return ""
	}
	first, _, _ := strings.Cut(r.URL.Path[1:], "/")
	if !access.IsAccountID(first) {
		return ""
	}
	return first
}

// BaseURL returns the scheme and the host in the request of the client, without a slash at the end.
// Any other host breaks clients behind address translation or in containers.
func BaseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// A proxy that terminates TLS adds the header; with several proxies, the first value is the client's.
	forwarded, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	switch strings.ToLower(strings.TrimSpace(forwarded)) {
	case "https":
		scheme = "https"
	case "http":
		scheme = "http"
	}
	return scheme + "://" + r.Host
}

// NameInURL returns the last two path segments of an absolute URL: the name of a queue and, before
// it, perhaps an account. AWS also accepts a bare name. The name is empty for any other text. Host
// and port are not compared.
func NameInURL(text string) (id, name string) {
	if !strings.Contains(text, "/") {
		return "", text
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return "", ""
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	host, path, ok := strings.Cut(rest, "/")
	if !ok || host == "" {
		return "", ""
	}
	path = "/" + path
	if strings.Contains(path, "%") {
		unescaped, err := url.PathUnescape(path)
		if err != nil {
			return "", ""
		}
		path = unescaped
	}
	return PathQueue(path)
}

// PathQueue returns the queue in a path, which is the last of at least two segments, and the
// segment before it.
func PathQueue(path string) (id, name string) {
	path = strings.TrimSuffix(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[i-1] == '/' || i == len(path)-1 {
		return "", ""
	}
	return path[strings.LastIndexByte(path[:i], '/')+1 : i], path[i+1:]
}
