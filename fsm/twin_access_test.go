package fsm

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// accessCommands generates commands about access keys and policies. Their own random source keeps
// the other commands unchanged.
type accessCommands struct{ random *rand.Rand }

func newAccessCommands() accessCommands { return accessCommands{rand.New(rand.NewPCG(1, 2))} }

// command changes an access key or a user's policy.
func (c accessCommands) command() queue.Command {
	const account = "000000000000"
	key := fmt.Sprint("AKIAEXAMPLE00000000", c.random.IntN(3))
	user := fmt.Sprint("user", c.random.IntN(2))
	const sealer, other = "00112233445566aa", "00112233445566bb"
	sealed := func(by string) string {
		id, _ := hex.DecodeString(by) // a constant
		return string(id) + strings.Repeat("x", access.SealedBytesMin) + user
	}
	switch c.random.IntN(8) {
	case 0:
		return &access.CreateAccessKey{ID: key, Secret: "an-example-and-no-secret", Account: account, User: user}
	case 1:
		return &access.UpdateAccessKey{ID: key, Active: c.random.IntN(2) == 0}
	case 2:
		policies := []string{"", `{"Statement":[]}`, `{"Id":"2","Statement":[]}`}
		return &access.PutUserPolicy{Account: account, User: user, Policy: policies[c.random.IntN(len(policies))]}
	case 3:
		return &access.CreateAccessKey{ID: key, Sealed: sealed([]string{sealer, other}[c.random.IntN(2)]), Account: account, User: user}
	case 4, 5:
		cmd := &access.SetSealingKey{ID: []string{sealer, sealer, other}[c.random.IntN(3)],
			Replaces: []string{"", sealer, other}[c.random.IntN(3)]}
		for range 1 + c.random.IntN(2) {
			node := fmt.Sprint("n", c.random.IntN(4))
			cmd.Wraps = append(cmd.Wraps, access.Wrap{Holder: node, PublicKey: fmt.Sprint(c.random.IntN(2)), Text: "wrapped for " + node})
		}
		cmd.Drop = []string{fmt.Sprint("n", c.random.IntN(4))}
		return cmd
	}
	return &access.DeleteAccessKey{ID: key}
}
