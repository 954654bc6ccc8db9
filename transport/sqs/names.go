package sqs

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// queueURL is the URL of a queue as the client can reach it: scheme and host
// are those of its own request, since anything else breaks clients behind
// address translation or in containers. The path has exactly two segments;
// Terraform and KEDA reject any other.
func (s *Service) queueURL(c *call, name string) string {
	return baseURL(c.request) + "/" + s.Account + "/" + name
}

func baseURL(r *http.Request) string {
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

// arn is the ARN of a queue.
func (s *Service) arn(name string) string {
	return arn.OfQueue(s.Region, s.Account, name)
}

// queueName is the queue that a request is about: its QueueUrl, or the path of
// a Query request. QueueUrl wins over the path (recorded from AWS). It fails
// only if neither is given; a malformed URL names no queue that exists.
func (c *call) queueName(parameter awswire.Text) (string, error) {
	var name string
	switch {
	case parameter.Given:
		name = nameInURL(parameter.Value)
		if name == "" {
			return "", noSuchQueue()
		}
	case c.form != nil:
		name = pathQueue(c.request.URL.Path)
	}
	if name == "" {
		return "", missingParameter("QueueUrl")
	}
	if len(name) > queue.QueueNameLengthMax {
		return "", noSuchQueue() // and no reason to ask the leader, or to log it
	}
	c.record.Queue = name
	return name, nil
}

// nameInURL is the last path segment of an absolute URL that has at least two,
// or the whole text if it is a bare name (AWS accepts both). It is empty for
// anything else. Host, port and account are not compared.
func nameInURL(text string) string {
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
	return pathQueue(path)
}

// pathQueue is the queue that a path names: the last of at least two segments.
func pathQueue(path string) string {
	path = strings.TrimSuffix(path, "/")
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[i-1] == '/' || i == len(path)-1 {
		return ""
	}
	return path[i+1:]
}

// sourceInARN reads the SourceArn of the move task actions.
func sourceInARN(text string) (string, error) { return resourceInARN("SourceArn", text) }

func resourceInARN(parameter, text string) (string, error) {
	name, ok := arn.Queue(text)
	if !ok {
		return "", invalidParameter("You must use this format to specify the " + parameter +
			": arn:<partition>:<service>:<region>:<account-id>:<resource-id>")
	}
	return name, nil
}

func resourceNotFound(parameter string) *queue.Error {
	return &queue.Error{Code: queue.ResourceNotFound,
		Message: "The resource that you specified for the " + parameter + " parameter doesn't exist."}
}
