package crash

import (
	"bytes"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

var (
	encrypted = flag.Bool("encrypted", false, "the nodes encrypt what they write")

	// With -encrypted: the key file of the nodes, and its keys.
	keyFile string
	keys    *encryption.Keyring
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		if *encrypted {
			dir, err := os.MkdirTemp("", "crash")
			if err == nil {
				defer os.RemoveAll(dir)
				keyFile = filepath.Join(dir, "keys")
				err = encryption.WriteKeyFile(keyFile, encryption.KeyLine(bytes.Repeat([]byte{7}, 32)))
			}
			if err == nil {
				keys, err = encryption.ReadKeyFile(keyFile, rand.Reader)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return m.Run()
	}())
}
