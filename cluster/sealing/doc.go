// Package sealing encrypts the secrets of access keys, so that the replicated state, the log,
// snapshots and backups hold no secret in clear. The private key of this node is in secrets.key in
// its data directory. The [Keeper] holds the opened sealing key and secrets in memory.
//
// # Design
//
// A cluster has one sealing key. The state holds it once for each node, encrypted for the public
// key of that node (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM), and once for each key of an
// encryption key file, so that the file alone opens an encrypted backup. The node that makes the
// first access key draws the sealing key, and wraps it for a majority of the voters: it survives
// every failure that the log survives.
//
// A node without a wrap, because it joined or lost its file, asks the other members for one. A
// member wraps the sealing key for the public key of that node, which then writes the wrap to the
// log.
//
// A secret is sealed with AES-256-GCM. The nonce is an HMAC of the id and the secret, so that
// making the same access key again changes nothing. The id is authenticated, so that a sealed
// secret works only for its id.
package sealing
