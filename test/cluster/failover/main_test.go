package failover

import (
	"os"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// binary is the server under test. Set once, before the first test.
var binary string

func TestMain(m *testing.M) { os.Exit(harness.WithBinary(&binary, m.Run)) }

// cluster starts three nodes with small log files, to save space.
func cluster(t *testing.T, args ...string) *harness.Cluster {
	t.Helper()
	return harness.New(t, harness.Options{Binary: binary, Args: append([]string{"--log-segment-size", "4MiB"}, args...)})
}
