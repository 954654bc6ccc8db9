package format

import "errors"

// Errors from reading stored data, for errors.Is. Package cluster maps them to exit codes.
var (
	// ErrChecksum: the data are damaged: a wrong CRC, or missing or extra bytes.
	ErrChecksum = errors.New("damaged data")
	// ErrUnknownFormat: this program cannot read the format of an entry, answer or snapshot.
	ErrUnknownFormat = errors.New("unknown format")
	// ErrUnknownCommand: the number or version of a command is unknown.
	ErrUnknownCommand = errors.New("unknown command")
	// ErrMalformed: the data pass their checksum but are invalid, so a program wrote them
	// incorrectly.
	ErrMalformed = errors.New("malformed data")
	// ErrStateMismatch: the hash of a state differs from the recorded one.
	ErrStateMismatch = errors.New("state differs from its hash")
)
