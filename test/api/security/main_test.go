package security

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// shared is the cluster that all tests use. Set once, before the first test.
var shared struct {
	cluster *harness.Cluster
	binary  string
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "seriatim-security-")
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
	if shared.cluster, err = harness.Start(ctx,
		harness.Options{Binary: shared.binary, Dir: dir, Args: []string{"--auth", "--sns-allow-endpoints", "127.0.0.0/8"}}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.cluster.Close()
	return m.Run()
}
