package route

import (
	"context"
	"errors"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
)

// withBodies returns an outcome with the bodies that it refers to. It waits for a body that is
// being healed. An unreadable body is an error, because an empty answer would be wrong.
func (rt *Router) withBodies(ctx context.Context, r *request, o leader.Outcome) (leader.Outcome, error) {
	for {
		response, err := rt.node.ReadBodies(o.Response)
		if err == nil {
			o.Response = response
			return o, nil
		}
		var healed *bodies.BeingHealed
		if !errors.As(err, &healed) {
			return leader.Outcome{}, err
		}
		select {
		case <-healed.Done():
			if healed.Outcome() != nil {
				return leader.Outcome{}, err
			}
		case <-ctx.Done():
			return leader.Outcome{}, err
		case <-r.over:
			return leader.Outcome{}, err
		}
	}
}
