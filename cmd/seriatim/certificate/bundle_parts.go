package certificate

import (
	"crypto/rand"

	"github.com/seriatimq/seriatim/transport/auth"
)

// callers lists the tokens of a bundle with their roles. The caller of a backup is an
// administrator, because a backup contains the secrets of access keys.
var callers = []struct{ name, role string }{{"admin", "admin"}, {"backup", "admin"}, {"pods", "operator"}, {"prometheus", "viewer"}}

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
	id, secret, err := auth.DrawKey(rand.Reader)
	return files{"AWS_ACCESS_KEY_ID": []byte(id), "AWS_SECRET_ACCESS_KEY": []byte(secret)}, err
}
