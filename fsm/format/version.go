// Package format holds the format versions of the log and of snapshots, the errors of reading
// them, and their checksum.
package format

// Format versions say which commands may be in the log, and what they do. A new
// state has version 0, which knows only the clock, settings and SetFormatVersion
// itself. The first leader sets the highest version that all initial members can
// read. Later it is raised when an operator asks for that and every member can read
// the higher one; what would need it is refused until then. So a rolling upgrade
// never puts an entry into the log that some node cannot apply.
const (
	// CurrentVersion is the highest format version this program reads and
	// writes.
	CurrentVersion uint32 = 1
	// OldestVersion is the lowest format version this program can still work
	// with.
	OldestVersion uint32 = 1
	// StateHashVersion is the definition of the state and chain hashes. Only
	// equal versions are compared between nodes.
	StateHashVersion uint32 = 1
)
