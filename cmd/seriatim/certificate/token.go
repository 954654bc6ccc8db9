package certificate

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	tokensName  = "admin-tokens"
	tokenSuffix = ".token"
	tokenBytes  = 32
)

var roles = []string{"viewer", "operator", "admin"}

func tokenCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "token NAME", Short: "Make a token for the admin port", Args: arguments.Exactly("NAME"),
		Long: "Make a token for the admin port. The caller needs the file NAME.token. The servers need the file admin-tokens (setting\n" +
			"admin-tokens-file), to which this command adds a line with a digest of the token. The log shows callers by NAME.\n\n" +
			"Servers reload a replaced file by themselves. To revoke a token, remove its line.",
		Example: "  seriatim cert token prometheus --role viewer\n  seriatim cluster drain --admin-token-file certs/anna.token",
	}
	dir := directory(c)
	role := c.Flags().String("role", "viewer",
		"viewer (status, numbers, names), operator (also stored messages, drains, leadership) or admin (everything)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !fileName(args[0]) {
			return exit.New(exit.Usage, fmt.Errorf("%q cannot be the name of a token", args[0]),
				"use the name of the caller, without blanks")
		}
		if !slices.Contains(roles, *role) {
			return exit.New(exit.Usage, fmt.Errorf("there is no role %q", *role), "use viewer, operator or admin")
		}
		if err := os.MkdirAll(*dir, 0o700); err != nil {
			return err
		}
		path, err := writeToken(*dir, args[0], *role)
		if err != nil {
			return existing(err)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", path, filepath.Join(*dir, tokensName))
		return err
	}
	return c
}

// writeToken draws a token, writes it to a file that must not exist, and adds its digest to the
// file for the servers.
func writeToken(dir, name, role string) (path string, err error) {
	token, line, err := drawToken(name, role)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, name+tokenSuffix)
	if err := writeNew(path, []byte(token+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := addLine(filepath.Join(dir, tokensName), line); err != nil {
		return "", errors.Join(err, os.Remove(path)) // no server would accept it
	}
	return path, nil
}

// addLine adds a line to the file for the servers.
func addLine(known, line string) error {
	before, err := os.ReadFile(known)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		line = "\n" + line // an editor may have left out the end of the last line
	}
	file, err := os.OpenFile(known, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, line)
	return errors.Join(err, file.Sync(), file.Close())
}

// drawToken draws a token and returns it with its line in the file for the servers.
func drawToken(name, role string) (token, line string, err error) {
	drawn := make([]byte, tokenBytes)
	if _, err := rand.Read(drawn); err != nil {
		return "", "", err
	}
	token = base64.RawURLEncoding.EncodeToString(drawn)
	return token, fmt.Sprintf("%s %x %s\n", role, sha256.Sum256([]byte(token)), name), nil
}
