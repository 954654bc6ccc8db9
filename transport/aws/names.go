package aws

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue/arn"
)

// Names are the account and the region that names of resources have.
type Names struct {
	Account string // 12 digits
	Region  string
}

// QueueARN is the ARN of a queue.
func (n Names) QueueARN(name string) string { return arn.OfQueue(n.Region, n.Account, name) }

// TopicARN is the ARN of a topic.
func (n Names) TopicARN(name string) string { return arn.OfTopic(n.Region, n.Account, name) }

// QueueURL is the URL of a queue as the client can reach it: scheme and host are
// those of its own request, since anything else breaks clients behind address
// translation or in containers. The path has exactly two segments; Terraform and
// KEDA reject any other.
func (n Names) QueueURL(r *http.Request, name string) string { return n.queueBase(r) + name }

func (n Names) queueBase(r *http.Request) string { return BaseURL(r) + "/" + n.Account + "/" }

// BaseURL is scheme and host as the client named them, without a slash at the end.
func BaseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// A proxy that ended TLS says so; with several, the first is the client's.
	forwarded, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	switch strings.ToLower(strings.TrimSpace(forwarded)) {
	case "https":
		scheme = "https"
	case "http":
		scheme = "http"
	}
	return scheme + "://" + r.Host
}

// NameInURL is the last path segment of an absolute URL that has at least two,
// or the whole text if it is a bare name (AWS accepts both). It is empty for
// anything else. Host, port and account are not compared.
func NameInURL(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	host, path, ok := strings.Cut(rest, "/")
	if !ok || host == "" {
		return ""
	}
	path = "/" + path
	if strings.Contains(path, "%") {
		unescaped, err := url.PathUnescape(path)
		if err != nil {
			return ""
		}
		path = unescaped
	}
	return PathQueue(path)
}

// PathQueue is the queue that a path names: the last of at least two segments.
func PathQueue(path string) string {
	path = strings.TrimSuffix(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[i-1] == '/' || i == len(path)-1 {
		return ""
	}
	return path[i+1:]
}
