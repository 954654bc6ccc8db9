package harness

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Region and the credentials below are for the signatures of test clients.
const (
	Region          = "us-east-1"
	AccessKeyID     = "AKIASERIATIMTEST0001"
	SecretAccessKey = "seriatim-test-secret"
)

// WriteFirstKey writes these credentials into a file from which a new cluster takes its
// first key.
func WriteFirstKey(path string) error {
	if err := os.WriteFile(path, []byte("AWS_ACCESS_KEY_ID="+AccessKeyID+"\nAWS_SECRET_ACCESS_KEY="+SecretAccessKey+"\n"),
		0o600); err != nil {
		return fmt.Errorf("write the first key: %w", err)
	}
	return nil
}

// Pick chooses the node for a request.
type Pick func() *Node

// Only always picks one node.
func Only(n *Node) Pick { return func() *Node { return n } }

// Rotate picks the nodes of a cluster in turn.
func (c *Cluster) Rotate() Pick { return c.Next }

// NewSQS returns a stock SDK client whose requests go to the picked nodes. Its host is always that
// of the first node, so queue URLs are the same for all nodes.
func (c *Cluster) NewSQS(pick Pick, options ...func(*sqs.Options)) *sqs.Client {
	o := sqs.Options{
		Region:       Region,
		BaseEndpoint: aws.String(c.Endpoint()),
		Credentials:  credentials.NewStaticCredentialsProvider(AccessKeyID, SecretAccessKey, ""),
		HTTPClient:   &http.Client{Transport: NewRoundTripper(pick)},
	}
	return sqs.New(o, options...)
}

// NewSNS is NewSQS for topics.
func (c *Cluster) NewSNS(pick Pick, options ...func(*sns.Options)) *sns.Client {
	o := sns.Options{
		Region:       Region,
		BaseEndpoint: aws.String(c.Endpoint()),
		Credentials:  credentials.NewStaticCredentialsProvider(AccessKeyID, SecretAccessKey, ""),
		HTTPClient:   &http.Client{Transport: NewRoundTripper(pick)},
	}
	return sns.New(o, options...)
}

// Endpoint returns the URL that clients of the cluster are configured with.
func (c *Cluster) Endpoint() string { return "http://" + c.Nodes[0].Client }

// roundTripper sends each request to the picked node, whatever host it names.
type roundTripper struct {
	pick   Pick
	next   *http.Transport
	scheme string
}

// NewRoundTripper returns an HTTP transport that connects to the picked node and does not change
// the request, in particular its Host header.
func NewRoundTripper(pick Pick) http.RoundTripper { return NewSecureRoundTripper(pick, nil) }

// NewSecureRoundTripper is NewRoundTripper for nodes with TLS on their client ports. If secure is
// nil, they have none.
func NewSecureRoundTripper(pick Pick, secure *tls.Config) http.RoundTripper {
	dialer, scheme := net.Dialer{Timeout: 2 * time.Second}, "http"
	if secure != nil {
		scheme = "https"
	}
	return &roundTripper{pick: pick, scheme: scheme, next: &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     secure,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     10 * time.Second,
	}}
}

// RoundTrip implements http.RoundTripper.
func (r *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	moved := request.Clone(request.Context())
	if moved.Host == "" {
		moved.Host = moved.URL.Host
	}
	moved.URL.Scheme, moved.URL.Host = r.scheme, r.pick().Client
	return r.next.RoundTrip(moved)
}

// CloseIdleConnections lets http.Client close what it kept open.
func (r *roundTripper) CloseIdleConnections() { r.next.CloseIdleConnections() }
