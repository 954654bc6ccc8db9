package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// parallelTests is the number of concurrent tests. Most of them wait for time to pass on the
// server, so there may be far more than cores.
const parallelTests = "24"

// shared is the cluster that all tests use, and the binary it was started
// from. Set once, before the first test.
var shared struct {
	cluster *harness.Cluster
	binary  string
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "seriatim-conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	if shared.binary, err = harness.Build(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if shared.cluster, err = harness.Start(ctx, harness.Options{
		Binary: shared.binary, Dir: dir, Args: []string{"--accept-kms-keys", "--sns-allow-endpoints=127.0.0.0/8"},
		// where tests have their subscribers
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.cluster.Close()
	code := m.Run()
	// Every test left its marks on the state: all replicas must agree on it.
	if _, err := shared.cluster.WaitConverged(ctx, harness.StartTimeout); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: after all tests:", err)
		code = 1
	}
	for _, err := range []error{checkWindows(), checkStatements()} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = 1
		}
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, shared.cluster.LogTails())
	}
	return code
}
