package bodies

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seriatimq/seriatim/queue/message"
)

// segmentPattern is the name of a segment file.
const segmentPattern = "%010d.bodies"

func (s *Store) path(segment uint32) string {
	return filepath.Join(s.options.Dir, fmt.Sprintf(segmentPattern, segment))
}

// listSegments returns the segments of earlier runs with their sizes.
func listSegments(dir string) (sizes map[uint32]int64, err error) {
	sizes = map[uint32]int64{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return sizes, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		var number uint32
		if n, _ := fmt.Sscanf(entry.Name(), segmentPattern, &number); n != 1 || entry.Name() != fmt.Sprintf(segmentPattern, number) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		sizes[number] = info.Size()
	}
	return sizes, nil
}

// readFile reads the record of a body from its segment.
func (s *Store) readFile(body message.Body) (record []byte, err error) {
	file, err := os.Open(s.path(body.Place().Segment))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	record = make([]byte, recordBytes(body))
	return record, readAt(file, body.Place().Offset, record)
}

// readAt reads a part of a segment, with zeros beyond the end of the file.
func readAt(file *os.File, offset uint32, part []byte) error {
	n, err := file.ReadAt(part, int64(offset))
	if errors.Is(err, io.EOF) {
		clear(part[n:])
		return nil
	}
	return err
}
