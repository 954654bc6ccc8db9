package discovery

import (
	"context"
	"slices"

	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// look contacts each address to join. An empty node that reached only some of them might join one
// of two clusters without knowing the other.
func (g *Gossip) look(ctx context.Context) {
	defer close(g.looked)
	unheard, pause := slices.Clone(g.options.Join), joinPauseMin
	for range LookTries {
		unheard = slices.DeleteFunc(unheard, func(address string) bool { return ctx.Err() != nil || g.Join(address) })
		if len(unheard) == 0 || g.options.Self().HasState {
			return
		}
		if !wakeup.Sleep(ctx, pause) {
			return
		}
		pause *= 2
	}
}

// Join makes a full exchange with the nodes at these addresses (host:port), and reports whether one
// of them answered.
func (g *Gossip) Join(addresses ...string) bool {
	_, err := g.list.Join(addresses)
	if err != nil {
		g.logger.Debug("no node to join could be reached", "addresses", addresses, "error", err)
	}
	return err == nil
}

// ClustersHeard returns the ids of all clusters seen since the start, and of those that live nodes
// are about to bootstrap.
func (g *Gossip) ClustersHeard() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	clusters := slices.Clone(g.clusters)
	for _, member := range g.members {
		if member.Alive && member.ClusterID != "" && !slices.Contains(clusters, member.ClusterID) {
			clusters = append(clusters, member.ClusterID)
		}
	}
	slices.Sort(clusters)
	return clusters
}
