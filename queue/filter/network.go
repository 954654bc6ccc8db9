package filter

import (
	"strconv"
	"strings"
)

// address is an IP address. IPv4 uses the last 32 bits.
type address struct {
	high, low uint64
	v6        bool
}

// network is a range of addresses with a common prefix.
type network struct {
	first             address
	maskHigh, maskLow uint64
}

// Errors of networks, without a position, as in event-ruler.
const (
	errSlash    = refusal("FilterPolicy: Malformed CIDR, one '/' required")
	errMask     = refusal("FilterPolicy: Malformed CIDR, mask bits must be an integer")
	errNegative = refusal("FilterPolicy: Malformed CIDR, mask bits must not be negative")
	errMask4    = refusal("FilterPolicy: IPv4 mask bits must be < 33")
	errMask6    = refusal("FilterPolicy: IPv6 mask bits must be < 129")
)

// parseNetwork reads a network such as 10.0.0.0/24 or 2001:db8::/32.
func parseNetwork(text string) (network, error) {
	before, after, found := strings.Cut(text, "/")
	if !found || strings.Contains(after, "/") {
		return network{}, errSlash
	}
	bits, err := strconv.ParseInt(after, 10, 32)
	if err != nil {
		return network{}, errMask
	}
	if bits < 0 {
		return network{}, errNegative
	}
	a, ok := parseAddress(before)
	switch {
	case !ok:
		return network{}, refused("Nonstandard IP address: " + shortened(before))
	case !a.v6 && bits > 32:
		return network{}, errMask4
	case bits > 128:
		return network{}, errMask6
	}
	if !a.v6 {
		bits += 96
	}
	n := network{maskHigh: ^uint64(0), maskLow: ^uint64(0)}
	if bits <= 64 {
		n.maskHigh, n.maskLow = ^uint64(0)<<(64-bits), 0
	} else {
		n.maskLow <<= 128 - bits
	}
	n.first = address{a.high & n.maskHigh, a.low & n.maskLow, a.v6}
	return n, nil
}

func (n *network) contains(a address) bool {
	return a.v6 == n.first.v6 && a.high&n.maskHigh == n.first.high && a.low&n.maskLow == n.first.low
}

// parseAddress reads an address without zone. It refuses leading zeros, which some programs read as
// octal.
func parseAddress(text string) (address, bool) {
	if strings.IndexByte(text, ':') >= 0 {
		return parseAddress6(text)
	}
	var a address
	for octet := range 4 {
		part, rest, found := strings.Cut(text, ".")
		if found != (octet < 3) || len(part) > 3 || !isDigits(part) || len(part) > 1 && part[0] == '0' {
			return address{}, false
		}
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil {
			return address{}, false
		}
		a.low, text = a.low<<8|n, rest
	}
	return a, true
}

// parseAddress6 reads eight groups of up to four digits; :: replaces one or more zero groups once.
func parseAddress6(text string) (address, bool) {
	before, after, gap := strings.Cut(text, "::")
	var groups [8]uint64
	n, ok := parseGroups(before, groups[:])
	if !ok || !gap && n < len(groups) {
		return address{}, false
	}
	if gap {
		var last [7]uint64
		m, ok := parseGroups(after, last[:])
		if !ok || n+m >= len(groups) {
			return address{}, false
		}
		copy(groups[len(groups)-m:], last[:m])
	}
	a := address{v6: true}
	for i, g := range groups {
		if i < 4 {
			a.high = a.high<<16 | g
		} else {
			a.low = a.low<<16 | g
		}
	}
	return a, true
}

const hexDigits = "0123456789abcdefABCDEF"

// parseGroups reads groups separated by colons, at most len(groups).
func parseGroups(text string, groups []uint64) (n int, ok bool) {
	for more := text != ""; more; n++ {
		var part string
		part, text, more = strings.Cut(text, ":")
		if n == len(groups) || part == "" || len(part) > 4 {
			return 0, false
		}
		value := uint64(0)
		for i := range len(part) {
			digit := strings.IndexByte(hexDigits, part[i])
			if digit < 0 {
				return 0, false
			}
			if digit >= 16 {
				digit -= 6
			}
			value = value<<4 | uint64(digit)
		}
		groups[n] = value
	}
	return n, true
}
