//go:build !linux && !darwin

package cluster

import "errors"

// systemDiskSpace is not known here; the marks then never take effect.
func systemDiskSpace(string) (DiskSpace, error) { return DiskSpace{}, errors.ErrUnsupported }
