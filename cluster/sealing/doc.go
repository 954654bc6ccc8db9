// Package sealing encrypts the secrets of access keys, so that the replicated state, the log,
// snapshots and backups hold no secret in clear. The private key of this node is in secrets.key
// in its data directory. The [Keeper] holds the opened sealing key and the opened secrets in
// memory.
//
// # Design
//
// A cluster has one sealing key. The state holds it once for each node, encrypted for the
// public key of that node (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM), and once for
// each key of an encryption key file, so that an encrypted backup can be opened with that
// file alone. The node that makes the first access key draws the sealing key, and wraps it
// for a majority of the voters at least: it outlasts what the log outlasts.
//
// A node without a wrap, because it joined or lost its file, asks the other members for one.
// A node that can open the sealing key wraps it for the public key of the asker, which opens
// it at once and then writes the wrap to the log. Nothing is done while nothing changes.
//
// A secret is sealed with AES-256-GCM. Its nonce is an HMAC of the id and the secret, so that
// the same access key has the same sealed text: making it again changes nothing. The id of
// the access key is authenticated, so that a sealed secret works for its own id only.
package sealing
