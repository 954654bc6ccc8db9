package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/sealing"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// openSealing reads the private key of this node, or draws one.
func (p *process) openSealing() (err error) {
	p.sealing, err = sealing.Open(sealing.Options{
		NodeID: p.nodeID, Path: p.dir.File(sealing.FileName), Keys: p.cfg.Log.Encryption.Keys, Random: p.cfg.Random,
		Write: func(do func() error) error { return p.guard.Write("write down the private key of the node", do) },
	})
	if err != nil {
		return p.guard.FailRead(fmt.Errorf("opening the private key of the node: %w", err))
	}
	return nil
}

// noteAccess notifies the keeper of a change of the access table. Only the goroutine of the state
// machine calls it.
func (n *Node) noteAccess() {
	if now := n.replica.Access(); now != n.accessSeen {
		n.accessSeen = now
		n.process.sealing.Changed()
	}
}

// runSealing wraps the sealing key for all members.
func (n *Node) runSealing() {
	last := ""
	n.process.sealing.Run(n.stages.closing, sealingView{n}, func(err error) {
		if text := err.Error(); text != last {
			n.log.Warn("the sealing key of the cluster could not be updated, trying again", "error", err)
			last = text
		}
	})
}

// sealAsLeader notifies the keeper that this node leads.
func (n *Node) sealAsLeader(context.Context, *leader.Term) { n.process.sealing.Changed() }

// Secret returns the secret of an access key. The error is an ErrUnavailable if this node
// cannot open it yet.
func (n *Node) Secret(a access.Key) (string, error) {
	secret, err := n.process.sealing.Secret(n.replica.Access().SealingKey(), a)
	if err != nil {
		err = fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	return secret, err
}

// sealed returns a command in its form for the log: without a secret in clear.
func (n *Node) sealed(ctx context.Context, cmd queue.Command, timeout time.Duration) (queue.Command, error) {
	create, ok := cmd.(*access.CreateAccessKey)
	if !ok || create.Secret == "" {
		return cmd, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	view := sealingView{n}
	return n.process.sealing.Seal(ctx, view, create, view.Execute)
}

// clearSecret returns the reason to refuse a command with a secret in clear, empty for all others.
func (n *Node) clearSecret(frame []byte) string {
	cmd, err := codec.DecodeCommand(frame)
	create, ok := cmd.(*access.CreateAccessKey)
	if err != nil || !ok || create.Secret == "" {
		return ""
	}
	return "the secret of the access key is in clear"
}

// secrets returns the finding about the secrets of access keys, false if none is sealed.
func (n *Node) secrets() (health.Finding, bool) {
	key := n.replica.Access().SealingKey()
	switch {
	case key == nil:
		return health.Finding{}, false
	case n.process.sealing.CanOpen(key):
		return health.Found(health.Secrets, "", 0, "this node opens the secrets of access keys"), true
	default:
		return health.Found(health.Secrets, "", 2, "this node cannot open the secrets of access keys, and refuses requests that are "+
			"signed: no member gave it the sealing key"), true
	}
}

// sealingView is the cluster for the keeper of the sealing key.
type sealingView struct{ n *Node }

var _ sealing.Cluster = sealingView{}

// Access returns the access keys that this node knows.
func (v sealingView) Access() *access.Table { return v.n.replica.Access() }

// Leads reports whether this node leads.
func (v sealingView) Leads() bool { return v.n.leads() }

// Members returns the ids of the members.
func (v sealingView) Members() (voters, learners []string) {
	members := v.n.group.Members()
	return members.Voters, members.Learners
}

// Execute executes a command at the leader.
func (v sealingView) Execute(ctx context.Context, cmd queue.Command) error {
	_, err := v.n.Submit(ctx, cmd)
	return err
}

// PublicKeys asks the other members for their public keys.
func (v sealingView) PublicKeys(ctx context.Context) map[string][]byte {
	return v.n.members.PublicKeys(ctx)
}

// AskForWrap asks the other members, one after the other, to wrap the sealing key.
func (v sealingView) AskForWrap(ctx context.Context, id string, publicKey []byte) (access.Wrap, error) {
	return v.n.members.AskForWrap(ctx, id, publicKey)
}

// adoptAccessKeys makes the access keys of a backup those of this cluster: it wraps their sealing
// key for the members. It returns ErrSealed without the sealing key.
func (n *Node) adoptAccessKeys(ctx context.Context, backup *queue.Broker, options RestoreOptions) error {
	table := backup.View().Access()
	switch {
	case options.WithoutAccessKeys:
		backup.UseAccessKeys(n.replica.Access())
		return nil
	case table.KeyCount() == 0:
		backup.UseSealingKey(nil) // it seals nothing
		return nil
	}
	key, err := n.process.sealing.OpenBackup(table.SealingKey(), options.SecretsKey)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSealed, err)
	}
	limited, cancel := context.WithTimeout(ctx, n.cfg.Limits.Timeout)
	defer cancel()
	wrapped, err := n.process.sealing.Wrapped(limited, key, sealingView{n})
	if err != nil {
		return err
	}
	backup.UseSealingKey(wrapped)
	return nil
}

// firstSecret seals the first access key of a cluster for the leader, and opens it again.
type firstSecret struct{ view sealingView }

// Seal seals the secret of a command.
func (f firstSecret) Seal(ctx context.Context, cmd *access.CreateAccessKey,
	execute func(context.Context, queue.Command) error) (*access.CreateAccessKey, error) {
	return f.view.n.process.sealing.Seal(ctx, f.view, cmd, execute)
}

// Open opens the secret of an access key.
func (f firstSecret) Open(ctx context.Context, a access.Key) (string, error) {
	return f.view.n.process.sealing.AwaitSecret(ctx, f.view, a)
}
