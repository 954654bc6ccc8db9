package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsquery"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// protocolJSON and protocolQuery are the two wire protocols of SQS.
const (
	protocolJSON  = "json"
	protocolQuery = "query"
)

// requestTimeout bounds one call with all its retries, long polls included.
const requestTimeout = 90 * time.Second

// account and region are the defaults of the server.
const account = "000000000000"

// client is the SDK's client, speaking one protocol to the shared cluster.
type client struct {
	protocol string
	sqs      *sqs.Client
	sns      *sns.Client // it has one protocol only
	cluster  *harness.Cluster
}

// each runs a test once for each protocol.
func each(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	t.Parallel()
	for _, protocol := range []string{protocolJSON, protocolQuery} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			test(t, newClient(shared.cluster, protocol))
		})
	}
}

func newClient(cluster *harness.Cluster, protocol string) *client {
	options := func(o *sqs.Options) {
		o.HTTPClient = &http.Client{Transport: &wireCheck{next: harness.NewRoundTripper(cluster.Rotate())}}
		o.APIOptions = append(o.APIOptions, sendIncompleteInput, func(s *middleware.Stack) error {
			return s.Serialize.Add(extraMembers{protocol: protocol}, middleware.After)
		})
		if protocol == protocolQuery {
			o.Protocol = awsquery.New(schemas.AmazonSQS)
		}
	}
	topics := func(o *sns.Options) {
		o.HTTPClient = &http.Client{Transport: &wireCheck{next: harness.NewRoundTripper(cluster.Rotate())}}
		o.APIOptions = append(o.APIOptions, sendIncompleteInput, func(s *middleware.Stack) error {
			return s.Serialize.Add(extraMembers{protocol: protocolQuery}, middleware.After)
		})
	}
	return &client{
		protocol: protocol, sqs: cluster.NewSQS(cluster.Rotate(), options), sns: cluster.NewSNS(cluster.Rotate(), topics), cluster: cluster,
	}
}

// sendIncompleteInput removes the SDK's check of required members, so that the server has to refuse
// the request. Actions without required members have no such check.
func sendIncompleteInput(s *middleware.Stack) error {
	const check = "OperationInputValidation"
	if _, found := s.Initialize.Get(check); !found {
		return nil
	}
	_, err := s.Initialize.Remove(check)
	return err
}

// members are request members, by their JSON names, that are added to the SDK's request. The SDK
// cannot send an explicit zero.
type members map[string]any

type membersKey struct{}

// extraMembers adds the members found in the context to the request body.
type extraMembers struct{ protocol string }

func (extraMembers) ID() string { return "ExtraMembers" }

func (e extraMembers) HandleSerialize(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
	middleware.SerializeOutput, middleware.Metadata, error,
) {
	extra, _ := ctx.Value(membersKey{}).(members)
	if len(extra) == 0 {
		return next.HandleSerialize(ctx, in)
	}
	request := in.Request.(*smithyhttp.Request)
	body, err := io.ReadAll(request.GetStream())
	if err != nil {
		return middleware.SerializeOutput{}, middleware.Metadata{}, err
	}
	if e.protocol == protocolJSON {
		body, err = addJSON(body, extra)
	} else {
		body, err = addForm(body, extra)
	}
	if err != nil {
		return middleware.SerializeOutput{}, middleware.Metadata{}, err
	}
	changed, err := request.SetStream(bytes.NewReader(body))
	if err != nil {
		return middleware.SerializeOutput{}, middleware.Metadata{}, err
	}
	in.Request = changed
	return next.HandleSerialize(ctx, in)
}

func addJSON(body []byte, extra members) ([]byte, error) {
	object := map[string]any{}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, err
		}
	}
	maps.Copy(object, extra)
	return json.Marshal(object)
}

func addForm(body []byte, extra members) ([]byte, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	for name, value := range extra {
		form.Set(name, fmt.Sprint(value))
	}
	return []byte(form.Encode()), nil
}

