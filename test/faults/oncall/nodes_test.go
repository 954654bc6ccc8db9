//go:build faults

package oncall

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// A node that hangs stays behind; the others go on.
func TestLaggingNode(t *testing.T) {
	d, c := newDesk(t, harness.Options{})
	d.create("orders.fifo", nil)
	leader := d.leader(c)
	last := c.Followers(leader)[0]
	d.at = leader
	harness.Must(t, last.Pause())
	t.Cleanup(func() { harness.Check(t, last.Resume()) })
	for i := range 500 {
		d.send("orders.fifo", "g", fmt.Sprint(i), "x")
	}
	d.sees("/", "2 of 3 voters answer", last.Name, "no answer")
	d.sees("/cluster", last.Name, "does not answer")
	d.reads("cluster status", last.Name, "2 of 3 voters answer")
	d.reads("doctor", last.Name)
}

// Two of three nodes are gone.
func TestLostQuorum(t *testing.T) {
	d, c := newDesk(t, harness.Options{})
	d.create("orders.fifo", nil)
	for _, n := range c.Nodes[1:] {
		harness.Must(t, n.Kill())
	}
	d.sees("/", "No leader")
	d.sees("/cluster", "n2", "n3", "quorum")
	d.sees("/queues", "orders.fifo") // the last known state
	d.reads("cluster status", "no leader", "n2", "n3")
	d.reads("msg send orders.fifo x --group g --deduplication-id 1", "leader")
	d.reads("doctor", "quorum")
}

// The disk of the leader is full.
func TestFullDisk(t *testing.T) {
	d, _ := newDesk(t, harness.Options{Args: []string{"--disk-free-refuse", "99%"}})
	d.create("orders.fifo", nil)
	d.reads("msg send orders.fifo x --group g --deduplication-id 1", "disk")
	d.sees("/", "disk")
	d.sees("/cluster", "disk", "refuse")
	d.reads("cluster status", "disk")
	d.reads("check sends", "disk")
	d.reads("doctor", "disk")
}

// The certificate of a node has ended: the others do not accept it.
func TestExpiredCertificate(t *testing.T) {
	authority, err := harness.NewAuthority(binary, filepath.Join(t.TempDir(), "certs"))
	harness.Must(t, err)
	d, c := newDesk(t, harness.Options{Authority: authority})
	leader := d.leader(c)
	d.at = leader
	d.create("orders.fifo", nil)
	ended := c.Followers(leader)[0]
	harness.Must(t, ended.Kill())
	harness.Must(t, authority.Expire(t.Context(), ended.Name))
	harness.Must(t, ended.Start())
	d.sees("/", ended.Name, "certificate")
	d.sees("/cluster", ended.Name, "certificate")
	d.reads("cluster status", ended.Name, "certificate")
	d.reads("doctor", ended.Name, "certificate")
	here := d.at
	d.at = ended // its own console works
	d.sees("/cluster", "certificate", "days left")
	d.reads("check certs", "certificate")
	d.at = here
}

// The clock of a node is an hour ahead.
func TestClockSkew(t *testing.T) {
	d, c := newDesk(t, harness.Options{})
	leader := d.leader(c)
	d.at = leader
	d.create("orders.fifo", nil)
	ahead := c.Followers(leader)[0]
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+ahead.Admin+"/v1/clock",
		strings.NewReader(`{"offsetMs":3600000}`))
	harness.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	harness.Must(t, err)
	if err := response.Body.Close(); err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("the clock cannot be set: %s", response.Status)
	}
	d.sees("/", "clock")
	d.sees("/cluster", ahead.Name, "clock")
	d.reads("check clock", ahead.Name)
	d.reads("doctor", "clock")
}

func (d *desk) leader(c *harness.Cluster) *harness.Node {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), faultTimeout)
	defer cancel()
	leader, err := c.WaitLeader(ctx, faultTimeout)
	harness.Must(d.t, err)
	return leader
}
