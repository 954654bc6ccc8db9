package unauthenticated

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) {
	if ports := os.Getenv(elsewhere); ports != "" {
		os.Exit(tryElsewhere(ports))
	}
	if flood := os.Getenv(flooding); flood != "" {
		os.Exit(floodElsewhere(flood))
	}
	os.Exit(harness.WithBinary(&binary, m.Run))
}

// idleTimeout bounds every wait on a slow, shared machine.
const idleTimeout = 90 * time.Second

// The bounds of the nodes, small enough to be reached.
const (
	connectionsMax = 150
	perAddress     = 100
	streamsMax     = 300
)

// start starts a cluster whose third node has TLS on its client port.
func start(t *testing.T) *harness.Cluster {
	t.Helper()
	authority, err := harness.NewAuthority(binary, t.TempDir()+"/certs")
	harness.Must(t, err)
	harness.Must(t, harness.Err(authority.Environment("n3")))
	return harness.New(t, harness.Options{
		Binary: binary,
		Args: []string{
			"--log-segment-size", "4MiB", "--max-connections", strconv.Itoa(connectionsMax),
			"--max-connections-per-address", strconv.Itoa(perAddress), "--max-streams", strconv.Itoa(streamsMax),
		},
		Env: func(node string) []string {
			if node != "n3" {
				return nil
			}
			return []string{"SERIATIM_TLS_CERT=" + authority.File("n3.crt"), "SERIATIM_TLS_KEY=" + authority.File("n3.key")}
		},
	})
}

// measured returns the value of a series in a node's metrics.
func measured(t *testing.T, n *harness.Node, series string) float64 {
	t.Helper()
	metrics, err := n.Metrics(t.Context())
	harness.Must(t, err)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(metrics)
	if found == nil {
		t.Fatalf("%s has no series %s", n.Name, series)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	harness.Must(t, err)
	return value
}

// refused returns the number of connections to a port that a node refused for a reason.
func refused(t *testing.T, n *harness.Node, port, reason string) float64 {
	t.Helper()
	return measured(t, n, `seriatim_`+port+`_connections_refused_total{reason="`+reason+`"}`)
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(idleTimeout); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}
