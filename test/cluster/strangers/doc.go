// Package strangers has somebody without an access key, a certificate or a token try the
// client and the admin port of a cluster while clients use it: silent and slow connections,
// noise, oversized headers, handshakes of TLS that never end, floods of HTTP/2. What that
// costs is bounded, counted and seldom logged, and no call of a client fails. Package
// membership does the same at the ports between nodes.
package strangers
