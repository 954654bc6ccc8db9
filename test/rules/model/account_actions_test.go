package model

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

type (
	createAccount struct {
		id    string
		quota access.Quota
	}
	setQuota struct {
		id    string
		quota access.Quota
	}
	deleteAccount struct{ id string }
)

func (c createAccount) String() string { return fmt.Sprintf("create account %s %+v", c.id, c.quota) }

func (c setQuota) String() string      { return fmt.Sprintf("quota of account %q: %+v", c.id, c.quota) }
func (c deleteAccount) String() string { return "delete account " + c.id }

func (c createAccount) command(*world) queue.Command {
	return &access.CreateAccount{Account: c.id, Quota: c.quota}
}

func (c setQuota) command(*world) queue.Command {
	return &access.SetAccountQuota{Account: c.id, Quota: c.quota}
}

func (c deleteAccount) command(*world) queue.Command { return &access.DeleteAccount{Account: c.id} }
