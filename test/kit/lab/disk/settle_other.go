//go:build !linux

package disk

// Settle does nothing where there are no disks without power.
func Settle(string) error { return nil }
