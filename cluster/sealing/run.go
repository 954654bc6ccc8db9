package sealing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Cluster gives a Keeper access to the cluster. Safe for concurrent use.
type Cluster interface {
	// Access returns the access keys and users of the state.
	Access() *access.Table
	// Leads reports whether this node leads.
	Leads() bool
	// Members returns the ids of all voters and of all learners.
	Members() (voters, learners []string)
	// Execute executes a command. The error is a *queue.Error if a rule refuses it.
	Execute(ctx context.Context, cmd queue.Command) error
	// PublicKeys returns the public keys of the other members that answer.
	PublicKeys(ctx context.Context) map[string][]byte
	// AskForWrap asks another member to wrap the sealing key for this node.
	AskForWrap(ctx context.Context, id string, publicKey []byte) (access.Wrap, error)
}

// Pauses of Run after failures; each is longer than the one before.
const (
	retryPauseMin = time.Second
	retryPauseMax = time.Minute
)

// Run keeps the sealing key of the state as the members need it, until ctx ends. It works after
// each Changed, and again after a failure.
func (k *Keeper) Run(ctx context.Context, c Cluster, failed func(error)) {
	pause := retryPauseMin
	for {
		var again <-chan time.Time
		err := k.step(ctx, c)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = retryPauseMin
		default:
			failed(err)
			again = time.After(pause)
			pause = min(2*pause, retryPauseMax)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.work:
		case <-again:
		}
	}
}

// step does all current work.
func (k *Keeper) step(ctx context.Context, c Cluster) error {
	s, leads := c.Access().SealingKey(), c.Leads()
	if s == nil {
		return nil
	}
	key, err := k.use(s)
	if err != nil {
		if key, err = k.ask(ctx, c, s); err != nil {
			return err
		}
	}
	change := &access.SetSealingKey{ID: s.ID}
	if err := k.addMissing(change, key, s); err != nil {
		return err
	}
	if leads {
		k.dropUnused(change, c, s)
	}
	if len(change.Wraps)+len(change.Drop) > 0 {
		if err := c.Execute(ctx, change); err != nil {
			return fmt.Errorf("writing the holders of the sealing key: %w", err)
		}
	}
	return nil
}

// ask asks the other members to wrap the sealing key for this node.
func (k *Keeper) ask(ctx context.Context, c Cluster, s *access.SealingKey) (*Key, error) {
	wrapped, err := c.AskForWrap(ctx, s.ID, k.PublicKey())
	if err != nil {
		return nil, fmt.Errorf("asking for the sealing key: %w", err)
	}
	key, err := k.own.unwrap(s.ID, wrapped)
	if err != nil {
		return nil, fmt.Errorf("the sealing key from another member: %w", err)
	}
	k.store(key)
	return key, nil
}

// wanted returns the holders that this node maintains: itself, and the active key of its encryption
// key file.
func (k *Keeper) wanted() []*holder {
	all := k.holders()
	return all[:min(2, len(all))]
}

// addMissing adds the missing wraps for this node and the active key of its encryption key file.
func (k *Keeper) addMissing(change *access.SetSealingKey, key *Key, s *access.SealingKey) error {
	for _, h := range k.wanted() {
		if _, err := openWrap(h, s); err == nil {
			continue
		}
		wrapped, err := key.wrap(h.name, h.public)
		if err != nil {
			return err
		}
		change.Wraps = append(change.Wraps, wrapped)
		if _, broken := s.For(h.name, h.public); broken {
			change.Drop = append(change.Drop, h.name)
		}
	}
	return nil
}

// dropUnused drops holders that are no longer members, and keys that left the encryption key file.
func (k *Keeper) dropUnused(change *access.SetSealingKey, c Cluster, s *access.SealingKey) {
	voters, learners := c.Members()
	own := k.holders()
	for _, w := range s.Wraps {
		used := slices.Contains(voters, w.Holder) || slices.Contains(learners, w.Holder) ||
			slices.ContainsFunc(own, func(h *holder) bool { return h.name == w.Holder })
		if strings.HasPrefix(w.Holder, keyFileHolder) {
			used = used || k.keys == nil
		}
		if !used {
			change.Drop = append(change.Drop, w.Holder)
		}
	}
}

