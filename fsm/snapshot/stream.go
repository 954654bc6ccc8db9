package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/seriatimq/seriatim/fsm/format"
)

// A snapshot is a preamble (the eight letters "seriatim" and a format byte) and sections. A section
// is: kind (1 byte), number counted from zero (4 bytes), length (4 bytes), contents, CRC-32C over
// all of these (4 bytes). Numbers are little-endian.
//
// The first section is the header. The second has the state outside of queues and topics. Sections
// of records follow, and a last one with counts. Nothing follows that. A section of records is a
// sequence of: kind (1 byte), length (varint), protobuf message.
const (
	magic        = "seriatim"
	streamFormat = 1

	sectionHeader  sectionKind = 1
	sectionBroker  sectionKind = 2
	sectionRecords sectionKind = 3
	sectionEnd     sectionKind = 4

	sectionHeaderBytes = 9
	// sectionBytesAim is the size at which the writer ends a section of records.
	sectionBytesAim = 64 << 10
	// sectionBytesMax bounds a section, and so the memory for bytes that are not verified yet. The
	// largest record is a message of 1 MiB.
	sectionBytesMax = 4 << 20
)

type sectionKind uint8

func (k sectionKind) String() string {
	switch k {
	case sectionHeader:
		return "header"
	case sectionBroker:
		return "broker"
	case sectionRecords:
		return "records"
	case sectionEnd:
		return "end"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// sectionWriter writes preamble and sections. Used by one goroutine.
type sectionWriter struct {
	w      io.Writer
	number uint32
	buffer []byte // the current section, after room for its header
}

// newSectionWriter writes the preamble.
func newSectionWriter(w io.Writer) (*sectionWriter, error) {
	if _, err := w.Write(append([]byte(magic), streamFormat)); err != nil {
		return nil, fmt.Errorf("writing the snapshot preamble: %w", err)
	}
	return &sectionWriter{w: w, buffer: make([]byte, sectionHeaderBytes, 2*sectionBytesAim)}, nil
}

// filled returns the length of the current section.
func (s *sectionWriter) filled() int { return len(s.buffer) - sectionHeaderBytes }

// end writes the current section and begins the next.
func (s *sectionWriter) end(kind sectionKind) error {
	if s.filled() > sectionBytesMax {
		return fmt.Errorf("writing snapshot section %d (%s): %d bytes are more than a section can hold", s.number, kind, s.filled())
	}
	s.buffer[0] = byte(kind)
	binary.LittleEndian.PutUint32(s.buffer[1:], s.number)
	binary.LittleEndian.PutUint32(s.buffer[5:], uint32(s.filled()))
	s.buffer = binary.LittleEndian.AppendUint32(s.buffer, format.Checksum(s.buffer))
	if _, err := s.w.Write(s.buffer); err != nil {
		return fmt.Errorf("writing snapshot section %d (%s): %w", s.number, kind, err)
	}
	s.number++
	s.buffer = s.buffer[:sectionHeaderBytes]
	return nil
}

// record adds a record to the current section, and ends the section when it is long enough.
func (s *sectionWriter) record(kind byte, record []byte) error {
	buffer := binary.AppendUvarint(append(s.buffer, kind), uint64(len(record)))
	s.buffer = append(buffer, record...)
	if s.filled() < sectionBytesAim {
		return nil
	}
	return s.end(sectionRecords)
}

// sectionReader reads preamble and sections. Used by one goroutine.
type sectionReader struct {
	r      io.Reader
	number uint32
	offset int64
	buffer []byte // the last section, reused
}

// newSectionReader reads the preamble.
func newSectionReader(r io.Reader) (*sectionReader, error) {
	var preamble [len(magic) + 1]byte
	if _, err := io.ReadFull(r, preamble[:]); err != nil {
		return nil, fmt.Errorf("snapshot preamble: %w", cut(err))
	}
	if string(preamble[:len(magic)]) != magic {
		return nil, fmt.Errorf("snapshot preamble: %w: this is not a snapshot", format.ErrChecksum)
	}
	if written := preamble[len(magic)]; written != streamFormat {
		return nil, fmt.Errorf("snapshot preamble: %w: snapshot format %d", format.ErrUnknownFormat, written)
	}
	return &sectionReader{r: r, offset: int64(len(preamble))}, nil
}

// next reads and verifies a section. Its bytes are valid until the next call.
func (s *sectionReader) next() (sectionKind, []byte, error) {
	kind, payload, err := s.read()
	if err != nil {
		return 0, nil, fmt.Errorf("snapshot section %d at byte %d: %w", s.number, s.offset, err)
	}
	s.offset += int64(sectionHeaderBytes + len(payload) + 4)
	s.number++
	return kind, payload, nil
}

func (s *sectionReader) read() (sectionKind, []byte, error) {
	var header [sectionHeaderBytes]byte
	if _, err := io.ReadFull(s.r, header[:]); err != nil {
		return 0, nil, cut(err)
	}
	length := binary.LittleEndian.Uint32(header[5:])
	if length > sectionBytesMax {
		return 0, nil, fmt.Errorf("%w: a length of %d bytes", format.ErrChecksum, length)
	}
	if need := int(length) + 4; cap(s.buffer) < need {
		s.buffer = make([]byte, need)
	}
	s.buffer = s.buffer[:length+4]
	if _, err := io.ReadFull(s.r, s.buffer); err != nil {
		return 0, nil, cut(err)
	}
	payload := s.buffer[:length]
	want, got := binary.LittleEndian.Uint32(s.buffer[length:]), format.Checksum(header[:], payload)
	if want != got {
		return 0, nil, fmt.Errorf("%w: the checksum is %08x, the bytes give %08x", format.ErrChecksum, want, got)
	}
	// The checksum covers the number, so it detects intact sections that are missing, repeated or
	// swapped.
	if number := binary.LittleEndian.Uint32(header[1:]); number != s.number {
		return 0, nil, fmt.Errorf("%w: section %d is here instead", format.ErrChecksum, number)
	}
	return sectionKind(header[0]), payload, nil
}

// eachRecord calls visit with each record of a section, and with the offset of its body.
func eachRecord(payload []byte, visit func(kind byte, at int, body []byte) error) error {
	for i, at := 0, 0; at < len(payload); i++ {
		kind := payload[at]
		length, n := binary.Uvarint(payload[at+1:])
		if n <= 0 || length > uint64(len(payload)-at-1-n) {
			return fmt.Errorf("record %d: %w: its length is wrong", i, format.ErrMalformed)
		}
		at += 1 + n
		body := payload[at:][:length]
		if err := visit(kind, at, body); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		at += len(body)
	}
	return nil
}

// close checks that nothing follows the last section.
func (s *sectionReader) close() error {
	var one [1]byte
	switch _, err := io.ReadFull(s.r, one[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("after the last snapshot section: %w", err)
	}
	return fmt.Errorf("after the last snapshot section, at byte %d: %w: more bytes follow", s.offset, format.ErrChecksum)
}

// cut turns the end of the input into an error about damage, and returns other errors unchanged.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the snapshot ends here", format.ErrChecksum)
	}
	return err
}
