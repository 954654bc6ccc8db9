// Package reference has the pages that the program shows, as a browser shows them.
package reference

import _ "embed"

// Errors is the page about the error codes of the APIs.
//
//go:embed errors.md
var Errors string

// ExitCodes is the page about the exit codes of the tool and of the server.
//
//go:embed exit-codes.md
var ExitCodes string
