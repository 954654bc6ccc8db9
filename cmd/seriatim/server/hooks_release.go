//go:build !faults

package server

import (
	"context"
	"net/http"

	"github.com/seriatimq/seriatim/cluster"
)

// hooks does nothing in this build, see hooks_faults.go.
type hooks struct{}

// hookVariables are the environment variables that the hooks read.
var hookVariables []string

func newHooks() (hooks, error) { return hooks{}, nil }

func (hooks) node(ctx context.Context, _ *cluster.Config) context.Context { return ctx }

func (hooks) clients(handler http.Handler) http.Handler { return handler }

func (hooks) operators(handler http.Handler, _ *cluster.Node) http.Handler { return handler }
