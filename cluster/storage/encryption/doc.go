// Package encryption encrypts the files of a node with the keys of a key file (Keyring): records
// (Sealer, Keyring.Open) and streams (Writer, Reader).
//
// # Design
//
// All of it is AES-256-GCM. No key of the file encrypts anything itself: each Sealer and each
// Writer derives a key of its own with HKDF-SHA-256 from the key of the file, 16 random
// bytes, and its purpose. The nonce is a counter under that derived key, so it cannot repeat
// within one Sealer. Two Sealers share a derived key only if their 16 random bytes are equal:
// with 2^40 of them the probability is below 2^-48. A Sealer changes its derived key after
// 2^32 records or 64 GiB, far below the bounds of GCM. A new process draws new bytes, so a
// crash needs no counter on disk.
//
// The id of a key is a hash of it. It is written beside everything that the key encrypts, so
// a node finds the right key of several, and names the one that it lacks.
//
// Additional data ties a record to its place: an entry to its index, term and type, a body to
// its segment, offset, length and digest. A stream counts its chunks and marks the last, so
// it cannot be cut short or put together from parts.
//
// The keys of a Keyring never change while a node runs.
package encryption
