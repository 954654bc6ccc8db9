// Package peernettest opens networks between nodes on loopback addresses, for tests.
package peernettest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// Open opens the network of a node in cluster c. It dials through outside if that is set.
func Open(t *testing.T, nodeID string, outside environment.Network) (*peernet.Network, *peernet.AddressBook) {
	t.Helper()
	logger := clustertest.Logger(t, 0)
	book := peernet.OpenAddressBook(filepath.Join(t.TempDir(), "addresses"), logger)
	network, err := peernet.Listen(context.WithoutCancel(t.Context()), peernet.Options{
		NodeID: nodeID, ClusterID: func() string { return "c" }, Bind: "127.0.0.1:0", Timeout: 10 * time.Second, Network: outside,
		Logger:  logger,
		Formats: func() peernet.FormatRange { return peernet.NewFormatRange(1, 1) }, Outdated: func(err error) { t.Error(err) },
	}, book)
	if err != nil {
		t.Fatal(err)
	}
	network.AddGroup(0)
	network.Serve()
	network.Open()
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	return network, book
}

// Pair opens the networks of two nodes. The first can dial the second.
func Pair(t *testing.T, outside environment.Network) (a, b *peernet.Network) {
	t.Helper()
	a, book := Open(t, "a-1", outside)
	b, _ = Open(t, "b-2", nil)
	book.Note("b-2", b.BoundAddr(), 1)
	return a, b
}
