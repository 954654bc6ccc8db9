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

// finalize ends an upgrade.
func (a *Admin) finalize(w http.ResponseWriter, r *http.Request, node upgrader) {
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
}
