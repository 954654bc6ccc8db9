package sqs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

const targetPrefix = "AmazonSQS."

var testNames = service.Names{Account: "000000000000", Region: "us-east-1"}

// fixture is a Service on a real listener over a real Broker.
type fixture struct {
	t       *testing.T
	node    *brokerNode
	service *Service
	handler *aws.Handler
	actions map[string]*aws.Action
	server  *httptest.Server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, node: newBrokerNode(), actions: map[string]*aws.Action{}}
	logger := slog.New(slog.DiscardHandler)
	f.service = New(t.Context(), Options{Node: f.node, Names: testNames, Random: rand.Reader})
	api := f.service.API()
	for _, a := range api.Actions {
		f.actions[a.Name] = a
	}
	f.handler = aws.NewHandler(aws.Options{Backend: service.Backend{Node: f.node, Names: testNames}, Verifier: sigv4.AcceptAll{},
		Logger: logger}, api)
	m := &service.Calls{Logger: logger, Random: rand.Reader, Now: time.Now}
	f.server = httptest.NewServer(transport.Recorded(m, f.handler))
	t.Cleanup(f.server.Close)
	return f
}

// members holds the parameters of a request by their JSON names.
type members map[string]any

// answer is an answer in either protocol.
type answer struct {
	status   int
	header   http.Header
	body     string
	errType  string // JSON only
	code     string
	fault    string
	message  string
	members  map[string]any // JSON only
	protocol string
}

var protocols = []string{aws.JSON, aws.Query}

// call sends one request in the protocol. A queue is named by its URL.
func (f *fixture) call(protocol, action string, in members) answer {
	f.t.Helper()
	var request *http.Request
	var err error
	if protocol == aws.JSON {
		body, e := json.Marshal(in)
		if e != nil {
			f.t.Fatal(e)
		}
		request, err = http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.server.URL+"/", bytes.NewReader(body))
		request.Header.Set("Content-Type", aws.JSONType)
		request.Header.Set("X-Amz-Target", targetPrefix+action)
	} else {
		form := url.Values{"Action": {action}, "Version": {"2012-11-05"}}
		flatten(f.t, form, "", f.actions[action].Input(), in)
		request, err = http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.server.URL+"/", strings.NewReader(form.Encode()))
		request.Header.Set("Content-Type", aws.FormType+"; charset=utf-8")
	}
	clustertest.Must(f.t, err)
	return f.do(protocol, request)
}

