package files

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/ops"
)

// Tokens holds the operators of a token file and reloads a changed file. Safe for concurrent use.
type Tokens struct {
	operators *Watched[map[digest]ops.Operator]
}

// digest is the SHA-256 of a token. The file contains no token itself.
type digest [sha256.Size]byte

// OpenTokens reads the file.
func OpenTokens(path string, now func() time.Time, log *slog.Logger) (f *Tokens, err error) {
	f = &Tokens{}
	f.operators, err = Watch([]string{path}, func() (map[digest]ops.Operator, error) { return readTokens(path) }, now, log)
	return f, err
}

// Find returns the operator with this token.
func (f *Tokens) Find(token string) (ops.Operator, bool) {
	operator, known := f.operators.Current()[sha256.Sum256([]byte(token))]
	return operator, known
}

// readTokens reads lines of the form: role digest name. It ignores empty lines and lines that
// begin with #. Its errors never contain the digest, which may be a token by mistake.
func readTokens(path string) (map[digest]ops.Operator, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	operators, number := map[digest]ops.Operator{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		wrong := func(what string) error {
			return fmt.Errorf("%s: line %d: %s; a line has role, SHA-256 of the token in hex and name, as from seriatim cert token", path,
				number, what)
		}
		if len(fields) != 3 {
			return nil, wrong(fmt.Sprintf("%d words", len(fields)))
		}
		role, known := ops.ParseRole(fields[0])
		if !known {
			return nil, wrong("the role is not viewer, operator or admin")
		}
		var of digest
		if n, err := hex.Decode(of[:], []byte(fields[1][:min(len(fields[1]), hex.EncodedLen(len(of)))])); err != nil || n != len(of) ||
			len(fields[1]) != hex.EncodedLen(n) {
			return nil, wrong("the second word is not a SHA-256 in hex")
		}
		if before, twice := operators[of]; twice {
			return nil, wrong(fields[2] + " and " + before.Name + " have the same token")
		}
		operators[of] = ops.Operator{Name: fields[2], Role: role}
	}
	if len(operators) == 0 {
		return nil, fmt.Errorf("%s has no token; make one with seriatim cert token NAME --role admin", path)
	}
	return operators, nil
}
