package client

import "crypto/rand"

// newID is a new deduplication or attempt id.
func newID() string { return rand.Text() }