// call makes one SDK call. It returns a refusal of the server; any other failure ends the test.
func call[I, O, P any](t *testing.T, operation func(context.Context, *I, ...func(*P)) (*O, error), in *I, extra members) (*O, *refusal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	seen := &observed{}
	ctx = context.WithValue(ctx, observedKey{}, seen)
	if extra != nil {
		ctx = context.WithValue(ctx, membersKey{}, extra)
	}
	out, err := operation(ctx, in)
	if err == nil {
		return out, nil
	}
	if seen.refusal == nil {
		t.Fatalf("%T: %v", in, err)
	}
	return nil, seen.refusal
}

// must ends the test if the server refused.
func must[O any](t *testing.T) func(out O, refused *refusal) O {
	t.Helper()
	return func(out O, refused *refusal) O {
		t.Helper()
		if refused != nil {
			t.Fatalf("refused: %v", refused)
		}
		return out
	}
}

// refusal is an error as it was sent by the server.
type refusal struct {
	Status  int
	Code    string // query code, from the header or the XML
	Fault   string // Sender or Receiver
	Message string
}

func (r *refusal) String() string {
	return fmt.Sprintf("HTTP %d %s (%s): %s", r.Status, r.Code, r.Fault, r.Message)
}

// refused checks that a call was refused with a query code and a text; an empty text is not
// compared. The wire check of every answer compares the status, the fault and the JSON type.
func refused(t *testing.T, got *refusal, code, message string) {
	t.Helper()
	if got == nil {
		t.Fatalf("accepted, want %s: %s", code, message)
	}
	if got.Code != code {
		t.Errorf("code %q (%s), want %q", got.Code, got.Message, code)
	}
	if message != "" && got.Message != message {
		t.Errorf("message\n %q, want\n %q", got.Message, message)
	}
}

// unknownQueueText differs between the protocols.
func (c *client) unknownQueueText() string {
	if c.protocol == protocolQuery {
		return "The specified queue does not exist for this wsdl version."
	}
	return "The specified queue does not exist."
}

// names counts the names that were used, so that each is unique.
var names atomic.Int64

// runID distinguishes the names of concurrent test processes.
var runID = fmt.Sprintf("%x", time.Now().UnixNano()&0xffffff)

// unique returns a name that no other test uses. It contains the name of the test.
func unique(t *testing.T) string {
	test, _, _ := strings.Cut(strings.TrimPrefix(t.Name(), "Test"), "/")
	if len(test) > 40 {
		test = test[:40]
	}
	return fmt.Sprintf("%s-%s-%d", test, runID, names.Add(1))
}

// attrs are queue attributes.
type attrs = map[string]string

// std creates a standard queue and returns its URL.
func (c *client) std(t *testing.T, attributes attrs) string {
	t.Helper()
	return c.create(t, unique(t), attributes)
}

// fifo creates a FIFO queue and returns its URL.
func (c *client) fifo(t *testing.T, attributes attrs) string {
	t.Helper()
	all := attrs{"FifoQueue": "true"}
	maps.Copy(all, attributes)
	return c.create(t, unique(t)+".fifo", all)
}

func (c *client) create(t *testing.T, name string, attributes attrs) string {
	t.Helper()
	return aws.ToString(must[*sqs.CreateQueueOutput](t)(c.tryCreate(t, name, attributes)).QueueUrl)
}

func (c *client) tryCreate(t *testing.T, name string, attributes attrs) (*sqs.CreateQueueOutput, *refusal) {
	t.Helper()
	return call(t, c.sqs.CreateQueue, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}, nil)
}

// queueName returns the last segment of a queue URL.
func queueName(queueURL string) string { return queueURL[strings.LastIndex(queueURL, "/")+1:] }

func arn(queueURL string) string {
	return "arn:aws:sqs:" + harness.Region + ":" + account + ":" + queueName(queueURL)
}

// missing returns the URL of a queue that does not exist.
func (c *client) missing(t *testing.T) string {
	return c.cluster.Endpoint() + "/" + account + "/" + unique(t)
}
