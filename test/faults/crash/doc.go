// Package crash cuts the power of a node at every sync of its disk, and checks that the node
// starts with all synced data.
//
// A FUSE file system records every write, truncation, name change and sync of a data directory.
// From the record follow the states in which a power cut may leave such a directory. A node that
// starts from one must start, have every acknowledged operation, equal the uninterrupted run at
// the same index, and not fall back in its term.
//
// The model of the disk guarantees as little as POSIX: content survives once the file was synced,
// a name once its directory was. Everything else survives or is lost independently. Without FUSE, the
// simple form kills a process at its n-th sync.
package crash
