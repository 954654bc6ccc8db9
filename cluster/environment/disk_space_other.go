//go:build !linux && !darwin

package environment

import "errors"

// systemDiskSpace is not known here; the marks then never take effect.
func systemDiskSpace(string) (DiskSpace, error) { return DiskSpace{}, errors.ErrUnsupported }
