//go:build faults

package oncall

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

var binary string

func TestMain(m *testing.M) { os.Exit(harness.WithBinary(&binary, m.Run)) }

// faultTimeout bounds the time until a fault shows on a busy machine.
const faultTimeout = 3 * time.Minute

// desk is the place of an operator: a browser and a terminal, both at one node.
type desk struct {
	t    *testing.T
	at   *harness.Node
	conn *client.Client // of the programs that use the cluster
}

func newDesk(t *testing.T, o harness.Options) (*desk, *harness.Cluster) {
	t.Helper()
	o.Binary = binary
	c := harness.New(t, o)
	d := &desk{t: t, at: c.Nodes[0]}
	d.conn = d.dial(c)
	return d, c
}

func (d *desk) dial(c *harness.Cluster) *client.Client {
	d.t.Helper()
	var addresses []string
	for _, n := range c.Nodes {
		addresses = append(addresses, n.Client)
	}
	conn, err := client.Dial(client.Options{}, addresses...)
	harness.Must(d.t, err)
	d.t.Cleanup(func() { _ = conn.Close() }) // the test is over
	return conn
}

var (
	script = regexp.MustCompile(`(?s)<script.*?</script>|<[^>]*>`)
	space  = regexp.MustCompile(`\s+`)
)

// page returns the text of a page of the console.
func (d *desk) page(path string) string {
	request, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, "http://"+d.at.Admin+path, nil)
	harness.Must(d.t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }() // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return space.ReplaceAllString(html.UnescapeString(script.ReplaceAllString(string(text), " ")), " ")
}

// command returns what a command prints.
func (d *desk) command(line string) string {
	ctx, cancel := context.WithTimeout(d.t.Context(), faultTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, binary, strings.Fields(line)...)
	c.Env = append(os.Environ(), "SERIATIM_ENDPOINT=http://"+d.at.Client, "SERIATIM_ADMIN=http://"+d.at.Admin, "SERIATIM_TIMEOUT=20s")
	out, err := c.CombinedOutput()
	text := space.ReplaceAllString(string(out), " ")
	if err != nil {
		text += fmt.Sprintf("[%v]", err)
	}
	return text
}

// explains waits until an answer has all parts.
func (d *desk) explains(what string, ask func() string, parts ...string) {
	d.t.Helper()
	text := ""
	for end := time.Now().Add(faultTimeout); time.Now().Before(end); {
		text = ask()
		missing := false
		for _, part := range parts {
			missing = missing || !strings.Contains(text, part)
		}
		if !missing {
			d.t.Logf("%s: %s", what, text)
			return
		}
		select {
		case <-d.t.Context().Done():
		case <-time.After(200 * time.Millisecond): // the fault shows with a delay
		}
	}
	d.t.Errorf("%s does not say %q:\n%s", what, parts, text)
}

// sees checks a page of the console.
func (d *desk) sees(path string, parts ...string) {
	d.t.Helper()
	d.explains("console "+path, func() string { return d.page(path) }, parts...)
}

// reads checks the output of a command.
func (d *desk) reads(line string, parts ...string) {
	d.t.Helper()
	d.explains("seriatim "+line, func() string { return d.command(line) }, parts...)
}

func (d *desk) create(name string, attributes map[string]string) {
	d.t.Helper()
	if attributes == nil {
		attributes = map[string]string{}
	}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	harness.Must(d.t, harness.Err(d.conn.CreateQueue(d.t.Context(), name, attributes, nil)))
}

func (d *desk) send(name, group, id, body string) {
	d.t.Helper()
	harness.Must(d.t, harness.Err(d.conn.Send(d.t.Context(), name,
		&client.Message{Body: body, GroupId: proto.String(group), DeduplicationId: proto.String(id)})))
}

func (d *desk) receive(name string) {
	d.t.Helper()
	got, err := d.conn.Receive(d.t.Context(), &client.ReceiveRequest{Queue: name, MaxMessages: proto.Int32(1)})
	if err != nil || len(got.GetMessages()) != 1 {
		d.t.Fatalf("received %v, %v", got.GetMessages(), err)
	}
}
