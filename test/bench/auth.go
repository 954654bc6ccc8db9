package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// way is one way in which clients reach a cluster.
type way struct {
	name     string
	args     []string // of the servers
	secure   bool     // with TLS on the client port
	unsigned bool     // clients do not sign
	kept     float64  // the goal, as a part of the first way's rate; 0: none
}

// ways returns the compared settings. SDKs always sign, so the first one, with signatures that the
// server ignores, is the base. The last one shows the cost of signing for the clients, which share
// the machine with the servers.
func ways(key string) []way {
	auth := []string{"--auth", "--first-key-file", key}
	return []way{
		{name: "without auth"},
		{name: "with auth", args: auth, kept: 0.85},
		{name: "with auth and TLS", args: auth, secure: true, kept: 0.65},
		{name: "without auth, clients do not sign", unsigned: true},
	}
}

// reached is a cluster with its way.
type reached struct {
	way     way
	cluster *harness.Cluster
}

// authLoads are the loads of the comparison.
func authLoads(duration string) []workload {
	load := func(name string, args ...string) workload {
		return workload{name: name, args: append([]string{"send", "--duration", duration}, args...), goal: goal{timed: "send"}}
	}
	return []workload{
		load("1 client", "--clients", "1"),
		load("64 clients", "--clients", "64"),
		load("64 clients, batches of 10", "--clients", "64", "--batch", "10"),
	}
}

