package wire

import (
	"errors"
	"io"
	"net"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

const (
	// fieldsMax bounds the fields of a frame, dataMax the data of its entries: one entry may be as
	// large as the log allows.
	fieldsMax = 1 << 20
	dataMax   = 128 << 20
	// copyMax bounds the data that is copied after the fields and written with them. Larger data
	// is written without copying.
	copyMax = 8 << 10
	// readBuffer holds several small frames. The answering end uses the larger serveBuffer, because
	// it combines the messages that arrive while it answers one.
	readBuffer  = 16 << 10
	serveBuffer = 64 << 10
	// PartMax bounds the part of a snapshot in one frame.
	PartMax = 256 << 10
)

// Conn is one end of a connection. One goroutine writes and one reads.
//
// A request is a pointer to one of the library's: AppendEntriesRequest, RequestVoteRequest,
// RequestPreVoteRequest, InstallSnapshotRequest or TimeoutNowRequest. Its answer is a pointer to
// the response of that name. Answers come in the order of the requests.
type Conn struct {
	in  *frame.Reader
	out io.Writer

	frame   []byte      // buffer of the frame being written; large data stays out of it
	pieces  [][]byte    // of the frame being written
	buffers net.Buffers // the same, while they are written
	name    []byte      // the last id read, which most messages repeat
}

// vectored is a connection that writes several pieces with one call.
type vectored interface {
	WriteBuffers(pieces *net.Buffers) error
}

// nonBlocking is a connection that can write without blocking, as much as it accepts.
type nonBlocking interface {
	WriteNow(content []byte) (int, error)
}

// NewConn returns the requesting end of a connection.
func NewConn(conn io.ReadWriter) *Conn { return newConn(conn, readBuffer) }

// ServeConn returns the answering end of a connection.
func ServeConn(conn io.ReadWriter) *Conn { return newConn(conn, serveBuffer) }

func newConn(conn io.ReadWriter, buffer int) *Conn {
	return &Conn{in: frame.NewReader(conn, buffer, frame.Limits{Fields: fieldsMax, Data: dataMax}), out: conn}
}

// Ask writes a request.
func (c *Conn) Ask(request any) error {
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

// AskNow writes as much of a message as the connection accepts without blocking, and copies the
// entries. If finish is not nil, it writes the remainder. Call it before anything else is written.
func (c *Conn) AskNow(request *raft.AppendEntriesRequest) (finish func() error, err error) {
	c.begin()
	e := encoder{c.frame}
	e.appendEntries(request)
	c.frame = e.out
	fields := len(c.frame) - frame.Head
	for _, entry := range request.Entries {
		c.frame = append(c.frame, entry.Data...)
	}
	if err := fits(fields, len(c.frame)-frame.Head-fields); err != nil {
		return nil, err
	}
	frame.Finish(c.frame, uint8(kindAppendEntries), fields)
	n := 0
	if now, ok := c.out.(nonBlocking); ok {
		if n, err = now.WriteNow(c.frame); err != nil || n == len(c.frame) {
			return nil, err
		}
	}
	return func() error {
		_, err := c.out.Write(c.frame[n:])
		return err
	}, nil
}

var errUnknownMessage = errors.New("the consensus library sends a message of an unknown type")

// Reply writes an answer.
func (c *Conn) Reply(answer any, failure error) error {
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

// SendSnapshot writes the content of a snapshot after the request to install it.
func (c *Conn) SendSnapshot(content io.Reader) error {
	part := make([]byte, PartMax)
	for {
		n, err := io.ReadFull(content, part)
		if n > 0 {
			if err := c.SendPart(part[:n]); err != nil {
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

// begin starts a frame with room for its head.
func (c *Conn) begin() { c.frame = frame.Begin(c.frame) }

// write writes a frame with the data of entries.
func (c *Conn) write(of kind, entries []*raft.Log) error {
	size := 0
	c.pieces = c.pieces[:0]
	for _, entry := range entries {
		if len(entry.Data) > 0 {
			size += len(entry.Data)
			c.pieces = append(c.pieces, entry.Data)
		}
	}
	err := c.writeData(of, size, c.pieces...)
	clear(c.pieces) // the data may be released
	return err
}

func (c *Conn) writeData(of kind, size int, data ...[]byte) error {
	fields := len(c.frame) - frame.Head
	if err := fits(fields, size); err != nil {
		return err
	}
	if size <= copyMax {
		for _, piece := range data {
			c.frame = append(c.frame, piece...)
		}
		frame.Finish(c.frame, uint8(of), fields)
		_, err := c.out.Write(c.frame)
		return err
	}
	frame.Finish(c.frame, uint8(of), fields, data...)
	c.buffers = append(append(c.buffers[:0], c.frame), data...)
	pieces := c.buffers // WriteTo removes written pieces from the front
	defer clear(c.buffers)
	if conn, ok := c.out.(vectored); ok {
		return conn.WriteBuffers(&pieces)
	}
	_, err := pieces.WriteTo(c.out)
	return err
}

// fits returns an error if a frame cannot hold fields and data of these sizes.
func fits(fields, data int) error {
	if fields > fieldsMax || data > dataMax {
		return frame.Damaged("one of %d and %d bytes cannot be sent", fields, data)
	}
	return nil
}

// Waits reports whether a complete request has arrived.
func (c *Conn) Waits() bool { return c.in.Waits() }

// Asked reads a request. The error is io.EOF if the other end closed the connection.
func (c *Conn) Asked() (any, error) {
	number, fields, size, err := c.in.Next()
	if err != nil {
		return nil, err
	}
	of := kind(number)
	if of != kindAppendEntries && size > 0 {
		return nil, frame.Damaged("it is of kind %d, with data", of)
	}
	d := decoder{in: fields, name: c.name}
	var request any
	switch of {
	case kindAppendEntries:
		request, err = c.appended(&d, size)
	case kindRequestVote:
		request = d.requestVote()
	case kindRequestPreVote:
		request = d.requestPreVote()
	case kindInstallSnapshot:
		request = d.installSnapshot()
	case kindTimeoutNow:
		request = &raft.TimeoutNowRequest{RPCHeader: d.header()}
	default:
		return nil, frame.Damaged("it is of kind %d, as a request", of)
	}
	if err == nil {
		err = d.end()
	}
	c.name = d.name
	return request, err
}

// appended reads a message with entries. The data of each entry gets its own memory.
func (c *Conn) appended(d *decoder, size int) (any, error) {
	request, lengths := d.appendEntries(size)
	if err := d.end(); err != nil {
		return nil, err
	}
	for i, length := range lengths {
		if length == 0 {
			continue
		}
		data, err := c.in.Data(length)
		if err != nil {
			return nil, err
		}
		request.Entries[i].Data = data
	}
	return request, nil
}

// Answer reads an answer. If the other node refused, the error is a Failure.
func (c *Conn) Answer(into any) error {
	of, fields, err := c.readAnswer()
	if err != nil {
		return err
	}
	if of != kindAnswer {
		return frame.Damaged("it is of kind %d, as an answer", of)
	}
	d := decoder{in: fields, name: c.name}
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

// readAnswer reads a frame without data from the answering end.
func (c *Conn) readAnswer() (of kind, fields []byte, err error) {
	number, fields, size, err := c.in.Next()
	switch {
	case err != nil:
		return 0, nil, err
	case size > 0:
		return 0, nil, frame.Damaged("it is of kind %d, with data", number)
	case kind(number) == kindFailure:
		return 0, nil, Failure(fields)
	}
	return kind(number), fields, nil
}
