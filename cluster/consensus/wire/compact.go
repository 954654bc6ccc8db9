package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"

	"github.com/hashicorp/raft"
)

const (
	frameHead = 20
	// fieldsMax bounds the fields of a frame, dataMax the data of its entries: one
	// entry may be as large as the log takes.
	fieldsMax = 1 << 20
	dataMax   = 128 << 20
	// copyMax is how much data is copied behind the fields, to be written with them
	// as one piece. More is written from where it lies.
	copyMax = 8 << 10
	// readAhead takes several small frames with one call. Who is asked reads more: what
	// waits while a message is answered is looked at together.
	readAhead   = 16 << 10
	readWaiting = 64 << 10
	// snapshotPart is how much of a snapshot is in one frame.
	snapshotPart = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Compact is a connection in our own encoding.
type Compact struct {
	in  *bufio.Reader
	out io.Writer

	frame   []byte      // the one being written, but for data that is not copied
	pieces  [][]byte    // of the frame being written
	buffers net.Buffers // the same, while they are written
	fields  []byte      // of the frame that was read
	name    []byte      // the id that was read last, which most messages repeat
	part    []byte      // of a snapshot
}

var _ Conn = (*Compact)(nil)

// vectored is a connection that writes several pieces with one call.
type vectored interface {
	WriteBuffers(pieces *net.Buffers) error
}

// eager is a connection that can write as much as goes at once.
type eager interface {
	WriteNow(content []byte) (int, error)
}

// NewCompact speaks on a connection after its handshake.
func NewCompact(conn io.ReadWriter) *Compact {
	return &Compact{in: bufio.NewReaderSize(conn, readAhead), out: conn}
}

// ServeCompact speaks on a connection whose other end asks.
func ServeCompact(conn io.ReadWriter) *Compact {
	return &Compact{in: bufio.NewReaderSize(conn, readWaiting), out: conn}
}

// Ask writes a request.
func (c *Compact) Ask(request any) error {
	of := kindOf(request)
	if of == 0 {
		return errUnknownMessage
	}
	c.begin()
	var entries []*raft.Log
	e := encoder{c.frame}
	switch m := request.(type) {
	case *raft.AppendEntriesRequest:
		e.appendEntries(m)
		entries = m.Entries
	case *raft.RequestVoteRequest:
		e.requestVote(m)
	case *raft.RequestPreVoteRequest:
		e.requestPreVote(m)
	case *raft.InstallSnapshotRequest:
		e.installSnapshot(m)
	case *raft.TimeoutNowRequest:
		e.header(m.RPCHeader)
	}
	c.frame = e.out
	return c.write(of, entries)
}

// AskNow writes as much of a message with entries as goes without waiting for the other
// end. It copies them. What is left is written by rest, before anything else.
func (c *Compact) AskNow(request *raft.AppendEntriesRequest) (rest func() error, err error) {
	c.begin()
	e := encoder{c.frame}
	e.appendEntries(request)
	c.frame = e.out
	fields := len(c.frame) - frameHead
	for _, entry := range request.Entries {
		c.frame = append(c.frame, entry.Data...)
	}
	size := len(c.frame) - frameHead - fields
	if err := c.head(kindAppendEntries, fields, size, crc32.Checksum(c.frame[frameHead:], castagnoli)); err != nil {
		return nil, err
	}
	n := 0
	if now, ok := c.out.(eager); ok {
		if n, err = now.WriteNow(c.frame); err != nil || n == len(c.frame) {
			return nil, err
		}
	}
	return func() error {
		_, err := c.out.Write(c.frame[n:])
		return err
	}, nil
}

var errUnknownMessage = errors.New("the consensus library sends what this program does not know")

// Reply writes an answer.
func (c *Compact) Reply(answer any, failure error) error {
	c.begin()
	if failure != nil {
		c.frame = append(c.frame, failure.Error()[:min(len(failure.Error()), fieldsMax)]...)
		return c.write(kindFailure, nil)
	}
	e := encoder{c.frame}
	switch m := answer.(type) {
	case *raft.AppendEntriesResponse:
		e.appendEntriesAnswer(m)
	case *raft.RequestVoteResponse:
		e.requestVoteAnswer(m)
	case *raft.RequestPreVoteResponse:
		e.requestPreVoteAnswer(m)
	case *raft.InstallSnapshotResponse:
		e.installSnapshotAnswer(m)
	case *raft.TimeoutNowResponse:
		e.header(m.RPCHeader)
	default:
		return errUnknownMessage
	}
	c.frame = e.out
	return c.write(kindAnswer, nil)
}

// SendSnapshot writes what follows the request to install it.
func (c *Compact) SendSnapshot(content io.Reader) error {
	part := make([]byte, snapshotPart)
	for {
		n, err := io.ReadFull(content, part)
		if n > 0 {
			c.begin()
			if err := c.writeData(kindSnapshot, n, part[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// begin leaves room for the head of a frame, behind which its fields are put.
func (c *Compact) begin() { c.frame = append(c.frame[:0], make([]byte, frameHead)...) }

// write writes a frame with the data of entries.
func (c *Compact) write(of kind, entries []*raft.Log) error {
	size := 0
	c.pieces = c.pieces[:0]
	for _, entry := range entries {
		if len(entry.Data) > 0 {
			size += len(entry.Data)
			c.pieces = append(c.pieces, entry.Data)
		}
	}
	err := c.writeData(of, size, c.pieces...)
	clear(c.pieces) // the data is no longer needed here
	return err
}

func (c *Compact) writeData(of kind, size int, data ...[]byte) error {
	fields := len(c.frame) - frameHead
	joined := size <= copyMax
	if joined {
		for _, piece := range data {
			c.frame = append(c.frame, piece...)
		}
	}
	sum := crc32.Checksum(c.frame[frameHead:], castagnoli)
	if !joined {
		for _, piece := range data {
			sum = crc32.Update(sum, castagnoli, piece)
		}
	}
	if err := c.head(of, fields, size, sum); err != nil {
		return err
	}
	if joined {
		_, err := c.out.Write(c.frame)
		return err
	}
	c.buffers = append(append(c.buffers[:0], c.frame), data...)
	pieces := c.buffers // what is written is taken off the front
	defer clear(c.buffers)
	if conn, ok := c.out.(vectored); ok {
		return conn.WriteBuffers(&pieces)
	}
	_, err := pieces.WriteTo(c.out)
	return err
}

// head completes the head of a frame.
func (c *Compact) head(of kind, fields, size int, sum uint32) error {
	if fields > fieldsMax || size > dataMax {
		return damaged("one of %d and %d bytes cannot be sent", fields, size)
	}
	head := c.frame[:frameHead]
	head[0] = byte(of)
	binary.LittleEndian.PutUint32(head[4:], uint32(fields))
	binary.LittleEndian.PutUint32(head[8:], uint32(size))
	binary.LittleEndian.PutUint32(head[12:], sum)
	binary.LittleEndian.PutUint32(head[16:], crc32.Checksum(head[:16], castagnoli))
	return nil
}

// read reads the head and the fields of a frame. Its data is still to be read.
func (c *Compact) read() (of kind, data int, sum uint32, err error) {
	head, err := c.in.Peek(frameHead)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, 0, 0, err
	}
	if binary.LittleEndian.Uint32(head[16:]) != crc32.Checksum(head[:16], castagnoli) {
		return 0, 0, 0, damaged("the head of a frame has another checksum")
	}
	of = kind(head[0])
	fields, size := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	sum = binary.LittleEndian.Uint32(head[12:])
	if head[1] != 0 || head[2] != 0 || head[3] != 0 || fields > fieldsMax || size > dataMax {
		return 0, 0, 0, damaged("a frame of kind %d with %d and %d bytes", of, fields, size)
	}
	_, _ = c.in.Discard(frameHead) // it was peeked
	if cap(c.fields) < int(fields) {
		c.fields = make([]byte, fields)
	}
	c.fields = c.fields[:fields]
	if _, err := io.ReadFull(c.in, c.fields); err != nil {
		return 0, 0, 0, cut(err)
	}
	if size == 0 && crc32.Checksum(c.fields, castagnoli) != sum {
		return 0, 0, 0, errSum
	}
	return of, int(size), sum, nil
}

var errSum = damaged("what a frame carries has another checksum")

// cut is the error of a connection that ended within a frame.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Waits reports whether a request has arrived whole. Damage is for Asked to find.
func (c *Compact) Waits() bool {
	if c.in.Buffered() < frameHead {
		return false
	}
	head, err := c.in.Peek(frameHead)
	if err != nil || binary.LittleEndian.Uint32(head[16:]) != crc32.Checksum(head[:16], castagnoli) {
		return false
	}
	fields, size := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	return uint64(c.in.Buffered()) >= frameHead+uint64(fields)+uint64(size)
}

// Asked reads a request.
func (c *Compact) Asked() (any, error) {
	of, size, sum, err := c.read()
	if err != nil {
		return nil, err
	}
	if of != kindAppendEntries && size > 0 {
		return nil, damaged("a frame of kind %d with data", of)
	}
	d := decoder{in: c.fields, name: c.name}
	var request any
	switch of {
	case kindAppendEntries:
		request, err = c.appended(&d, size, sum)
	case kindRequestVote:
		request = d.requestVote()
	case kindRequestPreVote:
		request = d.requestPreVote()
	case kindInstallSnapshot:
		request = d.installSnapshot()
	case kindTimeoutNow:
		request = &raft.TimeoutNowRequest{RPCHeader: d.header()}
	default:
		return nil, damaged("a request of kind %d", of)
	}
	if err == nil {
		err = d.end()
	}
	c.name = d.name
	return request, err
}

// appended reads a message with entries, whose data is read to where it stays.
func (c *Compact) appended(d *decoder, size int, sum uint32) (any, error) {
	request, lengths := d.appendEntries(size)
	if err := d.end(); err != nil {
		return nil, err
	}
	if size == 0 {
		return request, nil
	}
	got := crc32.Checksum(c.fields, castagnoli)
	for i, length := range lengths {
		if length == 0 {
			continue
		}
		data, err := c.data(length)
		if err != nil {
			return nil, err
		}
		got = crc32.Update(got, castagnoli, data)
		request.Entries[i].Data = data
	}
	if got != sum {
		return nil, errSum
	}
	return request, nil
}

// dataStep is how much memory is taken at once for data that is still to come: enough for
// a message of the largest body, which is not copied then.
const dataStep = 2 << 20

// data reads the data of an entry.
func (c *Compact) data(length int) ([]byte, error) {
	data := make([]byte, min(length, dataStep))
	for at := 0; ; {
		if _, err := io.ReadFull(c.in, data[at:]); err != nil {
			return nil, cut(err)
		}
		if at = len(data); at == length {
			return data, nil
		}
		data = append(data, make([]byte, min(length-at, max(dataStep, at)))...)
	}
}

// Answer reads an answer.
func (c *Compact) Answer(into any) error {
	of, size, _, err := c.read()
	if err != nil {
		return err
	}
	if size > 0 || of != kindAnswer && of != kindFailure {
		return damaged("a frame of kind %d and %d bytes as an answer", of, size)
	}
	if of == kindFailure {
		return Failure(c.fields)
	}
	d := decoder{in: c.fields, name: c.name}
	switch m := into.(type) {
	case *raft.AppendEntriesResponse:
		d.appendEntriesAnswer(m)
	case *raft.RequestVoteResponse:
		d.requestVoteAnswer(m)
	case *raft.RequestPreVoteResponse:
		d.requestPreVoteAnswer(m)
	case *raft.InstallSnapshotResponse:
		d.installSnapshotAnswer(m)
	case *raft.TimeoutNowResponse:
		*m = raft.TimeoutNowResponse{RPCHeader: d.header()}
	default:
		return errUnknownMessage
	}
	c.name = d.name
	return d.end()
}

// Snapshot reads a snapshot.
func (c *Compact) Snapshot(size int64) io.Reader { return &snapshotReader{conn: c, left: size} }

// snapshotReader joins the parts of a snapshot.
type snapshotReader struct {
	conn *Compact
	left int64  // of the snapshot, in the parts to come
	rest []byte // of the part that was read
}

// Read gives out verified content.
func (r *snapshotReader) Read(content []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(content, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *snapshotReader) next() error {
	c := r.conn
	of, size, sum, err := c.read()
	if err != nil {
		return cut(err)
	}
	if of != kindSnapshot || len(c.fields) > 0 || size == 0 || size > snapshotPart || int64(size) > r.left {
		return damaged("a frame of kind %d with %d bytes in a snapshot", of, size)
	}
	if c.part == nil {
		c.part = make([]byte, snapshotPart)
	}
	if _, err := io.ReadFull(c.in, c.part[:size]); err != nil {
		return cut(err)
	}
	if crc32.Checksum(c.part[:size], castagnoli) != sum {
		return errSum
	}
	r.rest, r.left = c.part[:size], r.left-int64(size)
	return nil
}
