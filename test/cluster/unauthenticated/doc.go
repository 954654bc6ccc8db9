// Package unauthenticated attacks the client and the admin port of a cluster without a key,
// certificate or token, while clients use it: silent and slow connections, noise, oversized
// headers, unfinished TLS handshakes, floods of HTTP/2. The cost is bounded, counted and rarely
// logged, and no call of a client fails. Package membership does the same at the ports between
// nodes.
package unauthenticated
