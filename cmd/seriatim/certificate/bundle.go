package certificate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// files maps the file names of one part of a bundle to their contents.
type files map[string][]byte

// store keeps the parts of a bundle: as folders, or as secrets of Kubernetes.
type store interface {
	// read returns a part, nil if it does not exist.
	read(ctx context.Context, part string) (files, error)
	// write stores a new part, or replaces the part that read returned.
	write(ctx context.Context, part string, content files) error
}

// bundle creates the missing parts for a cluster.
type bundle struct {
	store               store
	hosts               []string
	valid               time.Duration
	now                 time.Time
	out                 io.Writer
	withoutCertificates bool // another program makes authority and nodes
}

func bundleCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "bundle", Short: "Make all certificates, keys and tokens of a cluster, and renew the certificate of the nodes",
		Args: arguments.None,
		Long: "Make all certificates, keys and tokens of a cluster that are not there yet, in these folders below --dir:\n\n" +
			"  authority  ca.crt, ca.key: only this command needs the key\n" +
			"  nodes      ca.crt, tls.crt, tls.key: one certificate for all nodes, for each of their ports\n" +
			"  gossip     gossip.key\n" +
			"  admin      admin-tokens for the servers; admin.token, backup.token, pods.token, prometheus.token for their callers\n" +
			"  first-key  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: the access key that the cluster begins with\n\n" +
			"The command keeps the parts that exist, so you can run it again. It issues a new certificate when a third of the\n" +
			"time is left, or when the certificate lacks a name of --host. Servers reload the replaced files by themselves.\n\n" +
			"With --kubernetes NAME, in a pod, the folders are the secrets NAME-authority, NAME-nodes and so on in its namespace.",
		Example: "  seriatim cert bundle --dir secrets --host n1 --host n2 --host n3",
	}
	f := c.Flags()
	dir := directory(c)
	name := f.String("kubernetes", "", "write secrets whose names begin with this, instead of folders")
	hosts := f.StringArray("host", nil,
		"a name or address of the nodes, such as *.example.org or 10.0.0.1, may be repeated; loopback is always included")
	valid := lasting(c, leafValid, "how long the certificate of the nodes is valid")
	without := f.Bool("without-certificates", false, "do not make authority and nodes, because for example cert-manager does")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(lasts(*valid), fitting(*hosts)); err != nil {
			return err
		}
		b := bundle{
			store: folders(*dir), hosts: append([]string{"localhost", "127.0.0.1", "::1"}, *hosts...), valid: *valid,
			now: time.Now(), out: cmd.OutOrStdout(), withoutCertificates: *without,
		}
		if *name != "" {
			secrets, err := inPod(*name)
			if err != nil {
				return exit.New(exit.Usage, err,
					"--kubernetes works only in a pod with a service account; elsewhere use --dir and kubectl create secret")
			}
			b.store = secrets
		}
		return b.complete(cmd.Context())
	}
	return c
}

// complete makes the parts that are missing and renews the certificate.
func (b bundle) complete(ctx context.Context) error {
	if !b.withoutCertificates {
		if err := b.certificates(ctx); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		name string
		make func() (files, error)
	}{{"gossip", gossipPart}, {"admin", adminPart}, {"first-key", firstKeyPart}} {
		there, err := b.store.read(ctx, part.name)
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		if there != nil {
			if err := b.say("%s: kept", part.name); err != nil {
				return err
			}
			continue
		}
		content, err := part.make()
		if err != nil {
			return err
		}
		if err := b.put(ctx, part.name, content, "made"); err != nil {
			return err
		}
	}
	return nil
}

func (b bundle) put(ctx context.Context, part string, content files, how string) error {
	if err := b.store.write(ctx, part, content); err != nil {
		return fmt.Errorf("%s: %w", part, err)
	}
	return b.say("%s: %s", part, how)
}

func (b bundle) say(format string, args ...any) error {
	_, err := fmt.Fprintf(b.out, format+"\n", args...)
	return err
}

// certificates creates the authority and creates or renews the certificate of the nodes.
func (b bundle) certificates(ctx context.Context) error {
	nodes, err := b.store.read(ctx, "nodes")
	if err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	if end, good := b.good(nodes); good {
		return b.say("nodes: kept, valid until %s", end.UTC().Format(time.RFC3339))
	}
	kept, err := b.store.read(ctx, "authority")
	if err != nil {
		return fmt.Errorf("authority: %w", err)
	}
	var authority *pair
	switch {
	case kept != nil:
		authority, err = decode(kept["ca.crt"], kept["ca.key"])
	case nodes != nil:
		// Nodes with certificates of two authorities refuse each other.
		return exit.New(exit.Conflict, errors.New("the certificate of the nodes must be renewed, and its authority is not there"),
			"bring the authority back, or stop all nodes, remove the certificate and run this again")
	default:
		authority, err = b.newAuthority(ctx)
	}
	if err != nil {
		return fmt.Errorf("authority: %w", err)
	}
	// All nodes share one certificate, which serves all their ports.
	issued, err := newCertificate(authority, order{name: nodecert.AnyNode, role: roleNode, hosts: b.hosts, now: b.now, valid: b.valid})
	if err != nil {
		return err
	}
	chain, key, err := issued.encode()
	if err != nil {
		return err
	}
	root, _, err := authority.encode()
	if err != nil {
		return err
	}
	return b.put(ctx, "nodes", files{"ca.crt": root, "tls.crt": chain, "tls.key": key},
		"issued, valid until "+issued.certificate.NotAfter.UTC().Format(time.RFC3339))
}

func (b bundle) newAuthority(ctx context.Context) (*pair, error) {
	made, err := newAuthority("seriatim", b.now, authorityValid)
	if err != nil {
		return nil, err
	}
	chain, key, err := made.encode()
	if err != nil {
		return nil, err
	}
	return made, b.put(ctx, "authority", files{"ca.crt": chain, "ca.key": key}, "made")
}

// good returns when the nodes' certificate expires, and whether it needs no renewal yet.
func (b bundle) good(nodes files) (time.Time, bool) {
	leaf, err := decode(nodes["tls.crt"], nodes["tls.key"])
	if err != nil || !leaf.fits() || !nodecert.Marked(leaf.certificate) {
		return time.Time{}, false
	}
	end := leaf.certificate.NotAfter
	if b.now.Add(end.Sub(leaf.certificate.NotBefore) / 3).After(end) {
		return end, false
	}
	for _, host := range b.hosts {
		// A host such as *.example.org needs the same wildcard in the certificate.
		if leaf.certificate.VerifyHostname(strings.Replace(host, "*", "any", 1)) != nil {
			return end, false
		}
	}
	return end, true
}
