package sqs

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/service"
)

// blanks is appended to make a request large.
var blanks = strings.Repeat(" ", 6<<20)

// keptMax is the most memory that many requests may keep, less than the size of two.
const keptMax = 10 << 20

// heap returns the number of bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // pools survive the first one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// records collects the records of requests.
type records []*service.Request

func (r *records) Observe(request *service.Request) { *r = append(*r, request) }

// TestRecordsKeepNamesOnly checks that the data for metrics and spans does not keep the text of a
// request in memory.
func TestRecordsKeepNamesOnly(t *testing.T) {
	f := newFixture(t)
	f.create("q", nil)
	var kept records
	m := &service.Calls{Logger: slog.New(slog.DiscardHandler), Random: rand.Reader, Now: time.Now, Observer: &kept}
	handler := transport.Recorded(m, f.handler)
	before := heap()
	for range 5 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"QueueUrl":"q"}`+blanks))
		r.Header.Set("Content-Type", aws.JSONType)
		r.Header.Set("X-Amz-Target", targetPrefix+"GetQueueAttributes")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if grown := heap() - before; grown > keptMax {
		t.Errorf("%d records keep %d bytes", len(kept), grown)
	}
	runtime.KeepAlive(kept)
}

// parkingNode lets every receive wait until its context ends. Like the leader, it keeps the
// command.
type parkingNode struct {
	*brokerNode
	parked chan *queue.ReceiveMessages // capacity for all receives of a test
}

func (n *parkingNode) BeginReceive(ctx context.Context, cmd *queue.ReceiveMessages, _ time.Duration, complete func(cluster.Reply, error)) {
	n.parked <- cmd
	context.AfterFunc(ctx, func() { complete(cluster.Reply{}, ctx.Err()) })
}

// TestWaitingPollsKeepLittle checks that a waiting receive keeps only the necessary parts of its
// request, since the memory of the whole text was returned to the budget.
func TestWaitingPollsKeepLittle(t *testing.T) {
	const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\nContent-Type: %s\r\n" +
		"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261123/us-east-1/sqs/aws4_request, SignedHeaders=host, " +
		"Signature=0\r\n%s\r\n"
	long := strings.Repeat("n", 1<<20) // not the name of any attribute
	for protocol, r := range map[string]struct{ body, contentType, header string }{
		aws.JSON: {
			`{"QueueUrl":"q","WaitTimeSeconds":20,"ReceiveRequestAttemptId":"once","AttributeNames":["SenderId"],"MessageAttributeNames":["trace.*","kind","` + long + `"]}`,
			aws.JSONType, "X-Amz-Target: " + targetPrefix + "ReceiveMessage\r\n",
		},
		aws.Query: {
			"Action=ReceiveMessage&Version=2012-11-05&QueueUrl=q&WaitTimeSeconds=20&ReceiveRequestAttemptId=once" +
				"&AttributeName.1=SenderId&MessageAttributeName.1=trace.*&MessageAttributeName.2=kind&MessageAttributeName.3=" + long +
				"&Blanks=",
			aws.FormType, "",
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const polls = 20
				node := &parkingNode{newBrokerNode(), make(chan *queue.ReceiveMessages, polls)}
				polled := New(t.Context(), Options{Node: node, Names: testNames})
				logger := slog.New(slog.DiscardHandler)
				m := &service.Calls{Logger: logger, Random: rand.Reader, Now: time.Now}
				server := http1.New(t.Context(), http1.Config{
					Handler: transport.Recorded(m, aws.NewHandler(aws.Options{Backend: service.Backend{Node: node, Names: testNames},
						Verifier: sigv4.AcceptAll{}, Logger: logger}, polled.API())),
					Budget: budget.New(64 << 20), Now: time.Now, Logger: logger,
				})
				padding := []byte(blanks)
				before := heap()
				for range polls {
					ours, theirs := net.Pipe()
					defer ours.Close()
					server.Serve(theirs)
					for _, part := range [][]byte{fmt.Appendf(nil, head, len(r.body)+len(padding), r.contentType, r.header),
						[]byte(r.body), padding} {
						clustertest.Must(t, clustertest.Err(ours.Write(part)))
					}
				}
				synctest.Wait()
				if grown := heap() - before; len(node.parked) != polls || grown > keptMax {
					t.Errorf("%d receives wait and keep %d bytes", len(node.parked), grown)
				}
				if cmd := <-node.parked; cmd.Queue != "q" || cmd.AttemptID != "once" {
					t.Errorf("received with %+v", cmd)
				}
				runtime.KeepAlive(padding)
				polled.Drain()
			})
		})
	}
}
