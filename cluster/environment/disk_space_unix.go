//go:build linux || darwin

package environment

import "syscall"

// SystemDiskSpace returns the space of the file system that holds path.
func SystemDiskSpace(path string) (DiskSpace, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return DiskSpace{}, err
	}
	block := uint64(s.Bsize)
	return DiskSpace{Free: s.Bavail * block, Total: s.Blocks * block}, nil
}
