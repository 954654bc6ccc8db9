package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// renewEvery is how often one of the nodes gets another certificate.
const renewEvery = 3 * time.Second

// authority makes the certificates of the nodes, nil if they speak clear text.
func (r Run) authority() (*harness.Authority, error) {
	if !r.TLS {
		return nil, nil
	}
	dir := filepath.Join(r.Dir, "certificates")
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("clear away an earlier run: %w", err)
	}
	return harness.NewAuthority(r.Binary, dir)
}

// renewCertificates gives the nodes other certificates, one node at a time, whatever happens to
// them meanwhile, until ctx ends. A node that cannot be reached by another one after that
// shows in the history, as after any fault.
func (s *stage) renewCertificates(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		node := s.cluster.Nodes[i%len(s.cluster.Nodes)].Name
		if err := s.place.Authority.Renew(node); err != nil {
			return err
		}
		s.observe("certificate renewed", node, 1)
	}
}
