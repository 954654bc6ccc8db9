package conformance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// parallelTests is the number of concurrent tests. It may exceed the number of cores by far,
// because most tests wait for the server's clock.
const parallelTests = "24"

// shared is the cluster of all tests, with its binary. It is set once, before the first test.
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
		// The subscribers of the tests have loopback addresses.
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.cluster.Close()
	code := m.Run()
	// After the changes of all tests, the replicas must agree.
	if _, err := shared.cluster.WaitConverged(ctx, harness.StartTimeout); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: after all tests:", err)
		code = 1
	}
	if err := checkWindows(); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		code = 1
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, shared.cluster.LogTails())
	}
	return code
}
