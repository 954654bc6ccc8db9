package migrate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// Service is a kind of source.
type Service string

// Kinds of sources.
const (
	SQS       Service = "sqs"
	ElasticMQ Service = "elasticmq"
	YMQ       Service = "ymq"
	// ServiceBus is Azure Service Bus, which speaks another protocol than SQS.
	ServiceBus Service = "servicebus"
)

// Parts returns the parts of the cluster that copies of the service change.
func (s Service) Parts() map[string]bool {
	return map[string]bool{definitions.Queues: true, definitions.Topics: s == ServiceBus}
}

// Region returns the default region of a service.
func (s Service) Region() string {
	return map[Service]string{SQS: "us-east-1", ElasticMQ: "elasticmq", YMQ: "ru-central1"}[s]
}

// Endpoint returns the default endpoint of a service in a region.
func (s Service) Endpoint(region string) string {
	return map[Service]string{
		SQS: "https://sqs." + region + ".amazonaws.com", ElasticMQ: "http://127.0.0.1:9324",
		YMQ: "https://message-queue.api.cloud.yandex.net",
	}[s]
}

// Options names a source.
type Options struct {
	Service  Service
	Endpoint string
	Region   string
	KeyID    string // empty: requests are not signed
	Secret   string
	Token    string // of temporary credentials; empty: none
	TLS      *tls.Config
	Timeout  time.Duration // for one request
}

// Source is a service to read. Safe for concurrent use.
type Source struct {
	options Options
	base    *url.URL
	http    *http.Client
	signer  *sigv4.Signer // nil: requests are not signed
}

// connectionsMax bounds the connections to a source.
const connectionsMax = 64

// NewSource returns a source. The first request connects.
func NewSource(o Options) (*Source, error) {
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, exit.New(exit.Usage, fmt.Errorf("--source-endpoint %q is no address", o.Endpoint),
			"write it like "+SQS.Endpoint("eu-west-1"))
	}
	s := &Source{options: o, base: base, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: o.TLS, MaxIdleConnsPerHost: connectionsMax, Proxy: http.ProxyFromEnvironment},
	}}
	if o.KeyID != "" {
		s.signer = &sigv4.Signer{KeyID: o.KeyID, Secret: o.Secret, Region: o.Region, Service: "sqs", Now: time.Now}
	}
	return s, nil
}

// Close ends the connections.
func (s *Source) Close() { s.http.CloseIdleConnections() }

// answerMax bounds an answer: ten messages of 1 MiB, of which JSON can make each byte six long.
const answerMax = 64 << 20

// call makes one request. wait is the time of a long poll, added to the timeout.
func (s *Source) call(ctx context.Context, action string, in, out any, wait time.Duration) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout+wait)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.JoinPath("/").String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	if s.options.Token != "" {
		r.Header.Set("X-Amz-Security-Token", s.options.Token)
	}
	if s.signer != nil {
		s.signer.Sign(r, string(body))
	}
	response, err := s.http.Do(r)
	if err != nil {
		return exit.New(exit.Unavailable, fmt.Errorf("the source: %w", err), "is --source-endpoint the address of the service?")
	}
	defer func() { _ = response.Body.Close() }() // it is only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return exit.New(exit.Unavailable, fmt.Errorf("the source: %s: %w", action, err), "")
	}
	if response.StatusCode != http.StatusOK {
		return refusal(action, response.StatusCode, answer)
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return exit.New(exit.Failed, fmt.Errorf("the source: unreadable answer to %s: %w", action, err),
			"the service must speak the JSON protocol of SQS")
	}
	return nil
}

// refusedError is a refusal by the source.
type refusedError struct {
	action, code, text string
	status             int
}

// unsupported reports whether the source does not know the action.
func (e *refusedError) unsupported() bool {
	code := e.code[strings.LastIndexByte(e.code, '.')+1:] // without a prefix such as AWS.SimpleQueueService
	return slices.Contains([]string{"InvalidAction", "UnknownOperationException", "UnsupportedOperation", "NotImplemented"}, code) ||
		e.status == http.StatusNotFound || e.status == http.StatusNotImplemented
}

// Error returns the code and the text of the source.
func (e *refusedError) Error() string {
	return strings.TrimSuffix("the source refuses "+e.action+": "+e.code+": "+e.text, ": ")
}

