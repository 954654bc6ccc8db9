// Package format holds the format versions of log and snapshots, the errors of reading them, and
// their checksum.
package format

// The format version decides which commands the log may contain and how they behave. Version 0,
// that of a new state, permits only the clock, settings and SetFormatVersion. The first leader sets
// the highest version that all initial members can read. An operator raises it later, once every
// member can read the new one. Commands that need a higher version are refused, so that a rolling
// upgrade writes no entry that a node cannot apply.
const (
	// CurrentVersion is the highest format version that this program reads and writes.
	CurrentVersion uint32 = 1
	// OldestVersion is the lowest format version that this program supports.
	OldestVersion uint32 = 1
	// StateHashVersion is the definition of the state and chain hashes. Nodes compare hashes of
	// equal versions only.
	StateHashVersion uint32 = 1
)
