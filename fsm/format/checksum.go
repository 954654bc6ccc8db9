package format

import "hash/crc32"

// Checksum returns the CRC-32C (Castagnoli) of parts, which processors compute in hardware.
func Checksum(parts ...[]byte) uint32 {
	sum := uint32(0)
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}