func refusal(action string, status int, answer []byte) error {
	var body struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Upper   string `json:"Message"`
	}
	_ = json.Unmarshal(answer, &body) // otherwise the status suffices
	code := body.Type[strings.LastIndexByte(body.Type, '#')+1:]
	e := &refusedError{action, cmp.Or(code, fmt.Sprintf("HTTP %d", status)), cmp.Or(body.Message, body.Upper), status}
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized || strings.Contains(code, "AccessDenied") ||
		strings.Contains(code, "Token") || strings.Contains(code, "Signature"):
		return exit.New(exit.Denied, e, "set the key of the source: SERIATIM_SOURCE_ACCESS_KEY_ID and SERIATIM_SOURCE_SECRET_ACCESS_KEY")
	case strings.Contains(code, "NonExistentQueue") || strings.Contains(code, "QueueDoesNotExist"):
		return exit.New(exit.NotFound, e, "")
	case status >= http.StatusInternalServerError:
		return exit.New(exit.Unavailable, e, "")
	}
	return exit.New(exit.Failed, e, "")
}

// Queue is a queue of a source.
type Queue struct {
	Name string
	URL  string
}

// Queues lists the queues whose names begin with a prefix.
func (s *Source) Queues(ctx context.Context, prefix string) (list []Queue, err error) {
	in := map[string]any{"MaxResults": 1000}
	if prefix != "" {
		in["QueueNamePrefix"] = prefix
	}
	for {
		var out struct {
			QueueURLs []string `json:"QueueUrls"`
			NextToken string
		}
		if err := s.call(ctx, "ListQueues", in, &out, 0); err != nil {
			return nil, err
		}
		for _, address := range out.QueueURLs {
			list = append(list, Queue{address[strings.LastIndexByte(address, '/')+1:], address})
		}
		if out.NextToken == "" {
			return list, nil
		}
		in["NextToken"] = out.NextToken
	}
}

// attributes reads all attributes of a queue.
func (s *Source) attributes(ctx context.Context, q Queue) (map[string]string, error) {
	var out struct{ Attributes map[string]string }
	err := s.call(ctx, "GetQueueAttributes", map[string]any{"QueueUrl": q.URL, "AttributeNames": []string{"All"}}, &out, 0)
	return out.Attributes, err
}

// atOnceMax bounds the concurrent reads of definitions.
const atOnceMax = 16

// Definitions returns queues as definitions, and notes about what is left out.
func (s *Source) Definitions(ctx context.Context, queues []Queue) (*definitions.Document, []string, error) {
	d := &definitions.Document{Version: 1, Queues: make([]definitions.Queue, len(queues))}
	notes := make([]string, len(queues))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnceMax)
	for i, q := range queues {
		g.Go(func() (err error) {
			d.Queues[i], notes[i], err = s.definition(ctx, q)
			return err
		})
	}
	err := g.Wait()
	d.Sort()
	kept := notes[:0]
	for _, note := range notes {
		if note != "" {
			kept = append(kept, note)
		}
	}
	return d, kept, err
}

// definition reads one queue.
func (s *Source) definition(ctx context.Context, q Queue) (definitions.Queue, string, error) {
	listed, err := s.attributes(ctx, q)
	if err != nil {
		return definitions.Queue{}, "", err
	}
	var tagged struct{ Tags map[string]string }
	err = s.call(ctx, "ListQueueTags", map[string]any{"QueueUrl": q.URL}, &tagged, 0)
	if refused, ok := errors.AsType[*refusedError](err); err != nil && (!ok || !refused.unsupported()) { // some services have no tags
		return definitions.Queue{}, "", err
	}
	note := ""
	if listed["KmsMasterKeyId"] != "" {
		note = "the queue " + q.Name + " is encrypted with a key of KMS, which is left out: see docs/operate/security.md"
	}
	return definitionOf(s.options.Service, q.Name, listed, tagged.Tags), note, nil
}

// definitionOf returns a definition whose ARNs have variables.
func definitionOf(service Service, name string, listed, tags map[string]string) definitions.Queue {
	delete(listed, "KmsMasterKeyId")
	delete(listed, "KmsDataKeyReusePeriodSeconds")
	if arn := listed["QueueArn"]; arn != "" {
		for key, value := range listed {
			listed[key] = strings.ReplaceAll(value, strings.TrimSuffix(arn, name), definitions.Here("sqs"))
		}
	}
	out := definitions.QueueOf(name, listed, tags)
	if !strings.HasSuffix(name, ".fifo") { // ElasticMQ lists attributes of FIFO queues for all
		delete(out.Attributes, "ContentBasedDeduplication")
		return out
	}
	if service == YMQ {
		out.Attributes["CompatibilityProfile"] = "ymq"
	}
	return out
}
