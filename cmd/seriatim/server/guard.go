package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/files"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/gate"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/service"
)

// names returns account and region for the ARNs of resources.
func names(cfg Config) service.Names {
	return service.Names{Account: cfg.API.Account, Region: cfg.API.Region, AnyRegion: !cfg.API.CheckARNRegion}
}

// access holds the verifiers and the authorizer for the client port. Without auth they accept
// everything, and only simulations use the gate.
type access struct {
	gate       *gate.Gate
	signatures sigv4.Authenticator
	tokens     sas.Authenticator
	authorizer auth.Authorizer
}

func (p program) access(node *cluster.Node, api APIConfig) access {
	g := gate.New(node, time.Now)
	if !api.Auth {
		p.log.Warn("auth is off: every program that reaches the client port may use every queue")
		return access{g, sigv4.AcceptAll{}, sas.AcceptAll{}, nil}
	}
	return access{g, g, g, g}
}

// firstKey returns the source of the first access key of a new cluster, nil without auth.
func (p program) firstKey(cfg Config) (cluster.FirstKey, error) {
	if !cfg.API.Auth {
		return nil, nil
	}
	options := files.FirstKeyOptions{
		File: cfg.API.FirstKeyFile, Folder: cfg.Node.DataDir, Account: cfg.API.Account, Random: rand.Reader, Log: p.log,
	}
	// Anything but a terminal may end up in a log.
	if isTerminal(p.out) {
		options.Terminal = p.out
	}
	key, err := files.OpenFirstKey(options)
	if err != nil {
		return nil, fmt.Errorf("first-key-file: %w", err)
	}
	return key, nil
}

// warnWithoutKeys logs an error if the cluster has no access key. A cluster that began without
// auth has none.
func (p program) warnWithoutKeys(ctx context.Context, node *cluster.Node) {
	if node.CatchUp(ctx) == nil && node.Access().KeyCount() == 0 {
		p.log.Error("auth is on and the cluster has no access key, so the client port refuses every request. Make a key with " +
			"seriatim key create, or set auth to false")
	}
}
