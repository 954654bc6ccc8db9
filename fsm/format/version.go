package format

// Format versions say which commands may be in the log. A new cluster starts
// at version 0, which knows only the clock, settings and SetFormatVersion
// itself; the leader raises it with SetFormatVersion once every voter can
// read the higher one, and refuses until then what would need it. So a
// rolling upgrade never puts an entry into the log that some node cannot
// apply.
const (
	// CurrentVersion is the highest format version this program reads and
	// writes.
	CurrentVersion uint32 = 4
	// OldestVersion is the lowest format version this program can still work
	// with.
	OldestVersion uint32 = 1
	// StateHashVersion is the definition of the state and chain hashes. Only
	// equal versions are compared between nodes.
	StateHashVersion uint32 = 1
)
