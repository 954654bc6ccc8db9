package servicebus

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
	"github.com/Azure/go-amqp"
)

const (
	// idleTimeout is the longest wait for an event that must come.
	idleTimeout = time.Minute
	// oneTest is the time for one test.
	oneTest = 3 * time.Minute
)

var (
	endpoints   = hosts(os.Getenv("SERIATIM_ENDPOINTS"))
	key, secret = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	// security has the certificate of the nodes. With it, clients use TLS, and the nodes demand tokens.
	security = securityOf(os.Getenv("CONFORMANCE_TLS"))
	run      = time.Now().Unix()
	numbers  atomic.Int64
)

func hosts(list string) (all []string) {
	for _, text := range strings.Fields(list) {
		u, err := url.Parse(text)
		if err != nil {
			panic(err)
		}
		all = append(all, u.Host)
	}
	return all
}

func securityOf(file string) *tls.Config {
	if file == "" {
		return nil
	}
	certificate, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	// The SDK takes the port for a part of the name, unless it is given.
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: "127.0.0.1"}
}

// fixture is the environment of one test. All that it opens is closed at the end.
type fixture struct {
	*testing.T
	ctx    context.Context
	number int64
	shared *bus.Client
}

func newFixture(t *testing.T) *fixture {
	t.Parallel()
	if len(endpoints) == 0 {
		t.Skip("SERIATIM_ENDPOINTS names no node")
	}
	ctx, cancel := context.WithTimeout(t.Context(), oneTest)
	t.Cleanup(cancel)
	return &fixture{T: t, ctx: ctx, number: numbers.Add(1)}
}

// secure is a fixture of a test that needs tokens.
func secure(t *testing.T) *fixture {
	if security == nil {
		t.Skip("the nodes demand no tokens")
	}
	return newFixture(t)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// same compares values, pointers by what they point to.
func (f *fixture) same(got, want any, subject string) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("%s: got %s, want %s", subject, show(got), show(want))
	}
}

// show formats a value, pointers by what they point to.
func show(value any) string {
	if encoded, err := json.Marshal(value); err == nil {
		return fmt.Sprintf("%s (%T)", encoded, value)
	}
	return fmt.Sprintf("%#v", value)
}

func (f *fixture) holds(condition bool, format string, arguments ...any) {
	f.Helper()
	if !condition {
		f.Fatalf(format, arguments...)
	}
}

// refused checks that a call failed with a code of the SDK.
func (f *fixture) refused(err error, code bus.Code) {
	f.Helper()
	var of *bus.Error
	if !errors.As(err, &of) || of.Code != code {
		f.Fatalf("got %v, want %s", err, code)
	}
}

// failed checks that a call failed with a condition of AMQP and a text.
func (f *fixture) failed(err error, condition, text string) {
	f.Helper()
	var of *amqp.Error
	var link *amqp.LinkError
	if errors.As(err, &link) {
		of = link.RemoteErr
	} else {
		errors.As(err, &of)
	}
	if of == nil || string(of.Condition) != condition || !strings.Contains(of.Description, text) {
		f.Fatalf("got %v, want %s with %q", err, condition, text)
	}
}

// rejects checks that the SDK rejected a call itself.
func (f *fixture) rejects(err error, text string) {
	f.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		f.Fatalf("got %v, want %q", err, text)
	}
}

// eventually waits until check is true.
func (f *fixture) eventually(what string, check func() bool) {
	f.Helper()
	for end := time.Now().Add(idleTimeout); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if check() {
			return
		}
	}
	f.Fatalf("never: %s", what)
}

// pass lets time pass that a case is about: of a lock, a window, a time to live or a wait.
func pass(d time.Duration) { time.Sleep(d) }

// connection returns the connection string for a node.
func connection(endpoint, key, secret string) string {
	text := fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s", endpoint, key, secret)
	if security == nil {
		text += ";UseDevelopmentEmulator=true"
	}
	return text
}

func (f *fixture) endpoint() string { return endpoints[f.number%int64(len(endpoints))] }

// plain sends requests without TLS: the administration client always asks for HTTPS.
type plain struct{}

func (plain) Do(r *http.Request) (*http.Response, error) {
	r.URL.Scheme = "http"
	return http.DefaultClient.Do(r)
}

func transport() policy.Transporter {
	if security == nil {
		return plain{}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: security}}
}

func adminOptions(version string) *admin.ClientOptions {
	return &admin.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: transport(), APIVersion: version, Retry: policy.RetryOptions{MaxRetries: -1},
	}}
}

