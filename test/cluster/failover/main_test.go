package failover

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "seriatim-failover-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = harness.Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// cluster starts three nodes with small log files, so that a folder of a test
// stays small.
func cluster(t *testing.T, args ...string) *harness.Cluster {
	t.Helper()
	return harness.New(t, harness.Options{Binary: binary, Args: append([]string{"--log-segment-size", "4MiB"}, args...)})
}
