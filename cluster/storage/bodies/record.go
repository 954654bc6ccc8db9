package bodies

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/seriatimq/seriatim/queue/content"
)

const (
	segmentMagic = "SRTMBODY"
	// headBytes is the head of a segment: magic, number, CRC-32C of both.
	headBytes = len(segmentMagic) + 4 + 4
	// recordHeadBytes are the length, the checksum and the digest before a text.
	recordHeadBytes = 4 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segmentHead is how a segment begins.
func segmentHead(number uint32) []byte {
	head := binary.LittleEndian.AppendUint32([]byte(segmentMagic), number)
	return binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli))
}

// appendRecord appends the record of a text at a place.
func appendRecord(dst []byte, at content.Place, text string, digest uint64) []byte {
	begin := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, digest)
	dst = append(dst, text...)
	binary.LittleEndian.PutUint32(dst[begin+4:], recordChecksum(at, dst[begin:]))
	return dst
}

// recordChecksum covers all of a record but the checksum itself.
func recordChecksum(at content.Place, record []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint32(place[:], at.Segment)
	binary.LittleEndian.PutUint32(place[4:], at.Offset)
	sum := crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, record[:4])
	return crc32.Update(sum, castagnoli, record[8:])
}

// isRecordOf checks that a record is that of the body.
func isRecordOf(record []byte, body content.Body) bool {
	return binary.LittleEndian.Uint32(record) == uint32(body.Len()) &&
		binary.LittleEndian.Uint64(record[8:]) == body.Digest() &&
		binary.LittleEndian.Uint32(record[4:]) == recordChecksum(body.Place(), record)
}

// textOf is the text in a record.
func textOf(record []byte) string { return string(record[recordHeadBytes:]) }

// recordBytes is how much a segment has of a body.
func recordBytes(body content.Body) int64 { return int64(recordHeadBytes + body.Len()) }