func alreadyExists(err error) bool {
	var refused *queue.Error
	return errors.As(err, &refused) && refused.Code == refusal.EntityAlreadyExists
}

// mayDraw reports whether the cluster needs a new sealing key: it has none, or one that this node
// cannot open and that sealed nothing.
func (k *Keeper) mayDraw(table *access.Table) bool {
	s := table.SealingKey()
	return s == nil || table.KeyCount() == 0 && !k.CanOpen(s)
}

// drawBudget bounds the time that draw waits for public keys.
const drawBudget = 5 * time.Second

// draw creates a new sealing key for the cluster, unless another node did.
func (k *Keeper) draw(ctx context.Context, c Cluster, execute func(context.Context, queue.Command) error) error {
	k.drawing.Lock()
	defer k.drawing.Unlock()
	table := c.Access()
	if !k.mayDraw(table) {
		return nil
	}
	replaces := ""
	if s := table.SealingKey(); s != nil {
		replaces = s.ID
	}
	key, err := drawKey(k.random)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, drawBudget)
	defer cancel()
	s, err := k.Wrapped(limited, key, c)
	if err != nil {
		return err
	}
	err = execute(ctx, &access.SetSealingKey{ID: s.ID, Replaces: replaces, Wraps: s.Wraps})
	if alreadyExists(err) {
		return nil
	}
	return err
}

// askAgainPause separates the questions of Wrapped.
const askAgainPause = 100 * time.Millisecond

// Wrapped wraps a sealing key for this node and the members that answer. It asks until they are a
// majority of the voters, because the sealing key must survive the loss of a minority.
func (k *Keeper) Wrapped(ctx context.Context, key *Key, c Cluster) (*access.SealingKey, error) {
	for {
		s, err := k.wrapped(ctx, key, c)
		if !errors.Is(err, fault.ErrUnavailable) || !wakeup.Sleep(ctx, askAgainPause) {
			return s, err
		}
	}
}

func (k *Keeper) wrapped(ctx context.Context, key *Key, c Cluster) (*access.SealingKey, error) {
	public := map[string]string{}
	for id, bytes := range c.PublicKeys(ctx) {
		public[id] = string(bytes)
	}
	for _, h := range k.wanted() {
		public[h.name] = h.public
	}
	voters, _ := c.Members()
	with := 0
	for _, id := range voters {
		if public[id] != "" {
			with++
		}
	}
	if 2*with <= len(voters) {
		return nil, fmt.Errorf("%w: only %d of %d voters sent their public keys", fault.ErrUnavailable, with, len(voters))
	}
	s := &access.SealingKey{ID: key.ID()}
	for holder, bytes := range public {
		wrapped, err := key.wrap(holder, bytes)
		if err != nil {
			return nil, err
		}
		s = s.With([]access.Wrap{wrapped}, nil)
	}
	return s, nil
}

// Seal returns the command with a sealed secret. It waits until this node has the sealing key, and
// draws one if the cluster has none; execute executes commands.
func (k *Keeper) Seal(
	ctx context.Context, c Cluster, cmd *access.CreateAccessKey, execute func(context.Context, queue.Command) error,
) (*access.CreateAccessKey, error) {
	for {
		changed := k.changed.Changed() // first, to miss no change
		if k.mayDraw(c.Access()) {
			if err := k.draw(ctx, c, execute); err != nil {
				return nil, fmt.Errorf("%w: drawing the sealing key: %w", fault.ErrUnavailable, err)
			}
		}
		if key, err := k.use(c.Access().SealingKey()); err == nil {
			sealed := *cmd
			sealed.Secret, sealed.Sealed = "", key.seal(cmd.ID, cmd.Secret)
			return &sealed, nil
		}
		if err := k.await(ctx, changed); err != nil {
			return nil, err
		}
	}
}

// AwaitSecret returns the secret of an access key, and waits until this node can open it.
func (k *Keeper) AwaitSecret(ctx context.Context, c Cluster, a access.Key) (string, error) {
	for {
		changed := k.changed.Changed()
		secret, err := k.Secret(c.Access().SealingKey(), a)
		if !errors.Is(err, ErrCannotOpen) {
			return secret, err
		}
		if err := k.await(ctx, changed); err != nil {
			return "", err
		}
	}
}

func (k *Keeper) await(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", fault.ErrUnavailable, ErrCannotOpen)
	}
}
