package offline

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func keyCreateCommand() *cobra.Command {
	return &cobra.Command{
		Use: "create FILE", Short: "Make a key file for a new cluster", Args: arguments.Exactly("FILE"),
		Long: "Make a key file with one new key. Copy it to every node and name it with the setting encryption-key-file.\n\n" +
			"Keep a copy outside of the cluster: without the key you can read neither nodes nor backups.",
		Example: "  seriatim encryption-key create /etc/seriatim/encryption.keys",
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := encryption.DrawKey(rand.Reader)
			if err != nil {
				return exit.New(exit.Failed, err, "")
			}
			line := encryption.KeyLine(key)
			err = encryption.WriteKeyFile(args[0], line)
			if errors.Is(err, fs.ErrExist) {
				return exit.New(exit.Conflict, err, "seriatim encryption-key add adds a key to an existing file")
			}
			if err != nil {
				return exit.New(exit.Failed, err, "")
			}
			return wrote(cmd, args[0], line)
		},
	}
}

// wrote prints the id of the new key, not the key.
func wrote(cmd *cobra.Command, file, line string) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has the new key %s\n", file, line[:len(encryption.KeyID{})*2])
	return err
}

func keyAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add FILE", Short: "Add a new key to a key file", Args: arguments.Exactly("FILE"),
		Long: "Add a new key at the end of a key file, where it decrypts and does not encrypt yet.\n\n" +
			"Copy the file to every node. Then move the line of the new key to the top of the file and copy it again: from then on the " +
			"new key encrypts. The nodes reload the file by themselves. 'seriatim encryption-key status' shows when no node needs " +
			"the old key any more.",
		Example: "  seriatim encryption-key add /etc/seriatim/encryption.keys",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := encryption.ReadKeyFile(args[0], rand.Reader); err != nil {
				return exit.New(exit.Failed, err, "")
			}
			key, err := encryption.DrawKey(rand.Reader)
			if err != nil {
				return exit.New(exit.Failed, err, "")
			}
			line := encryption.KeyLine(key)
			file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return exit.New(exit.Failed, err, "")
			}
			_, err = file.WriteString("\n" + line)
			if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
				return exit.New(exit.Failed, err, "")
			}
			return wrote(cmd, args[0], line)
		},
	}
}

func keyListCommand() *cobra.Command {
	o := &options{}
	return o.bind(&cobra.Command{
		Use: "list FILE", Short: "List the ids of the keys in a key file", Args: arguments.Exactly("FILE"),
		Example: "  seriatim encryption-key list /etc/seriatim/encryption.keys",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			keys, err := encryption.ReadKeyFile(args[0], rand.Reader)
			if err != nil {
				return exit.New(exit.Failed, err, "")
			}
			type listed struct {
				ID       string `json:"id"`
				Encrypts bool   `json:"encrypts"`
			}
			var list []listed
			for _, id := range keys.IDs() {
				list = append(list, listed{id.String(), id == keys.Active()})
			}
			return o.print(cmd, list, func() output.Grid {
				g := output.Grid{Heading: []string{"ID", "ENCRYPTS"}}
				for _, key := range list {
					g.Add(key.ID, fmt.Sprint(key.Encrypts))
				}
				return g
			})
		},
	})
}
