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

// The last batch of a file of the wal carries an index block, which seals the
// file; the file after it is named in the wal's database a moment later. Two kinds
// of crash leave a file that the library (raft-wal 0.4.2) opens as sealed and as the
// newest one, so that it refuses every append for ever:
//
//   - between the two, when the batch is whole and its file still the last;
//   - in the middle of that batch, as without power or on a full disk, when the
//     batch counts as never written but its index block is found all the same.
//
// finishTail does what the crash broke off: it names the next file, or takes the
// rest of the unfinished batch away. What it knows of the library's files is tested
// by exploit_wal_tail_test.go.
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
		return nil // named and not made yet; the library makes it
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

// clearFrom makes everything of a file from an offset on zero.
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

// Layout of a file of the wal: a head, then frames. A frame is a type, three bytes
// of zero, and a length or, in a commit, the CRC-32C of all since the commit before;
// what follows is padded to eight bytes.
const (
	walFileHead    = 32
	walFrameHead   = 8
	walFrameEntry  = 1
	walFrameIndex  = 2
	walFrameCommit = 3
)

// walTail is how a file of the wal ends.
type walTail struct {
	end     int64  // behind the last whole batch
	entries uint64 // up to there
	index   int64  // where the last index block begins; 0: there is none
}

// walCommit is the place of a commit in a file.
type walCommit struct {
	end     int64
	entries uint64
	sound   bool // it has the checksum of its batch
}

// readTail walks over the frames of a file. Which batch is the last whole one is
// decided as the library does: entries behind a commit prove that it was whole.
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
			length = -1 // zeros, or what is left of a batch
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

// ignoreEnd takes the end of a file for nothing wrong.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
