package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
)

// FreeSpace is an amount of free disk space: a percentage, a size, or the smaller of both, such
// as 15%, 1GiB or 15%,1GiB. "off" is none.
type FreeSpace cluster.DiskMark

const freeSpaceOff = "off"

// String returns the form that parseFreeSpace reads.
func (f FreeSpace) String() string {
	if f == FreeSpace(cluster.DiskMarkOff) {
		return freeSpaceOff
	}
	var parts []string
	if f.Percent != 0 {
		parts = append(parts, strconv.Itoa(f.Percent)+"%")
	}
	if f.Bytes != 0 {
		parts = append(parts, Size(f.Bytes).String())
	}
	return strings.Join(parts, ",")
}

func parseFreeSpace(text string) (FreeSpace, error) {
	if text == freeSpaceOff {
		return FreeSpace(cluster.DiskMarkOff), nil
	}
	var f FreeSpace
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if digits, isPart := strings.CutSuffix(part, "%"); isPart && f.Percent == 0 {
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || n > 99 {
				return FreeSpace{}, fmt.Errorf("%q is not a part of the disk, write it like 15%%", part)
			}
			f.Percent = n
			continue
		}
		size, err := parseSize(part)
		if err != nil || size <= 0 || f.Bytes != 0 {
			return FreeSpace{}, fmt.Errorf("%q is not an amount of free space, write it like 15%%, 1GiB or 15%%,1GiB, or %s", text,
				freeSpaceOff)
		}
		f.Bytes = uint64(size)
	}
	return f, nil
}
