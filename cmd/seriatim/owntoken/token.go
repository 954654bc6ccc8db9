// Package owntoken stores the token that a node makes for its admin port when you configure no
// token file. Only the user of the server can read its file in the data directory.
package owntoken

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
)

// FileName names the token file in the data directory.
const FileName = "admin.token"

const tokenBytes = 32

// Token is the token of a node. Safe for concurrent use.
type Token struct {
	File   string // absolute path
	digest [sha256.Size]byte
}

// Open reads the token of a data directory, or draws one if there is none yet.
func Open(folder string, random io.Reader) (*Token, error) {
	file, err := filepath.Abs(filepath.Join(folder, FileName))
	if err != nil {
		return nil, err
	}
	text, err := Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = draw(file, random)
	}
	if err != nil {
		return nil, fmt.Errorf("the node's own token for the admin port: %w", err)
	}
	return &Token{File: file, digest: sha256.Sum256([]byte(text))}, nil
}

// Is reports whether text is the token.
func (t *Token) Is(text string) bool {
	digest := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1
}

// Read returns the token in a file named FileName. It refuses other names and other contents.
// Its errors never contain the content of the file.
func Read(file string) (string, error) {
	if filepath.Base(file) != FileName || !filepath.IsAbs(file) {
		return "", fmt.Errorf("%q cannot be the token of a node", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if drawn, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(drawn) != tokenBytes {
		return "", fmt.Errorf("%s holds no token; remove it and start the server again, which makes another one", file)
	}
	return token, nil
}

// draw writes a new token to a file that only its owner can read.
func draw(file string, random io.Reader) (string, error) {
	drawn := make([]byte, tokenBytes)
	if _, err := io.ReadFull(random, drawn); err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(drawn)
	return token, atomicfile.Replace(file, []byte(token+"\n"), 0o600) // the server does not start with half a token
}
