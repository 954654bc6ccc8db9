package certificate

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	day            = 24 * time.Hour
	authorityValid = 3650 * day
	leafValid      = 365 * day

	gossipKeyName  = "gossip.key"
	gossipKeyBytes = 32
)

// Command is the group cert.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: "cert", Short: "Make an authority, certificates and tokens for a cluster",
		Long: "Make an authority and certificates for a cluster: for development, tests and small installations. Each node gets a\n" +
			"certificate of its own, and all trust the authority; its key is needed to make certificates only.",
		RunE: arguments.Group,
	}
	for _, one := range []*cobra.Command{authorityCommand(), issueCommand(), tokenCommand(), bundleCommand()} {
		one.RunE = coded(one.RunE)
		c.AddCommand(one)
	}
	return c
}

// coded gives what goes wrong while a command runs its exit code: without one it would look
// like a wrong flag.
func coded(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if errors.Is(err, context.DeadlineExceeded) { // the flag --timeout, of which Wrap speaks, is not one of these commands
			err = exit.New(exit.Timeout, err, "")
		}
		return exit.Wrap(err)
	}
}

// directory is the flag that both commands have.
func directory(c *cobra.Command) *string {
	return c.Flags().String("dir", "certs", "directory of the authority and of what it issued")
}

// lasting is the flag that says how long something is valid.
func lasting(c *cobra.Command, usual time.Duration, usage string) *time.Duration {
	return c.Flags().Duration("valid", usual, usage)
}

// lasts refuses a time that is over when it begins.
func lasts(valid time.Duration) error {
	if valid <= 0 {
		return exit.New(exit.Usage, fmt.Errorf("--valid %v: it must be above zero", valid), "write it like 8760h, which is a year")
	}
	return nil
}

// fitting refuses hosts that are neither names nor addresses: with a port, a scheme, or a comma
// between two they would fit nobody.
func fitting(hosts []string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*"
	for _, host := range hosts {
		if net.ParseIP(host) == nil && (host == "" || strings.Trim(host, letters) != "") {
			return exit.New(exit.Usage, fmt.Errorf("--host %q is neither a name nor an address", host), "write it like n1.example.org or 10.0.0.1, and each with a --host of its own")
		}
	}
	return nil
}

func authorityCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ca", Short: "Make an authority and a gossip key", Args: arguments.None,
		Long: "Make an authority and a gossip key: ca.crt, ca.key and gossip.key. Nodes need ca.crt and gossip.key; keep ca.key\n" +
			"where certificates are made. Files that exist are not overwritten.",
		Example: "  seriatim cert ca --dir certs",
	}
	dir := directory(c)
	name := c.Flags().String("name", "seriatim", "name of the authority")
	valid := lasting(c, authorityValid, "how long it is valid")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := lasts(*valid); err != nil {
			return err
		}
		authority, err := newAuthority(*name, time.Now(), *valid)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(*dir, 0o700); err != nil {
			return err
		}
		if err := writeGossipKey(*dir); err != nil {
			return existing(err)
		}
		if err := authority.write(*dir, authorityName); err != nil {
			return existing(errors.Join(err, os.Remove(filepath.Join(*dir, gossipKeyName))))
		}
		return made(cmd.OutOrStdout(), *dir, authority, authorityName+chainSuffix, authorityName+keySuffix, gossipKeyName)
	}
	return c
}

func writeGossipKey(dir string) error {
	key, err := drawGossipKey()
	if err != nil {
		return err
	}
	return writeNew(filepath.Join(dir, gossipKeyName), []byte(key), 0o600)
}

func drawGossipKey() (string, error) {
	key := make([]byte, gossipKeyBytes)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(key) + "\n", nil
}

func issueCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "issue NAME", Short: "Make a certificate for a node or a client", Args: arguments.Exactly("NAME"),
		Long: "Make a certificate for a node or a client: NAME.crt and NAME.key. It serves for the peer port, for the client port and\n" +
			"for whoever calls them. NAME is one of its hosts; add those under which clients reach the node.\n\n" +
			"Servers read replaced files by themselves: make the new certificate in another directory and move it over the old one.",
		Example: "  seriatim cert issue n1 --host n1.example.org --host 10.0.0.1",
	}
	dir := directory(c)
	hosts := c.Flags().StringArray("host", nil, "another name or address of the node; may be repeated")
	valid := lasting(c, leafValid, "how long it is valid")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(lasts(*valid), fitting(*hosts)); err != nil {
			return err
		}
		name := args[0]
		if name == authorityName || !fileName(name) {
			return exit.New(exit.Usage, fmt.Errorf("%q cannot be the name of a certificate", name), "take the name of the node")
		}
		authority, err := readAuthority(*dir)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.New(exit.NotFound, err, "make the authority first: seriatim cert ca --dir "+*dir)
		}
		if err != nil {
			return err
		}
		issued, err := newCertificate(authority, name, append([]string{name}, *hosts...), time.Now(), *valid)
		if err != nil {
			return err
		}
		if err := issued.write(*dir, name); err != nil {
			return existing(err)
		}
		return made(cmd.OutOrStdout(), *dir, issued, name+chainSuffix, name+keySuffix)
	}
	return c
}

// fileName reports whether a name can begin that of a file.
func fileName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\ \t\r\n") && !strings.HasPrefix(name, ".")
}

// existing explains a file that is in the way.
func existing(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return exit.New(exit.Conflict, err, "choose another --dir, or move the file away if nobody needs it")
	}
	return err
}

func made(out io.Writer, dir string, p *pair, names ...string) error {
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintln(&text, filepath.Join(dir, name))
	}
	fmt.Fprintf(&text, "valid until %s\n", p.certificate.NotAfter.UTC().Format(time.RFC3339))
	_, err := io.WriteString(out, text.String())
	return err
}
