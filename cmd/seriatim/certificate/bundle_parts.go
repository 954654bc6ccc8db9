package certificate

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
)

// callers lists the tokens of a bundle with their roles. The caller of a backup is an
// administrator, because a backup contains the secrets of access keys.
var callers = []struct{ name, role string }{{"admin", "admin"}, {"backup", "admin"}, {"pods", "operator"}, {"prometheus", "viewer"}}

// Sizes of a drawn access key: 20 and 40 characters, as for keys that servers draw.
const (
	keyIDPrefix    = "SRTM"
	keyIDBytes     = 10
	keySecretBytes = 30
)

func gossipPart() (files, error) {
	key, err := drawGossipKey()
	return files{gossipKeyName: []byte(key)}, err
}

func adminPart() (files, error) {
	part := files{}
	for _, caller := range callers {
		token, line, err := drawToken(caller.name, caller.role)
		if err != nil {
			return nil, err
		}
		// Without a newline, because other programs read the file as it is.
		part[caller.name+tokenSuffix] = []byte(token)
		part[tokensName] = append(part[tokensName], line...)
	}
	return part, nil
}

func firstKeyPart() (files, error) {
	drawn := make([]byte, keyIDBytes+keySecretBytes)
	if _, err := rand.Read(drawn); err != nil {
		return nil, err
	}
	return files{
		"AWS_ACCESS_KEY_ID":     []byte(keyIDPrefix + base32.StdEncoding.EncodeToString(drawn[:keyIDBytes])),
		"AWS_SECRET_ACCESS_KEY": []byte(base64.RawURLEncoding.EncodeToString(drawn[keyIDBytes:])),
	}, nil
}
