package storage

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// finishTail completes the rotation of wal files that a crash interrupted. The last batch of a file
// carries an index block, which seals the file; a moment later the wal's database names the next
// file. Two kinds of crash leave a file that raft-wal 0.4.2 opens as sealed and as the newest one,
// so that it refuses every append:
//
//   - Between the two steps: the batch is complete and its file still the last. finishTail names the next
//     file.
//   - Within that batch, after a power cut or on a full disk: the library ignores the batch but still finds
//     its index block. finishTail clears the rest of the batch.
//
// exploit_wal_tail_test.go tests this against files that the library writes.
func finishTail(dir string, segmentBytes int, now time.Time) (err error) {
	if _, err := os.Stat(filepath.Join(dir, metadb.FileName)); errors.Is(err, os.ErrNotExist) {
		return nil // a new log
	}
	meta := &metadb.BoltMetaDB{}
	state, err := meta.Load(dir)
	defer func() { err = errors.Join(err, meta.Close()) }()
	if err != nil || len(state.Segments) == 0 {
		return err
	}
	last := &state.Segments[len(state.Segments)-1]
	if !last.SealTime.IsZero() {
		return nil
	}
	path := filepath.Join(dir, segment.FileName(*last))
	tail, err := readTail(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // named but not yet made; the library makes it
	case err != nil:
		return fmt.Errorf("reading the end of %s: %w", path, err)
	case tail.index == 0:
		return nil
	case tail.index >= tail.end:
		return clearFrom(path, tail.end)
	}
	last.SealTime, last.IndexStart = now, uint64(tail.index+walFrameHead)
	last.MaxIndex = last.BaseIndex + tail.entries - 1
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: last.MaxIndex + 1, MinIndex: last.MaxIndex + 1,
		SizeLimit: uint32(segmentBytes), Codec: last.Codec, CreateTime: now,
	})
	state.NextSegmentID++
	return meta.CommitState(state)
}

// clearFrom fills a file with zeros from an offset on.
func clearFrom(path string, from int64) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		err = errors.Join(file.Truncate(from), file.Truncate(info.Size()), file.Sync())
	}
	return errors.Join(err, file.Close())
}

// Layout of a wal file: a head, then frames, padded to eight bytes. A frame has a type, three zero
// bytes, and a length; a commit has the CRC-32C of all bytes since the previous commit instead.
const (
	walFileHead    = 32
	walFrameHead   = 8
	walFrameEntry  = 1
	walFrameIndex  = 2
	walFrameCommit = 3
)

// walTail describes the end of a wal file.
type walTail struct {
	end     int64  // of the last complete batch
	entries uint64 // up to end
	index   int64  // start of the last index block; 0: none
}

// walCommit is the position of a commit in a file.
type walCommit struct {
	end     int64
	entries uint64
	sound   bool // the checksum of its batch is correct
}

// readTail walks the frames of a file. Like the library, it takes a batch as complete if entries
// follow its commit.
func readTail(path string) (walTail, error) {
	file, err := os.Open(path)
	if err != nil {
		return walTail{}, err
	}
	defer func() { _ = file.Close() }() // it was only read
	sum := crc32.New(castagnoli)
	content := io.TeeReader(bufio.NewReaderSize(file, 1<<20), sum)
	if _, err := io.CopyN(io.Discard, content, walFileHead); err != nil {
		return walTail{}, ignoreEnd(err)
	}
	var before, newest walCommit
	var entries uint64
	tail := walTail{}
	for at := int64(walFileHead); ; {
		written := sum.Sum32()
		var head [walFrameHead]byte
		if _, err := io.ReadFull(content, head[:]); ignoreEnd(err) != nil {
			return walTail{}, err
		} else if err != nil {
			break
		}
		value := binary.LittleEndian.Uint32(head[4:])
		length := int64(value)
		switch head[0] {
		case walFrameEntry:
			entries++
		case walFrameIndex:
			tail.index = at
		case walFrameCommit:
			length = 0
			before, newest = newest, walCommit{at + walFrameHead, entries, value == written}
			sum.Reset()
		default:
			length = -1 // the end: zeros, or the remainder of a batch
		}
		if length < 0 {
			break
		}
		padded := (length + walFrameHead - 1) / walFrameHead * walFrameHead
		if _, err := io.CopyN(io.Discard, content, padded); ignoreEnd(err) != nil {
			return walTail{}, err
		} else if err != nil {
			break
		}
		at += walFrameHead + padded
	}
	if newest.entries == entries && !newest.sound {
		newest = before
	}
	tail.end, tail.entries = newest.end, newest.entries
	return tail, nil
}

// ignoreEnd returns nil for the end of a file.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
