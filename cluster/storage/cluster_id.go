package storage

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ClusterIDOf returns the id of the cluster with these initial members.
func ClusterIDOf(members []string) string {
	h := sha256.New()
	for _, id := range members {
		_, _ = fmt.Fprintf(h, "%d:%s,", len(id), id) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
