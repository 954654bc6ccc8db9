package leader

import (
	"context"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// giveFirstKey gives a new cluster the access key that it begins with, and tells the
// operator. A cluster is new until it has its first setting, which a leader writes only
// after this. So one that fails on the way leaves a key, made once, that the next one finds
// and tells of; whatever the operator was told is the key of the cluster.
func (t *Term) giveFirstKey(ctx context.Context) error {
	if t.options.FirstKey == nil {
		return nil
	}
	key, begun := t.firstKey()
	if begun {
		return nil
	}
	if key.ID == "" {
		made, err := t.options.FirstKey.Make()
		if err != nil {
			return err
		}
		cmd := &queue.CreateAccessKey{ID: made.ID, Secret: made.Secret, Account: made.Account}
		if codec.MinimumVersion(cmd) > t.version.Load() {
			t.options.Log.Warn("the cluster begins without an access key: a node of an older version takes part; finalize the upgrade, then make one with seriatim key create")
			return nil
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
func (t *Term) firstKey() (key environment.AccessKey, begun bool) {
	t.options.Replica.Read(func(v queue.View) {
		begun = v.Setting(queue.SettingMinimumWindow) != ""
		v.Access().Keys(func(k access.Key) bool {
			key = environment.AccessKey{ID: k.ID, Secret: k.Secret, Account: k.User.Account}
			return false
		})
	})
	return key, begun
}
