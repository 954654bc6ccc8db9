//go:build !linux

package main

import "os"

// syncData syncs a file.
func syncData(file *os.File) error { return file.Sync() }
