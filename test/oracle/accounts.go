package oracle

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// administerAccount gives the model a command about accounts.
func (o *Oracle) administerAccount(cmd queue.Command) (err *reference.Error, known bool) {
	switch c := cmd.(type) {
	case *access.CreateAccount:
		return o.Model.CreateAccount(c.Account, quota(c.Quota)), true
	case *access.SetAccountQuota:
		return o.Model.SetAccountQuota(c.Account, quota(c.Quota)), true
	case *access.DeleteAccount:
		return o.Model.DeleteAccount(c.Account), true
	}
	return nil, false
}

func quota(q access.Quota) reference.Quota {
	return reference.Quota{Queues: q.Queues, Topics: q.Topics, Messages: q.Messages, Bytes: q.Bytes, Requests: q.RequestsPerSecond}
}

// CompareUsage compares the usage of an account, empty for the cluster's own, with the model's. It
// returns the difference, empty if there is none.
func (o *Oracle) CompareUsage(owner string, got access.Amount) *Difference {
	has := o.Model.Usage(owner)
	want := access.Amount{Queues: has.Queues, Topics: has.Topics, Messages: has.Messages, Bytes: has.Bytes}
	return field("I11", "what account "+owner+" has", got, want)
}
