//go:build !faults

package codec

// SameOperation marks a frame that replaces another with the client's operation of
// that one: in fault builds only, see operation_faults.go.
func SameOperation(_, frame []byte) []byte { return frame }
