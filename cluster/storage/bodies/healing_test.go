package bodies

import (
	"errors"
	"os"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// harm damages the record of a body.
func (n *node) harm(body message.Body) {
	n.t.Helper()
	file, err := os.OpenFile(n.store.path(body.Place().Segment), os.O_RDWR, 0)
	if err == nil {
		_, err = file.WriteAt([]byte("spoilt"), int64(body.Place().Offset)+50)
	}
	clustertest.Must(n.t, errors.Join(err, file.Close()))
}

// beingHealed returns the error of reading a damaged body.
func (n *node) beingHealed(body message.Body) *BeingHealed {
	n.t.Helper()
	_, err := n.store.Read(body)
	var healed *BeingHealed
	if !errors.As(err, &healed) {
		n.t.Fatalf("a damaged body was read: %v", err)
	}
	return healed
}

// withDamage returns three bodies in a complete segment, the second one damaged.
func withDamage(t *testing.T) (n *node, sent []message.Body, notified *int) {
	n = newNode(t)
	sent = []message.Body{n.send(1, 1000), n.send(2, 1000), n.send(3, 1000)}
	n.send(4, 80_000)
	n.snapshot()
	notified = new(int)
	n.store.HealWith(func() { *notified++ })
	n.harm(sent[1])
	return n, sent, notified
}

func TestHealedBodiesAreReadAgain(t *testing.T) {
	n, sent, notified := withDamage(t)
	first, second := n.beingHealed(sent[1]), n.beingHealed(sent[1])
	if first != second || *notified != 1 {
		t.Errorf("two readers wait for %p and %p, %d times it was said", first, second, *notified)
	}
	if found := n.store.Check(sent); len(found) != 1 || found[0].Place() != sent[1].Place() {
		t.Errorf("%v are damaged", found)
	}
	if _, sound := n.store.Sound(sent[1]); sound {
		t.Error("it passes for sound")
	}
	if err := n.store.Heal(sent[1], text(2, 999)); err == nil {
		t.Error("a shorter text was taken")
	}
	clustertest.Must(t, n.store.Heal(sent[1], text(2, 1000)))
	<-first.Done()
	if first.Outcome() != nil {
		t.Error(first.Outcome())
	}
	for i, body := range sent {
		n.reads(i+1, body)
	}
	clustertest.Must(t, n.restart(sent...))
	n.reads(2, sent[1])
	if len(n.fatal) > 0 {
		t.Errorf("the node ended: %v", n.fatal)
	}
}

func TestDamageThatNobodyNeedsIsForgotten(t *testing.T) {
	n, sent, _ := withDamage(t)
	waiting := n.beingHealed(sent[1])
	for _, body := range sent {
		n.state.Free(body)
	}
	before := n.store.Stats()
	clustertest.Must(t, n.store.Heal(sent[1], text(2, 1000)))
	<-waiting.Done()
	if !errors.Is(waiting.Outcome(), ErrGone) || n.store.Stats().Healed != before.Healed {
		t.Errorf("%v, %+v", waiting.Outcome(), n.store.Stats())
	}
	if _, err := n.store.Read(sent[1]); !errors.Is(err, ErrGone) {
		t.Errorf("reading it: %v", err)
	}
	if found := n.store.Check(sent); len(found) > 0 {
		t.Errorf("%v are damaged", found)
	}
}

func TestAnUnhealedBodyEndsTheNode(t *testing.T) {
	n, sent, _ := withDamage(t)
	waiting := n.beingHealed(sent[1])
	n.store.GiveUp(sent[1], errors.New("nobody has it"))
	<-waiting.Done()
	if waiting.Outcome() == nil || len(n.fatal) != 1 {
		t.Errorf("%v, exits %v", waiting.Outcome(), n.fatal)
	}
}

// Unwritten bodies do not count as damaged.
func TestUnwrittenBodiesAreNotChecked(t *testing.T) {
	n := newNode(t)
	n.store.HealWith(func() {})
	body := n.send(1, 1000)
	if found := n.store.Check([]message.Body{body}); len(found) > 0 || n.store.Stats().Checked > 0 {
		t.Errorf("%v are damaged, %+v", found, n.store.Stats())
	}
	n.snapshot()
	if found := n.store.Check([]message.Body{body}); len(found) > 0 || n.store.Stats().Checked == 0 {
		t.Errorf("%v are damaged, %+v", found, n.store.Stats())
	}
}
