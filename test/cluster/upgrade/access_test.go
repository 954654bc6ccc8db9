package upgrade

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/test/kit/harness"
)

// recordedAccess describes the accounts, keys and policies of a cluster.
type recordedAccess struct {
	Accounts map[string]access.Quota `json:"accounts"` // the cluster's own is empty
	Keys     map[string]recordedKey  `json:"keys"`
	Policies map[string]string       `json:"policies"` // by account and user
	// Usage has the counts of the account tenant.
	Usage access.Amount `json:"usage"`
}

type recordedKey struct {
	Account, User, Secret string
	Inactive              bool
}

const (
	own         = "000000000000"
	tenant      = "222222222222"
	tenantQueue = tenant + "/orders.fifo" // the same name as one of the cluster's own
	readOnly    = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"*"}]}`
)

// fillAccess creates accounts, keys and policies, before the snapshot.
func fillAccess(t *testing.T, node *cluster.Node) {
	t.Helper()
	for _, cmd := range []queue.Command{
		&access.CreateAccessKey{ID: "AKIAGOLDENROOT000001", Secret: "a-golden-secret-of-the-root", Account: own},
		&access.CreateAccount{Account: tenant, Quota: access.Quota{Queues: 2, Messages: 2, RequestsPerSecond: 7}},
		&access.SetAccountQuota{Quota: access.Quota{Topics: 9}},
		&access.CreateAccessKey{ID: "AKIAGOLDENANNA000001", Secret: "a-golden-secret-of-anna", Account: tenant, User: "anna", Tenant: true},
		&access.PutUserPolicy{Account: tenant, User: "anna", Policy: readOnly, Tenant: true},
		&access.CreateAccount{Account: "333333333333"},
	} {
		submit[queue.Done](t, node, cmd)
	}
	submit[queue.QueueCreated](t, node,
		&queue.CreateQueue{Queue: tenantQueue, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	submit[queue.MessagesSent](t, node,
		&queue.SendMessages{Queue: tenantQueue, Entries: []queue.SendEntry{ordered("a", "1", "the tenant's")}})
}

// changeAccess changes them after the snapshot.
func changeAccess(t *testing.T, node *cluster.Node) {
	t.Helper()
	for _, cmd := range []queue.Command{
		&access.UpdateAccessKey{ID: "AKIAGOLDENANNA000001"},
		&access.CreateAccessKey{ID: "AKIAGOLDENPAUL000001", Secret: "a-golden-secret-of-paul", Account: own, User: "paul"},
		&access.PutUserPolicy{Account: own, User: "paul", Policy: readOnly},
		&access.DeleteAccount{Account: "333333333333"},
	} {
		submit[queue.Done](t, node, cmd)
	}
}

// lookAtAccess describes the accounts, keys and policies of the cluster.
func lookAtAccess(t *testing.T, node *cluster.Node, v queue.View) *recordedAccess {
	t.Helper()
	table := v.Access()
	r := &recordedAccess{Accounts: map[string]access.Quota{}, Keys: map[string]recordedKey{}, Policies: map[string]string{},
		Usage: v.Usage(tenant)}
	table.Accounts(func(a access.Account) bool {
		r.Accounts[a.ID] = a.Quota
		return true
	})
	table.Keys(func(k access.Key) bool {
		secret, err := node.Secret(k)
		harness.Check(t, err)
		r.Keys[k.ID] = recordedKey{k.User.Account, k.User.Name, secret, k.Inactive}
		return true
	})
	table.Policies(func(p access.Policy) bool {
		r.Policies[p.User.Account+" "+p.User.Name] = p.Text
		return true
	})
	return r
}

// recordedHere is the record that fillAccess and changeAccess produce. A directory without it
// proves nothing.
var recordedHere = &recordedAccess{
	Accounts: map[string]access.Quota{"": {Topics: 9}, tenant: {Queues: 2, Messages: 2, RequestsPerSecond: 7}},
	Keys: map[string]recordedKey{
		"AKIAGOLDENROOT000001": {own, "", "a-golden-secret-of-the-root", false},
		"AKIAGOLDENANNA000001": {tenant, "anna", "a-golden-secret-of-anna", true},
		"AKIAGOLDENPAUL000001": {own, "paul", "a-golden-secret-of-paul", false},
	},
	Policies: map[string]string{tenant + " anna": readOnly, own + " paul": readOnly},
	Usage:    access.Amount{Queues: 1, Messages: 1, Bytes: int64(len("the tenant's") + len("color") + len("String") + len("red"))},
}

// accessGoesOn checks that accounts, keys and policies work, and also the deduplication and the
// quota of the tenant.
func accessGoesOn(t *testing.T, node *cluster.Node, want *recordedAccess) {
	t.Helper()
	if diff := cmp.Diff(recordedHere, want); diff != "" {
		t.Errorf("accounts, keys and policies (-made +recorded):\n%s", diff)
	}
	send := func(id string) (queue.SentEntry, error) {
		reply, err := node.Submit(t.Context(), &queue.SendMessages{Queue: tenantQueue, Entries: []queue.SendEntry{ordered("a", id, id)}})
		if err != nil {
			return queue.SentEntry{}, err
		}
		return reply.Result.(queue.MessagesSent).Entries[0], nil
	}
	if again, err := send("1"); err != nil || !again.Duplicate {
		t.Errorf("a duplicate of the tenant was answered %+v, %v", again, err)
	}
	if sent, err := send("2"); err != nil || sent.Duplicate {
		t.Errorf("the second message of the tenant: %+v, %v", sent, err)
	}
	_, err := send("3")
	if refused, ok := errors.AsType[*queue.Error](err); !ok || refused.Code != refusal.OverLimit {
		t.Errorf("a message above the quota: %v", err)
	}
}
