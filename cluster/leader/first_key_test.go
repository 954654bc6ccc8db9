package leader

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// handedOver is a FirstKey that records calls.
type handedOver struct{ made, published []AccessKey }

func (h *handedOver) Make() (AccessKey, error) {
	key := AccessKey{ID: fmt.Sprintf("AKIAFIRSTKEY%04d", len(h.made)), Secret: fmt.Sprintf("secret-of-the-first-key-%d", len(h.made)),
		Account: "000000000000"}
	h.made = append(h.made, key)
	return key, nil
}

func (h *handedOver) Publish(key AccessKey) { h.published = append(h.published, key) }

// brokenGroup fails one proposal.
type brokenGroup struct {
	Group
	before  int  // number of proposals that succeed first
	entered bool // the failed entry enters the log nevertheless
}

func (g *brokenGroup) Propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	g.before--
	if g.before == -1 && !g.entered {
		return nil, fault.ErrNotLeader
	}
	wait, err := g.Group.Propose(entry)
	if g.before == -1 && err == nil {
		return func() (fsm.EntryResult, error) {
			_, _ = wait() // the caller gets no outcome
			return fsm.EntryResult{}, fault.ErrOutcomeUnknown
		}, nil
	}
	return wait, err
}

func keysOf(s *solo) (keys []AccessKey) {
	s.options.Replica.Read(func(v queue.View) {
		v.Access().Keys(func(k access.Key) bool {
			keys = append(keys, AccessKey{ID: k.ID, Secret: k.Secret, Account: k.User.Account})
			return true
		})
	})
	return keys
}

// Wherever a first leader fails, the cluster begins with one key, and every published key is that
// key.
func TestFirstKeyIsMadeOnce(t *testing.T) {
	for before := range 8 {
		for _, entered := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d entries, %v", before, entered), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					operator := &handedOver{}
					s := startSolo(t, func(o *Options) {
						o.FirstKey = operator
						o.Group = &brokenGroup{Group: o.Group, before: before, entered: entered}
					})
					keys := keysOf(s)
					if len(keys) != 1 || len(operator.published) == 0 {
						t.Fatalf("keys %+v, the operator knows %+v", keys, operator.published)
					}
					for _, shown := range operator.published {
						if shown != keys[0] {
							t.Errorf("the operator knows %+v, the cluster has %+v", shown, keys[0])
						}
					}
					published := len(operator.published)
					s.next()
					if again := keysOf(s); len(again) != 1 || again[0] != keys[0] || len(operator.published) != published {
						t.Errorf("the next leader leaves %+v, the operator knows %+v", again, operator.published)
					}
				})
			})
		}
	}
}

// A cluster that began without auth, or whose keys were all revoked, gets no first key.
func TestNoFirstKeyLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSolo(t)
		operator := &handedOver{}
		s.options.FirstKey = operator
		s.next()
		if keys := keysOf(s); len(keys) != 0 || len(operator.made) != 0 {
			t.Errorf("an old cluster has %+v", keys)
		}
		s.do(&access.CreateAccessKey{ID: "AKIASECONDKEY000", Secret: "secret-of-the-second", Account: "000000000000"})
		s.do(&access.DeleteAccessKey{ID: "AKIASECONDKEY000"})
		s.next()
		if keys := keysOf(s); len(keys) != 0 || len(operator.published) != 0 {
			t.Errorf("after the last key was revoked there are %+v", keys)
		}
	})
}
