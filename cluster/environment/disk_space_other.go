//go:build !linux && !darwin

package environment

import "errors"

// SystemDiskSpace is not supported here: the disk space limits never take effect.
func SystemDiskSpace(string) (DiskSpace, error) { return DiskSpace{}, errors.ErrUnsupported }
