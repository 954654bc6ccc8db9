package fsm

import (
	"fmt"
	"math/rand/v2"

	"github.com/seriatimq/seriatim/queue"
)

// accessCommands makes random commands about who may use the cluster. They draw from a
// source of their own, so that they change nothing about the other commands.
type accessCommands struct{ random *rand.Rand }

func newAccessCommands() accessCommands { return accessCommands{rand.New(rand.NewPCG(1, 2))} }

// command changes an access key or the policy of a user.
func (c accessCommands) command() queue.Command {
	const account = "000000000000"
	key := fmt.Sprint("AKIAEXAMPLE00000000", c.random.IntN(3))
	user := fmt.Sprint("user", c.random.IntN(2))
	switch c.random.IntN(4) {
	case 0:
		return &queue.CreateAccessKey{ID: key, Secret: "an-example-and-no-secret", Account: account, User: user}
	case 1:
		return &queue.UpdateAccessKey{ID: key, Active: c.random.IntN(2) == 0}
	case 2:
		policies := []string{"", `{"Statement":[]}`, `{"Id":"2","Statement":[]}`}
		return &queue.PutUserPolicy{Account: account, User: user, Policy: policies[c.random.IntN(len(policies))]}
	}
	return &queue.DeleteAccessKey{ID: key}
}
