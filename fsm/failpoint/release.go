//go:build !faults

package failpoint

// Hit is called where something could go wrong. In this build nothing does.
func Hit(string) error { return nil }
