package auth

import (
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"io"
)

// Sizes of ids and secrets, as on AWS: 20 and 40 characters.
const (
	keyIDPrefix    = "SRTM"
	keyIDRandom    = 10 // bytes, 16 characters of base32
	keySecretBytes = 30 // 40 characters of base64
)

// DrawKey draws id and secret of a new access key.
func DrawKey(random io.Reader) (id, secret string, err error) {
	var drawn [keyIDRandom + keySecretBytes]byte
	if _, err := io.ReadFull(random, drawn[:]); err != nil {
		return "", "", fmt.Errorf("drawing an access key: %w", err)
	}
	id = keyIDPrefix + base32.StdEncoding.EncodeToString(drawn[:keyIDRandom])
	return id, base64.RawURLEncoding.EncodeToString(drawn[keyIDRandom:]), nil
}
