package leader

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// Secrets seals and opens the secret of the first access key. Safe for concurrent use.
type Secrets interface {
	// Seal returns a command whose secret is sealed. execute executes the commands that this
	// needs.
	Seal(ctx context.Context, cmd *queue.CreateAccessKey, execute func(context.Context, queue.Command) error) (*queue.CreateAccessKey, error)
	// Open returns the secret of an access key, and waits until this node can open it.
	Open(ctx context.Context, a access.Key) (string, error)
}

// openFirstMax bounds a leader's wait until it can open the first access key that an
// earlier leader made.
const openFirstMax = 10 * time.Second

// giveFirstKey gives a new cluster the access key that it begins with, and tells the
// operator. A cluster is new until it has its first setting, which a leader writes only
// after this. So one that fails on the way leaves a key, made once, that the next one finds
// and tells of; whatever the operator was told is the key of the cluster.
func (t *Term) giveFirstKey(ctx context.Context) error {
	if t.options.FirstKey == nil {
		return nil
	}
	old, begun := t.firstKey()
	if begun {
		return nil
	}
	key := environment.AccessKey{ID: old.ID, Secret: old.Secret, Account: old.User.Account}
	switch {
	case old.Sealed != "" && t.options.Secrets != nil:
		limited, cancel := context.WithTimeout(ctx, openFirstMax)
		defer cancel()
		secret, err := t.options.Secrets.Open(limited, old)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.options.Log.Error("a lost node made the first access key of the cluster, and no node can open it. Make another with seriatim key create, then delete this one", "id", old.ID, "error", err)
			return nil
		}
		key.Secret = secret
	case key.ID == "":
		made, err := t.options.FirstKey.Make()
		if err != nil {
			return err
		}
		cmd := &queue.CreateAccessKey{ID: made.ID, Secret: made.Secret, Account: made.Account}
		if t.options.Secrets != nil {
			if cmd, err = t.options.Secrets.Seal(ctx, cmd, t.Execute); err != nil {
				return err
			}
		}
		if err := t.Execute(ctx, cmd); err != nil {
			return err
		}
		key = made
	}
	t.options.FirstKey.Publish(key)
	return nil
}

// firstKey is the access key that an earlier leader gave a new cluster, empty if none
// did. begun says that the cluster is not new any more.
func (t *Term) firstKey() (key access.Key, begun bool) {
	t.options.Replica.Read(func(v queue.View) {
		begun = v.Setting(queue.SettingMinimumWindow) != ""
		v.Access().Keys(func(k access.Key) bool {
			key = k
			return false
		})
	})
	return key, begun
}