// admin returns an administration client.
func (f *fixture) admin() *admin.Client {
	f.Helper()
	// Without the word about an emulator, which the client refuses.
	text := fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s", f.endpoint(), key, secret)
	c, err := admin.NewClientFromConnectionString(text, adminOptions(""))
	f.must(err)
	return c
}

// path returns a name for an entity.
func (f *fixture) path() string { return fmt.Sprintf("go/%s.%d.%d", f.Name(), run, numbers.Add(1)) }

// queue creates a queue.
func (f *fixture) queue(p admin.QueueProperties) string {
	f.Helper()
	path := f.path()
	_, err := f.admin().CreateQueue(f.ctx, path, &admin.CreateQueueOptions{Properties: &p})
	f.must(err)
	return path
}

// sessions creates a queue with sessions.
func (f *fixture) sessions(p admin.QueueProperties) string {
	f.Helper()
	p.RequiresSession = new(true)
	return f.queue(p)
}

// topic creates a topic with subscriptions.
func (f *fixture) topic(p admin.TopicProperties, subscriptions map[string]admin.SubscriptionProperties) string {
	f.Helper()
	path := f.path()
	_, err := f.admin().CreateTopic(f.ctx, path, &admin.CreateTopicOptions{Properties: &p})
	f.must(err)
	for name, properties := range subscriptions {
		_, err := f.admin().CreateSubscription(f.ctx, path, name, &admin.CreateSubscriptionOptions{Properties: &properties})
		f.must(err)
	}
	return path
}

// open opens a client. It repeats no calls without retries, so that no failure is hidden.
func (f *fixture) open(text string, retries int32) *bus.Client {
	f.Helper()
	c, err := bus.NewClientFromConnectionString(text, &bus.ClientOptions{
		TLSConfig: security, RetryOptions: bus.RetryOptions{MaxRetries: cmp.Or(retries, -1), RetryDelay: 200 * time.Millisecond},
	})
	f.must(err)
	f.Cleanup(func() {
		if err := c.Close(context.WithoutCancel(f.ctx)); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	return c
}

// client returns the client of the test, of the next node.
func (f *fixture) client() *bus.Client {
	f.Helper()
	if f.shared == nil {
		f.shared = f.open(connection(f.endpoint(), key, secret), 0)
	}
	return f.shared
}

func (f *fixture) sender(path string) *bus.Sender {
	f.Helper()
	s, err := f.client().NewSender(path, nil)
	f.must(err)
	return s
}

func (f *fixture) receiver(path string) *bus.Receiver { return f.receiverWith(path, nil) }

func (f *fixture) receiverWith(path string, o *bus.ReceiverOptions) *bus.Receiver {
	f.Helper()
	r, err := f.client().NewReceiverForQueue(path, o)
	f.must(err)
	return r
}

func (f *fixture) deadLetters(path string) *bus.Receiver {
	return f.receiverWith(path, &bus.ReceiverOptions{SubQueue: bus.SubQueueDeadLetter})
}

func deletes() *bus.ReceiverOptions {
	return &bus.ReceiverOptions{ReceiveMode: bus.ReceiveModeReceiveAndDelete}
}

// subscription returns a receiver of a subscription.
func (f *fixture) subscription(topic, name string, o *bus.ReceiverOptions) *bus.Receiver {
	f.Helper()
	r, err := f.client().NewReceiverForSubscription(topic, name, o)
	f.must(err)
	return r
}

// session accepts a session, which may be held for a moment by a receiver that was closed.
func (f *fixture) session(path, id string, o *bus.SessionReceiverOptions) (r *bus.SessionReceiver) {
	f.Helper()
	f.eventually("session "+id+" is free", func() bool {
		var err error
		r, err = f.client().AcceptSessionForQueue(f.ctx, path, id, o)
		if err != nil {
			f.failed(err, "com.microsoft:session-cannot-be-locked", "")
		}
		return err == nil
	})
	return r
}

// send sends messages one by one.
func (f *fixture) send(path string, messages ...*bus.Message) {
	f.Helper()
	s := f.sender(path)
	for _, m := range messages {
		f.must(s.SendMessage(f.ctx, m, nil))
	}
	f.must(s.Close(f.ctx))
}

// sendBatch sends messages as one batch.
func (f *fixture) sendBatch(path string, messages ...*bus.Message) {
	f.Helper()
	s := f.sender(path)
	batch, err := s.NewMessageBatch(f.ctx, nil)
	f.must(err)
	for _, m := range messages {
		f.must(batch.AddMessage(m, nil))
	}
	f.must(s.SendMessageBatch(f.ctx, batch, nil))
	f.must(s.Close(f.ctx))
}