// measureAuth compares the ways in turns, so that other work of the machine affects all of them
// alike, and prints the table.
func measureAuth(ctx context.Context, rounds int, duration time.Duration) (err error) {
	if rounds < 1 || duration <= 0 {
		return errors.New("-runs and -duration must be above zero")
	}
	dir, err := os.MkdirTemp("", "seriatim-auth-")
	if err != nil {
		return fmt.Errorf("directory for the clusters: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	authority, err := harness.NewAuthority(binary, filepath.Join(dir, "certs"))
	if err != nil {
		return err
	}
	key := filepath.Join(dir, "key")
	text := "AWS_ACCESS_KEY_ID=" + harness.AccessKeyID + "\nAWS_SECRET_ACCESS_KEY=" + harness.SecretAccessKey + "\n"
	if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
		return err
	}
	var clusters []reached
	for i, w := range ways(key) {
		c, err := w.start(ctx, binary, filepath.Join(dir, fmt.Sprint(i)), authority)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		defer c.Close()
		clusters = append(clusters, reached{w, c})
	}
	found := &comparison{loads: authLoads(duration.String()), ways: ways(key), rounds: rounds}
	if found.cost, err = (verification{}).cost(); err != nil {
		return err
	}
	for round := range rounds {
		if err := found.round(ctx, binary, round, clusters, authority); err != nil {
			return err
		}
	}
	found.write(os.Stdout)
	return nil
}

func (w way) start(ctx context.Context, binary, dir string, authority *harness.Authority) (*harness.Cluster, error) {
	env := func(node string) []string {
		own := processors(node)
		if w.secure {
			own = append(own, "SERIATIM_TLS_CERT="+authority.File(node+".crt"), "SERIATIM_TLS_KEY="+authority.File(node+".key"))
		}
		return own
	}
	options := harness.Options{Binary: binary, Dir: dir, Nodes: nodes, Args: w.args, Env: env}
	if w.secure {
		// The authority makes the certificate of a node when its environment is asked for.
		for i := range nodes {
			if _, err := authority.Environment(fmt.Sprintf("n%d", i+1)); err != nil {
				return nil, err
			}
		}
	}
	return harness.Start(ctx, options)
}

// round measures every load on every way once. Each round begins with another way.
func (c *comparison) round(ctx context.Context, binary string, round int, clusters []reached, authority *harness.Authority) error {
	if c.measured == nil {
		c.measured = make([][][]measurement, len(c.loads))
	}
	for i, load := range c.loads {
		if c.measured[i] == nil {
			c.measured[i] = make([][]measurement, len(clusters))
		}
		for turn := range clusters {
			at := (turn + round) % len(clusters)
			r := clusters[at]
			client := clientOf{scheme: "http"}
			if r.way.secure {
				client.scheme, client.args = "https", []string{"--ca-file", authority.File("ca.crt")}
			}
			if !r.way.unsigned {
				client.env = []string{"AWS_ACCESS_KEY_ID=" + harness.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + harness.SecretAccessKey}
			}
			m, err := client.run(ctx, binary, r.cluster.Nodes, load.args)
			if err != nil {
				return fmt.Errorf("%s, %s: %w\n%s", load.name, r.way.name, err, r.cluster.LogTails())
			}
			if failed := total(m.report.Errors); failed > 0 {
				return fmt.Errorf("%s, %s: %d calls failed", load.name, r.way.name, failed)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d  %-26s %-34s %8.0f messages/s\n", round+1, c.rounds, load.name, r.way.name,
				m.report.MessagesPerSecond)
			c.measured[i][at] = append(c.measured[i][at], m)
		}
	}
	return nil
}

// comparison has the results.
type comparison struct {
	loads    []workload
	ways     []way
	rounds   int
	cost     time.Duration     // of verifying one signature
	measured [][][]measurement // by load and way
}

// share returns the rate of a way as a part of the first way's rate in the same round, as the
// median of all rounds.
func (c *comparison) share(load, way int) float64 {
	var shares []float64
	for round, m := range c.measured[load][way] {
		shares = append(shares, m.report.MessagesPerSecond/c.measured[load][0][round].report.MessagesPerSecond)
	}
	slices.Sort(shares)
	return median(shares)
}

// verification measures the verification of a signature with a cached signing key.
type verification struct{}

// Secret returns the same secret for every key.
func (verification) Secret(string) (string, bool, error) { return harness.SecretAccessKey, true, nil }

// cost is the time that verifying a send of 256 bytes takes.
func (v verification) cost() (time.Duration, error) {
	body := `{"QueueUrl":"` + queueURL("orders.fifo") + `","MessageGroupId":"group-1","MessageDeduplicationId":"id-1","MessageBody":"` +
		strings.Repeat("x", 256) + `"}`
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9324/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	signer := sigv4.Signer{KeyID: harness.AccessKeyID, Secret: harness.SecretAccessKey, Region: harness.Region, Service: "sqs",
		Now: time.Now}
	signer.Sign(r, body)
	verifier := sigv4.New(v, time.Now)
	var failed error
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, _, err := verifier.Verify(r, body); err != nil {
				failed = err
			}
		}
	})
	return time.Duration(result.NsPerOp()), failed
}

func (c *comparison) write(w io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("Verifying the signature of a send of 256 bytes took %.1f us on one processor (goal: less than 10 us).\n",
		float64(c.cost.Nanoseconds())/1e3)
	say("| Load | Way | Messages/s | Of the first | Goal | Reached | p50 ms | p99 ms | Servers' CPU, us a message |")
	say("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for i, load := range c.loads {
		for j, way := range c.ways {
			list := c.measured[i][j]
			goal, reached := "", ""
			if way.kept > 0 {
				goal, reached = fmt.Sprintf("at least %.0f %%", 100*way.kept), "no"
			}
			if way.kept > 0 && c.share(i, j) >= way.kept {
				reached = "yes"
			}
			say("| %s | %s | %s | %.1f %% | %s | %s | %s | %s | %s |", load.name, way.name, spread(of(list, rate), 0), 100*c.share(i, j),
				goal, reached,
				spread(of(list, func(m measurement) float64 { return m.report.Latency["send"].P50Us / 1e3 }), 2),
				spread(of(list, func(m measurement) float64 { return m.report.Latency["send"].P99Us / 1e3 }), 2),
				spread(of(list, func(m measurement) float64 { return m.processorMicros }), 1))
		}
	}
}
