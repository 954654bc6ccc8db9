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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/nodecert"
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

// Command returns the group cert.
func Command() *cobra.Command {
	c := &cobra.Command{
		Use: "cert", Short: "Make an authority, certificates and tokens for a cluster",
		Long: "Make an authority and certificates for a cluster, for development, tests and small installations. Each node gets its\n" +
			"own certificate, and all nodes trust the authority. You need the key of the authority only to make certificates.",
		RunE: arguments.Group,
	}
	for _, one := range []*cobra.Command{authorityCommand(), issueCommand(), renewCommand(), tokenCommand(), bundleCommand()} {
		one.RunE = coded(one.RunE)
		c.AddCommand(one)
	}
	return c
}

// coded adds an exit code to the errors of a running command. Errors without a code end the
// process with the code for wrong flags.
func coded(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if errors.Is(err, context.DeadlineExceeded) { // Wrap's hint names --timeout, which these commands lack
			err = exit.New(exit.Timeout, err, "")
		}
		return exit.Wrap(err)
	}
}

const usualDir = "certs"

// directory adds the flag --dir.
func directory(c *cobra.Command) *string {
	return c.Flags().String("dir", usualDir, "directory of the authority and the files that it issued")
}

// lasting adds the flag --valid.
func lasting(c *cobra.Command, usual time.Duration, usage string) *time.Duration {
	return c.Flags().Duration("valid", usual, usage)
}

// lasts refuses a validity that is not above zero.
func lasts(valid time.Duration) error {
	if valid <= 0 {
		return exit.New(exit.Usage, fmt.Errorf("--valid %v: it must be above zero", valid), "write it like 8760h, which is a year")
	}
	return nil
}

// fitting refuses hosts that are neither names nor addresses. A certificate for a host with a
// port, a scheme or a comma would match no connection.
func fitting(hosts []string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*"
	for _, host := range hosts {
		if nodecert.IsMark(host) {
			return exit.New(exit.Usage, fmt.Errorf("--host %q is reserved for the certificate of a node", host),
				"cert issue NAME adds this host for the node NAME")
		}
		if net.ParseIP(host) == nil && (host == "" || strings.Trim(host, letters) != "") {
			return exit.New(exit.Usage, fmt.Errorf("--host %q is neither a name nor an address", host),
				"write it like n1.example.org or 10.0.0.1, and repeat --host for each")
		}
	}
	return nil
}

func authorityCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ca", Short: "Make an authority and a gossip key", Args: arguments.None,
		Long: "Make an authority and a gossip key: ca.crt, ca.key and gossip.key. Nodes need ca.crt and gossip.key. Keep ca.key\n" +
			"where you make certificates. The command overwrites no file.",
		Example: "  seriatim cert ca --dir certs",
	}
	dir := directory(c)
	name := c.Flags().String("name", "seriatim", "name of the authority")
	valid := lasting(c, authorityValid, "how long the authority is valid")
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
		if _, err := os.Stat(filepath.Join(usualDir, authorityName+chainSuffix)); err == nil && filepath.Clean(*dir) != usualDir {
			cmd.PrintErrf("warning: %s holds an authority, too. Nodes that trust one authority refuse certificates of the other: use "+
				"this one only for another cluster.\n", usualDir)
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
		Use: "issue NAME", Short: "Make a certificate for a node, or for its client and admin port", Args: arguments.Exactly("NAME"),
		Long: "Make a certificate: NAME.crt and NAME.key.\n\n" +
			"With --role node, NAME is the setting node-name of a node. The certificate carries the name NAME.node.seriatim. Nodes\n" +
			"accept only such a certificate on the peer port. It needs no --host for that port.\n\n" +
			"With --role clients the certificate is for the client and the admin port, and opens no peer port. NAME is one of its\n" +
			"hosts. Add the names and addresses under which clients reach the node.\n\n" +
			"cert renew renews both kinds.",
		Example: "  seriatim cert issue n1\n" +
			"  seriatim cert issue n1-clients --role clients --host n1.example.org --host 10.0.0.1 --host 127.0.0.1",
	}
	dir := directory(c)
	role := c.Flags().String("role", roleNode, "node, or clients for a certificate of the client and the admin port")
	hosts := c.Flags().StringArray("host", nil, "another name or address of the node, may be repeated")
	valid := lasting(c, leafValid, "how long the certificate is valid")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if err := errors.Join(lasts(*valid), fitting(*hosts), certificateName(name), knownRole(*role)); err != nil {
			return err
		}
		authority, err := authorityOf(*dir)
		if err != nil {
			return err
		}
		issued, err := newCertificate(authority,
			order{name: name, role: *role, hosts: append([]string{name}, *hosts...), now: time.Now(), valid: *valid})
		if err != nil {
			return err
		}
		err = issued.write(*dir, name)
		if errors.Is(err, fs.ErrExist) {
			return exit.New(exit.Conflict, err, "to renew it: seriatim cert renew "+name+" --dir "+*dir)
		}
		if err != nil {
			return err
		}
		return made(cmd.OutOrStdout(), *dir, issued, name+chainSuffix, name+keySuffix)
	}
	return c
}

func certificateName(name string) error {
	if name == authorityName || !fileName(name) || nodecert.IsMark(name) {
		return exit.New(exit.Usage, fmt.Errorf("%q cannot be the name of a certificate", name), "use the name of the node")
	}
	return nil
}

func knownRole(role string) error {
	if !slices.Contains(certificateRoles, role) {
		return exit.New(exit.Usage, fmt.Errorf("there is no role %q", role), "use node or clients")
	}
	return nil
}

func authorityOf(dir string) (*pair, error) {
	authority, err := readAuthority(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, exit.New(exit.NotFound, err,
			"name the directory with the ca.crt and ca.key of the cluster: --dir DIR. Only for a new cluster: seriatim cert ca --dir "+dir)
	}
	return authority, err
}

// fileName reports whether the name of a file can begin with name.
func fileName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "/\\ \t\r\n") && !strings.HasPrefix(name, ".")
}

// existing adds a hint to the error about a file that exists.
func existing(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return exit.New(exit.Conflict, err, "choose another --dir, or move the file away if you do not need it")
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
