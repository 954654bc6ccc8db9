package sealing

import (
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/limits"
)

// ErrCannotOpen: this node cannot open the secrets of access keys.
var ErrCannotOpen = errors.New("this node cannot open the secrets of access keys yet: it waits until another node sends the sealing key")

// Options configure a Keeper.
type Options struct {
	NodeID string
	Path   string              // of secrets.key
	Keys   *encryption.Keyring // nil: nothing is encrypted at rest
	Random io.Reader
	Write  func(do func() error) error // runs a write to the disk
}

// Keeper opens and seals secrets for one node. Safe for concurrent use.
type Keeper struct {
	random io.Reader
	own    *holder
	keys   *encryption.Keyring // nil: nothing is encrypted at rest

	changed wakeup.Broadcast // a key of this node or the state
	work    wakeup.Signal    // for Run
	drawing sync.Mutex

	mu     sync.RWMutex
	key    *Key                    // nil: not opened yet
	failed *access.SealingKey      // cannot be opened
	opened map[string]openedSecret // by sealed text
}

// openedSecret is a secret in clear.
type openedSecret struct{ id, secret string }

// Open reads or makes the private key of the node.
func Open(o Options) (*Keeper, error) {
	private, err := openFile(o.Path, o.Random, o.Write)
	if err != nil {
		return nil, err
	}
	return &Keeper{
		random: o.Random, own: newHolder(o.NodeID, private), keys: o.Keys,
		work: wakeup.NewSignal(), opened: map[string]openedSecret{},
	}, nil
}

// PublicKey returns the public key of this node.
func (k *Keeper) PublicKey() []byte { return []byte(k.own.public) }

// holders returns this node and the keys of its encryption key file, the active one first.
func (k *Keeper) holders() []*holder { return append([]*holder{k.own}, keyFileHolders(k.keys)...) }

// Changed notifies the Keeper of changes of the state, the leader, the members or the encryption
// key file.
func (k *Keeper) Changed() {
	k.changed.Notify()
	k.work.Notify()
}

// Secret returns the secret of an access key. s is the sealing key of its state.
func (k *Keeper) Secret(s *access.SealingKey, a access.Key) (string, error) {
	if a.Sealed == "" {
		return a.Secret, nil
	}
	k.mu.RLock()
	found := k.opened[a.Sealed]
	k.mu.RUnlock()
	if found.id == a.ID {
		return found.secret, nil
	}
	key, err := k.use(s)
	if err != nil {
		return "", err
	}
	secret, err := key.open(a.ID, a.Sealed)
	if err != nil {
		return "", fmt.Errorf("the secret of the access key %s: %w", a.ID, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.opened) >= limits.AccessKeysMax {
		clear(k.opened) // drops deleted keys; those in use return
	}
	k.opened[a.Sealed] = openedSecret{a.ID, secret}
	return secret, nil
}

// CanOpen reports whether this node can open what is sealed with a key.
func (k *Keeper) CanOpen(s *access.SealingKey) bool {
	_, err := k.use(s)
	return err == nil
}

// use returns the opened sealing key of the state.
func (k *Keeper) use(s *access.SealingKey) (*Key, error) {
	if s == nil {
		return nil, ErrCannotOpen
	}
	k.mu.RLock()
	key, failed := k.key, k.failed
	k.mu.RUnlock()
	switch {
	case key != nil && key.ID() == s.ID:
		return key, nil
	case failed == s:
		return nil, ErrCannotOpen
	}
	for _, h := range k.holders() {
		if key, err := openWrap(h, s); err == nil {
			k.store(key)
			return key, nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = s
	return nil, ErrCannotOpen
}

// openWrap opens a sealing key with one private key.
func openWrap(h *holder, s *access.SealingKey) (*Key, error) {
	wrapped, has := s.For(h.name, h.public)
	if !has {
		return nil, ErrCannotOpen
	}
	return h.unwrap(s.ID, wrapped)
}

// store keeps the opened sealing key.
func (k *Keeper) store(key *Key) {
	k.mu.Lock()
	k.key = key
	k.mu.Unlock()
	k.changed.Notify()
}

// WrapFor wraps the sealing key of the state for another node.
func (k *Keeper) WrapFor(s *access.SealingKey, nodeID string, publicKey []byte) (access.Wrap, error) {
	key, err := k.use(s)
	if err != nil {
		return access.Wrap{}, err
	}
	return key.wrap(nodeID, string(publicKey))
}

// OpenBackup opens the sealing key of a backup with the private keys of this node, or with file,
// the content of a secrets.key file, if it is not empty.
func (k *Keeper) OpenBackup(s *access.SealingKey, file string) (*Key, error) {
	if s == nil {
		return nil, errors.New("it has no sealing key")
	}
	for _, h := range k.holders() {
		if key, err := openWrap(h, s); err == nil {
			return key, nil
		}
	}
	if file == "" {
		return nil, errors.New("no private key of this node opens them")
	}
	private, err := parseFile([]byte(file))
	if err != nil {
		return nil, fmt.Errorf("the file given with --secrets-key is not the file %s of a node: %w", FileName, err)
	}
	return openAny(private, s)
}

// openAny opens a sealing key with a private key of an unknown holder.
func openAny(private hpke.PrivateKey, s *access.SealingKey) (*Key, error) {
	h := newHolder("", private)
	for _, w := range s.Wraps {
		if w.PublicKey == h.public {
			return h.unwrap(s.ID, w)
		}
	}
	return nil, errors.New("the file given with --secrets-key is of a node that was no member when the backup was made")
}
