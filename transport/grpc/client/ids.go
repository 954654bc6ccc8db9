package client

import "crypto/rand"

// newID draws a deduplication or attempt id.
func newID() string { return rand.Text() }
