// Package encryption encrypts files with the keys of a key file (Keyring): records (Sealer,
// Keyring.Open) and streams (Writer, Reader).
//
// # Design
//
// The cipher is AES-256-GCM. A key of the file encrypts nothing itself: each Sealer and each Writer
// derives a key with HKDF-SHA-256 from the key of the file, 16 random bytes, and its purpose. The
// nonce is a counter, so it cannot repeat within one derived key. Two Sealers share a derived key
// only if their random bytes are equal: with 2^40 of them the probability is below 2^-48. A Sealer
// derives a new key after 2^32 records or 64 GiB, far below the limits of GCM. A new process draws
// new bytes, so no counter is kept on disk.
//
// The id of a key is a hash of it. It is stored with all data that the key encrypts, so a node can
// select the right key and name a missing one.
//
// Additional data binds a record to its place: an entry to its index, term and type, a body to its
// segment, offset, length and digest. A stream counts its chunks and marks the last, so it cannot
// be cut short or assembled from parts.
package encryption
