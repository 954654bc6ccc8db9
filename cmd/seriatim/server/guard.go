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
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/service"
)

// names are the account and the region that the names of resources have.
func names(cfg Config) service.Names {
	return service.Names{Account: cfg.API.Account, Region: cfg.API.Region, AnyRegion: !cfg.API.CheckARNRegion}
}

// guard is who decides about the callers of the client port. The gate is the one that
// decides, or would if auth were on.
func (p program) guard(node *cluster.Node, api APIConfig) (*gate.Gate, sigv4.Authenticator, auth.Authorizer) {
	g := gate.New(node, time.Now)
	if !api.Auth {
		p.log.Warn("auth is off: every program that reaches the client port may use every queue")
		return g, sigv4.AcceptAll{}, nil
	}
	return g, g, g
}

// firstKey is the access key that a new cluster begins with; nil without auth.
func (p program) firstKey(cfg Config) (cluster.FirstKey, error) {
	if !cfg.API.Auth {
		return nil, nil
	}
	options := files.FirstKeyOptions{
		File: cfg.API.FirstKeyFile, Folder: cfg.Node.DataDir, Account: cfg.API.Account, Random: rand.Reader, Log: p.log,
	}
	// What else standard output may be ends up in a log.
	if isTerminal(p.out) {
		options.Terminal = p.out
	}
	key, err := files.OpenFirstKey(options)
	if err != nil {
		return nil, fmt.Errorf("first-key-file: %w", err)
	}
	return key, nil
}

// warnWithoutKeys tells the operator that nobody can use the cluster: one that began
// without auth has no access keys.
func (p program) warnWithoutKeys(ctx context.Context, node *cluster.Node) {
	if node.CatchUp(ctx) == nil && node.Access().KeyCount() == 0 {
		p.log.Error("auth is on and the cluster has no access key, so every request on the client port is refused; make one on the admin port with seriatim key create, or start with auth set to false")
	}
}
