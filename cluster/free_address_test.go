package cluster

import (
	"fmt"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/clustertest/freeport"
)

// freeAddress is a loopback address that no other test gets.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Take(1)
	clustertest.Must(t, err)
	return fmt.Sprintf("127.0.0.1:%d", port)
}
