//go:build linux || darwin

package cluster

import "syscall"

// systemDiskSpace asks the system for the space of the file system of a path.
func systemDiskSpace(path string) (DiskSpace, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return DiskSpace{}, err
	}
	block := uint64(s.Bsize)
	return DiskSpace{Free: s.Bavail * block, Total: s.Blocks * block}, nil
}
