package environment

// DiskSpace is the space of a file system, in bytes.
type DiskSpace struct{ Free, Total uint64 }
