//go:build !linux

package server

// SlackenTimers does nothing: only Linux has a timer slack.
func SlackenTimers() {}
