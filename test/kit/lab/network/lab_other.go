//go:build !linux

package network

import (
	"errors"
	"net/netip"
	"os/exec"
)

// errLinuxOnly is the error of all functions on other systems.
var errLinuxOnly = errors.New("a lab needs the network namespaces of Linux")

// Lab needs Linux.
type Lab struct{}

// Host needs Linux.
type Host struct{ Name string }

// New fails.
func New(Options, ...string) (*Lab, error) { return nil, errLinuxOnly }

// Add fails.
func (*Lab) Add(string) (*Host, error) { return nil, errLinuxOnly }

// Host is nil.
func (*Lab) Host(string) *Host { return nil }

// Resolve fails.
func (*Lab) Resolve(...string) error { return errLinuxOnly }

// SetPolicy fails.
func (*Lab) SetPolicy(Policy) error { return errLinuxOnly }

// Policy returns a policy without faults.
func (*Lab) Policy() Policy { return Policy{} }

// Traffic returns empty counts.
func (*Lab) Traffic() Traffic { return nil }

// Close does nothing.
func (*Lab) Close() error { return nil }

// Move fails.
func (*Host) Move() (netip.Addr, error) { return netip.Addr{}, errLinuxOnly }

// Address returns no address.
func (*Host) Address() netip.Addr { return netip.Addr{} }

// Start fails.
func (*Host) Start(*exec.Cmd) error { return errLinuxOnly }

// Do fails.
func (*Host) Do(func() error) error { return errLinuxOnly }

// Inside calls work.
func Inside(work func() int) int { return work() }
