package ops

import (
	"context"
	"net/http"

	"github.com/seriatimq/seriatim/cluster"
)

// upgrader is a node whose cluster can be upgraded; *cluster.Node is one.
type upgrader interface {
	Upgrade() cluster.Upgrade
	FinalizeUpgrade(ctx context.Context) (cluster.Upgrade, error)
}

var _ upgrader = (*cluster.Node)(nil)

func (a *Admin) serveUpgrades(node upgrader) {
	a.mux.HandleFunc("GET /v1/upgrade", func(w http.ResponseWriter, _ *http.Request) { a.answer(w, http.StatusOK, node.Upgrade()) })
	a.mux.HandleFunc("POST /v1/upgrade/finalize", func(w http.ResponseWriter, r *http.Request) {
		if !a.fromTool(w, r) {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
		defer cancel()
		upgrade, err := node.FinalizeUpgrade(ctx)
		if err != nil {
			a.failChange(w, err)
			return
		}
		a.answer(w, http.StatusOK, upgrade)
	})
}
