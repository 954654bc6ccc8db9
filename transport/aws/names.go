package aws

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/policy"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Names are the account of the cluster and the region that names of resources have.
type Names struct {
	Account string // 12 digits
	Region  string
	// AnyRegion takes the region in ARNs of requests for the one of the cluster,
	// whatever it is.
	AnyRegion bool
}

// Elsewhere reports whether an ARN in a request names something of another region, where
// nothing is (AWS).
func (n Names) Elsewhere(text string) bool { return !n.AnyRegion && arn.RegionOf(text) != n.Region }

// CheckRedrive refuses a dead-letter queue of another region in the attributes of a queue.
func (n Names) CheckRedrive(given []queue.Attribute) *queue.Error {
	sent, target := redriveTarget(given)
	if target == "" || !n.Elsewhere(target) {
		return nil
	}
	return attributes.RedriveTargetMissing(sent)
}

// CheckDeadLetter refuses a dead-letter queue of another region in the attributes of a
// subscription.
func (n Names) CheckDeadLetter(given []queue.Attribute) *queue.Error {
	if _, target := redriveTarget(given); target == "" || !n.Elsewhere(target) {
		return nil
	}
	return refusal.SNSInvalid("RedrivePolicy: deadLetterTargetArn is an ARN of another region")
}

// redriveTarget is the ARN in a RedrivePolicy, and that as it was sent; empty if there is
// none.
func redriveTarget(given []queue.Attribute) (sent, target string) {
	sent, _ = attributes.ValueOf(given, "RedrivePolicy")
	target = policy.RedriveTargetARN(sent)
	if _, ok := arn.Queue(target); !ok {
		return sent, ""
	}
	return sent, target
}

// ID is the number of an account that the state calls owner.
func (n Names) ID(owner string) string {
	if owner == "" {
		return n.Account
	}
	return owner
}

// owner is the inverse of ID.
func (n Names) owner(id string) string {
	if id == n.Account {
		return ""
	}
	return id
}

// QueueARN is the ARN of a queue, whose name is qualified.
func (n Names) QueueARN(qualified string) string {
	owner, name := account.Split(qualified)
	return arn.OfQueue(n.Region, n.ID(owner), name)
}

// TopicARN is the ARN of a topic, whose name is qualified.
func (n Names) TopicARN(qualified string) string {
	owner, name := account.Split(qualified)
	return arn.OfTopic(n.Region, n.ID(owner), name)
}

// QueueURL is the URL of a queue, whose name is qualified, as the client can reach it: scheme and host are
// those of its own request, since anything else breaks clients behind address
// translation or in containers. The path has exactly two segments; Terraform and
// KEDA reject any other.
func (n Names) QueueURL(r *http.Request, qualified string) string {
	return n.queueURL(BaseURL(r), qualified)
}

func (n Names) queueURL(base, qualified string) string {
	owner, name := account.Split(qualified)
	return base + "/" + n.ID(owner) + "/" + name
}

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

// NameInURL is the last path segment of an absolute URL that has at least two, and the
// one before it, which may be an account, or the whole text if it is a bare name (AWS
// accepts both). It is empty for anything else. Host and port are not compared.
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

// PathQueue is the queue that a path names, the last of at least two segments, and the
// segment before it.
func PathQueue(path string) (id, name string) {
	path = strings.TrimSuffix(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[i-1] == '/' || i == len(path)-1 {
		return "", ""
	}
	return path[strings.LastIndexByte(path[:i], '/')+1 : i], path[i+1:]
}
