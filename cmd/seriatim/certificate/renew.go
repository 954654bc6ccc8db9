package certificate

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func renewCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "renew NAME", Short: "Renew a certificate", Args: arguments.Exactly("NAME"),
		Long: "Renew the certificate NAME.crt: the same authority, hosts, role and key, and a new end. One step replaces the file,\n" +
			"so that a starting server reads the old certificate or the new one. Copy NAME.crt to the node in the same way: under\n" +
			"another name beside the old file, then mv. A running server reads it within a second. Under the systemd unit,\n" +
			"restart the service.",
		Example: "  seriatim cert renew n1",
	}
	dir := directory(c)
	valid := lasting(c, leafValid, "how long the certificate is valid from now")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if err := errors.Join(lasts(*valid), certificateName(name)); err != nil {
			return err
		}
		authority, err := authorityOf(*dir)
		if err != nil {
			return err
		}
		old, err := readPair(*dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			return exit.New(exit.NotFound, err, "renewal needs both files; to make them: seriatim cert issue "+name+" --dir "+*dir)
		}
		if err != nil {
			return err
		}
		renewed, err := renew(authority, old, name, time.Now(), *valid)
		if err != nil {
			return err
		}
		chain, _, err := renewed.encode()
		if err != nil {
			return err
		}
		if err := atomicfile.Replace(filepath.Join(*dir, name+chainSuffix), chain, 0o644); err != nil {
			return err
		}
		return made(cmd.OutOrStdout(), *dir, renewed, name+chainSuffix)
	}
	return c
}

// renew returns a certificate like old, with its key and a later end.
func renew(authority, old *pair, name string, now time.Time, valid time.Duration) (*pair, error) {
	if err := old.certificate.CheckSignatureFrom(authority.certificate); err != nil {
		return nil, exit.New(exit.Conflict,
			fmt.Errorf("%s%s is not a certificate of %s%s: %w", name, chainSuffix, authorityName, chainSuffix, err),
			"name the directory of its authority with --dir")
	}
	if !old.fits() {
		return nil, exit.New(exit.Conflict, fmt.Errorf("%s%s is not the key of %s%s", name, keySuffix, name, chainSuffix), "")
	}
	role := roleClients
	if nodecert.Marked(old.certificate) {
		role = roleNode
	}
	hosts := slices.DeleteFunc(slices.Clone(old.certificate.DNSNames), nodecert.IsMark)
	for _, ip := range old.certificate.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return newCertificate(authority, order{name: name, role: role, hosts: hosts, key: old.key, now: now, valid: valid})
}
