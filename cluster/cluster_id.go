package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// clusterIDOf is the id of the cluster that has these initial members.
func clusterIDOf(founders []string) string {
	h := sha256.New()
	for _, id := range founders {
		fmt.Fprintf(h, "%d:%s,", len(id), id)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
