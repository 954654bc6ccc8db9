// Package certificate owns the certificates that a running server shows and trusts.
//
// It reads them from files and reads those again when they have changed, so that they can
// be renewed without a restart: who replaces the files does no more. It refuses to know
// ports and protocols. Package server calls it.
package certificate
