package leader

import (
	"context"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// FirstKey supplies the first access key of a new cluster.
type FirstKey interface {
	// Make returns the key, drawn at random or given by the operator.
	Make() (AccessKey, error)
	// Publish shows the operator the cluster's key. It is called again, perhaps on another
	// node, if the leader fails before it has recorded the publication.
	Publish(key AccessKey)
}

// AccessKey is an access key of the account itself.
type AccessKey struct{ ID, Secret, Account string }

// Secrets seals and opens the secret of the first access key. Safe for concurrent use.
type Secrets interface {
	// Seal returns cmd with a sealed secret. It runs the commands that sealing needs with execute.
	Seal(ctx context.Context, cmd *access.CreateAccessKey, execute func(context.Context, queue.Command) error) (*access.CreateAccessKey,
		error)
	// Open returns the secret of an access key. It waits until this node can open it.
	Open(ctx context.Context, a access.Key) (string, error)
}

// openFirstMax bounds the wait for the secret of a first access key that an earlier leader made.
const openFirstMax = 10 * time.Second

// ensureFirstKey makes the first access key of a new cluster and publishes it. A cluster is new
// until a leader writes its first setting, which follows this step. If the leader fails in between,
// the next one publishes the same key again.
func (t *Term) ensureFirstKey(ctx context.Context) error {
	if t.options.FirstKey == nil {
		return nil
	}
	old, begun := t.firstKey()
	if begun {
		return nil
	}
	key := AccessKey{ID: old.ID, Secret: old.Secret, Account: old.User.Account}
	switch {
	case old.Sealed != "" && t.options.Secrets != nil:
		limited, cancel := context.WithTimeout(ctx, openFirstMax)
		defer cancel()
		secret, err := t.options.Secrets.Open(limited, old)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.options.Log.Error("a lost node made the first access key of the cluster, and no node can open it. "+
				"Make another with seriatim key create, then delete this one", "id", old.ID, "error", err)
			return nil
		}
		key.Secret = secret
	case key.ID == "":
		made, err := t.options.FirstKey.Make()
		if err != nil {
			return err
		}
		cmd := &access.CreateAccessKey{ID: made.ID, Secret: made.Secret, Account: made.Account}
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

// firstKey returns the access key that an earlier leader made, empty if none did. begun reports
// that the cluster is no longer new.
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
