package logcheck

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// line is a line of a tap: a command with its result, an entry without commands, or a snapshot that
// replaced the node's state.
type line struct {
	Index   uint64 `json:"index"`
	N       int    `json:"n"` // position in its entry
	Term    uint64 `json:"term"`
	AtMs    int64  `json:"atMs"`
	Op      string `json:"op"`
	Command []byte `json:"command"`
	Answer  []byte `json:"answer"`
	CRC     uint32 `json:"crc"`  // CRC-32C over command, then answer
	Hash    string `json:"hash"` // of the state, on the last command of an entry
	Kind    string `json:"kind"` // empty: a command
}

const kindRestore = "restore"

// intact reports whether a line is complete and undamaged.
func (l *line) intact() bool {
	table := crc32.MakeTable(crc32.Castagnoli)
	return l.Kind != "" || crc32.Update(crc32.Checksum(l.Command, table), table, l.Answer) == l.CRC
}

// entry is a complete entry of a tap, and its place in the file.
type entry struct {
	lines  []line
	offset int64
	bytes  int64
}

func (e *entry) first() *line { return &e.lines[0] }
func (e *entry) last() *line  { return &e.lines[len(e.lines)-1] }

// tap is the file that a node appends to in all its runs, with the position of the reader.
type tap struct {
	node   string
	file   *os.File
	offset int64 // after the last complete entry
	torn   int   // lines that were cut off when the node ended
	now    *stretch
	done   []stretch
}

// each visits the complete entries after offset. An entry that the node is still writing is left
// for the next call. One that was cut off is skipped, since the node applies it again.
func (t *tap) each(visit func(*entry)) error {
	r := bufio.NewReaderSize(io.NewSectionReader(t.file, t.offset, 1<<62), 1<<20)
	at := t.offset
	var e entry
	for {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the tap of %s: %w", t.node, err)
		}
		from := at
		at += int64(len(text))
		l, err := parseLine(text)
		if err != nil {
			if len(bytes.TrimSpace(text)) > 0 {
				t.torn++
			}
			e = entry{}
			continue
		}
		if l.N == 0 {
			t.torn += len(e.lines)
			e = entry{offset: from}
		} else if len(e.lines) != l.N || e.first().Index != l.Index {
			t.torn += len(e.lines) + 1
			e = entry{}
			continue
		}
		e.lines = append(e.lines, l)
		if l.Kind != "" || l.Hash != "" {
			e.bytes = at - e.offset
			t.offset = at
			visit(&e)
			e = entry{}
		}
	}
}

// load reads an entry again.
func (t *tap) load(offset, size int64) (entry, error) {
	text := make([]byte, size)
	if _, err := t.file.ReadAt(text, offset); err != nil {
		return entry{}, fmt.Errorf("read the tap of %s again: %w", t.node, err)
	}
	e := entry{offset: offset, bytes: size}
	for part := range bytes.Lines(text) {
		l, err := parseLine(part)
		if err != nil {
			return e, fmt.Errorf("read the tap of %s again: %w", t.node, err)
		}
		e.lines = append(e.lines, l)
	}
	return e, nil
}
