package format

import "errors"

// Errors of reading what is stored, found with errors.Is. Package cluster maps
// them to exit codes.
var (
	// ErrChecksum: bytes are damaged: a wrong CRC, a cut, or bytes where
	// none belong.
	ErrChecksum = errors.New("damaged data")
	// ErrUnknownFormat: an entry, answer or snapshot is of a format this
	// version cannot read.
	ErrUnknownFormat = errors.New("unknown format")
	// ErrUnknownCommand: a command's number or version is unknown.
	ErrUnknownCommand = errors.New("unknown command")
	// ErrMalformed: the bytes pass their checksum but say nothing sensible,
	// so they were written wrongly.
	ErrMalformed = errors.New("malformed data")
	// ErrStateMismatch: a state differs from what its hash says.
	ErrStateMismatch = errors.New("state differs from its hash")
)