var requestID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// do sends a request and checks what every answer must have.
func (f *fixture) do(protocol string, request *http.Request) answer {
	f.t.Helper()
	response, err := f.server.Client().Do(request)
	clustertest.Must(f.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	clustertest.Must(f.t, err)
	a := answer{status: response.StatusCode, header: response.Header, body: string(body), protocol: protocol}
	id := response.Header.Get("x-amzn-RequestId")
	if !requestID.MatchString(id) {
		f.t.Errorf("x-amzn-RequestId is %q, want a UUID", id)
	}
	if a.status != http.StatusOK {
		a.code, a.fault, _ = strings.Cut(response.Header.Get("x-amzn-query-error"), ";")
	}
	if protocol == aws.JSON {
		f.readJSON(&a)
	} else {
		f.readXML(&a, id)
	}
	return a
}

func (f *fixture) readJSON(a *answer) {
	f.t.Helper()
	if got := a.header.Get("Content-Type"); got != aws.JSONType {
		f.t.Errorf("Content-Type is %q", got)
	}
	if a.body == "" {
		return
	}
	if err := json.Unmarshal([]byte(a.body), &a.members); err != nil {
		f.t.Fatalf("%v: %s", err, a.body)
	}
	a.errType, _ = a.members["__type"].(string)
	a.message, _ = a.members["message"].(string)
}

func (f *fixture) readXML(a *answer, id string) {
	f.t.Helper()
	if got := a.header.Get("Content-Type"); got != "text/xml" {
		f.t.Errorf("Content-Type is %q", got)
	}
	var root struct {
		XMLName   xml.Name
		RequestID string `xml:"RequestId"`
		Metadata  struct {
			RequestID string `xml:"RequestId"`
		} `xml:"ResponseMetadata"`
		Error struct {
			Type, Code, Message string
			Detail              *struct{}
		}
	}
	if err := xml.Unmarshal([]byte(a.body), &root); err != nil {
		f.t.Fatalf("%v: %s", err, a.body)
	}
	if root.XMLName.Local == "UnknownOperationException" {
		return
	}
	if root.XMLName.Space != f.service.API().Namespace {
		f.t.Errorf("f.service.API().Namespace is %q", root.XMLName.Space)
	}
	if got := root.RequestID + root.Metadata.RequestID; got != id {
		f.t.Errorf("RequestId element is %q, header %q", got, id)
	}
	if a.status == http.StatusOK {
		return
	}
	if root.Error.Code != a.code || root.Error.Type != a.fault || root.Error.Detail == nil {
		f.t.Errorf("error %+v differs from header %s;%s", root.Error, a.code, a.fault)
	}
	a.message = root.Error.Message
}

// ok checks that an answer is a success.
func (f *fixture) ok(a answer) answer {
	f.t.Helper()
	if a.status != http.StatusOK {
		f.t.Fatalf("%s: %d %s", a.protocol, a.status, a.body)
	}
	return a
}

// element returns the text of the first XML element with this name, or of the member at any depth
// of a JSON answer.
func (a answer) element(name string) string {
	if a.protocol == aws.Query {
		_, rest, ok := strings.Cut(a.body, "<"+name+">")
		if !ok {
			return ""
		}
		text, _, _ := strings.Cut(rest, "</"+name+">")
		return text
	}
	return find(a.members, name)
}

func find(v any, name string) string {
	switch v := v.(type) {
	case map[string]any:
		if x, ok := v[name]; ok {
			return fmt.Sprint(x)
		}
		for _, x := range v {
			if s := find(x, name); s != "" {
				return s
			}
		}
	case []any:
		for _, x := range v {
			if s := find(x, name); s != "" {
				return s
			}
		}
	}
	return ""
}

func (f *fixture) url(name string) string { return f.server.URL + "/000000000000/" + name }

// create makes a queue. Its name decides whether it is FIFO.
func (f *fixture) create(name string, attributes members) {
	f.t.Helper()
	all := members{}
	if strings.HasSuffix(name, ".fifo") {
		all["FifoQueue"] = "true"
	}
	maps.Copy(all, attributes)
	f.ok(f.call(aws.JSON, "CreateQueue", members{"QueueName": name, "Attributes": all}))
}

// send sends a body and returns the answer.
func (f *fixture) send(name, body string) answer {
	f.t.Helper()
	in := members{"QueueUrl": f.url(name), "MessageBody": body}
	if strings.HasSuffix(name, ".fifo") {
		in["MessageGroupId"], in["MessageDeduplicationId"] = "g", "d-"+body
	}
	return f.ok(f.call(aws.JSON, "SendMessage", in))
}

// receive returns the receipt handle of one message.
func (f *fixture) receive(name string, visibility int) string {
	f.t.Helper()
	a := f.ok(f.call(aws.JSON, "ReceiveMessage", members{"QueueUrl": f.url(name), "VisibilityTimeout": visibility}))
	handle := a.element("ReceiptHandle")
	if handle == "" {
		f.t.Fatalf("no message: %s", a.body)
	}
	return handle
}

// flatten writes members as parameters of a Query request.
func flatten(t *testing.T, form url.Values, prefix string, infos []awswire.MemberInfo, in members) {
	t.Helper()
	for name, value := range in {
		i := slices.IndexFunc(infos, func(m awswire.MemberInfo) bool { return m.Name == name })
		if i < 0 {
			t.Fatalf("no member %s", name)
		}
		info := infos[i]
		switch info.Kind {
		case awswire.KindStringList:
			for n, item := range value.([]string) {
				form.Set(fmt.Sprintf("%s%s.%d", prefix, info.Query, n+1), item)
			}
		case awswire.KindStringMap:
			key := "Name"
			if info.Query == "Tag" {
				key = "Key"
			}
			n := 0
			for k, v := range value.(members) {
				n++
				form.Set(fmt.Sprintf("%s%s.%d.%s", prefix, info.Query, n, key), k)
				form.Set(fmt.Sprintf("%s%s.%d.Value", prefix, info.Query, n), v.(string))
			}
		case awswire.KindStructureList:
			for n, item := range value.([]members) {
				flatten(t, form, fmt.Sprintf("%s%s.%d.", prefix, info.Query, n+1), entryMembers(info.Query), item)
			}
		case awswire.KindStructureMap:
			n := 0
			for k, v := range value.(members) {
				n++
				p := fmt.Sprintf("%s%s.%d.", prefix, info.Query, n)
				form.Set(p+"Name", k)
				flatten(t, form, p+"Value.", attributeValueSchema.Members(), v.(members))
			}
		default:
			form.Set(prefix+info.Query, fmt.Sprint(value))
		}
	}
}

func entryMembers(entry string) []awswire.MemberInfo {
	id := awswire.MemberInfo{Name: "Id", Query: "Id", Kind: awswire.KindString}
	if entry == sendEntryName {
		return append(sendMessageInputSchema.Members(), id)
	}
	return append(changeMessageVisibilityInputSchema.Members(), id)
}

// text returns a message attribute of type String.
func text(value string) members { return members{"DataType": "String", "StringValue": value} }

func both(t *testing.T, run func(t *testing.T, f *fixture, protocol string)) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			run(t, newFixture(t), protocol)
		})
	}
}

var (
	_ Node = (*brokerNode)(nil)
	_ Node = (*cluster.Node)(nil)
)

func (f *fixture) exists(name string) bool {
	found := false
	_, err := f.node.Read(context.Background(), func(v queue.View) error {
		found = v.QueueExists(name)
		return nil
	})
	return found && err == nil
}
