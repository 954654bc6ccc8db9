// Package exit defines the exit codes of the seriatim command, and the error that carries a code
// from a subcommand to main. The codes from 80 on, for a server that must not continue, are in
// package cluster.
package exit

import (
	"context"
	"errors"
	"os"
)

// Code is the exit code of the process. The values are a contract with
// scripts and are listed in docs/reference/exit-codes.md.
type Code int

// Codes of the command-line tool.
const (
	OK          Code = 0
	Failed      Code = 1   // a check failed, or an error without a code of its own
	Usage       Code = 2   // wrong flags, arguments, settings or values
	NotFound    Code = 3   // the queue, message or task does not exist
	Denied      Code = 4   // the server refused the identity
	Unavailable Code = 5   // no server answers, the cluster has no leader or refuses work for now, or the outcome is unknown
	Timeout     Code = 6   // no answer within --timeout
	Conflict    Code = 7   // the object has other attributes, is being changed, or has reached a limit
	Partial     Code = 8   // some entries of a batch were refused
	Config      Code = 78  // wrong settings of a server, because Go ends a panic with 2
	Interrupted Code = 130 // ended by SIGINT, as shells report it
)

// Error is an error with an exit code and an optional hint: a sentence that tells the user the
// next step.
type Error struct {
	Code Code
	Err  error
	Hint string
}

// New wraps err with a code and a hint, which may be empty.
func New(code Code, err error, hint string) *Error { return &Error{Code: code, Err: err, Hint: hint} }

// Interruption returns the error of an interrupted command. The hint may be empty.
func Interruption(hint string) *Error { return New(Interrupted, errors.New("interrupted"), hint) }

// Error returns the text of the wrapped error, without the hint.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// Wrap adds a code to the error of a running command that has none. Only errors of the flag
// parser reach main without a code.
func Wrap(err error) error {
	var coded *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return New(Timeout, err, "give it longer with --timeout")
	case errors.Is(err, context.Canceled):
		return New(Interrupted, err, "")
	}
	return New(Failed, err, "")
}

// CodeOf returns the exit code for the error that a command returned.
func CodeOf(err error) Code {
	var coded *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &coded):
		return coded.Code
	}
	return Usage
}

// HintOf returns the hint of an error, empty if it has none.
func HintOf(err error) string {
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.Hint
	}
	return ""
}
