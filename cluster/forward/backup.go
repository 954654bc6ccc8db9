package forward

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
)

// A backup has a connection of its own from the node that received it to the leader. It consists of
// pieces, each a length (4 bytes) and as many bytes, and ends with a length of zero. The answer
// follows as JSON. A connection that breaks before the zero restores nothing.
const (
	backupPieceMax = 1 << 20
	// backupIdleTimeout bounds the silence of either end during a transfer.
	backupIdleTimeout = 30 * time.Second
)

// refusalTimeout bounds the wait for an answer that precedes the end of the backup.
const refusalTimeout = 5 * time.Second

// SendBackup sends a backup to the leader over conn, which it closes, and decodes the answer. It
// does not read backup after its return. The error is ErrOutcomeUnknown if everything was sent and
// no answer came.
func SendBackup(ctx context.Context, conn net.Conn, backup io.Reader, answer any) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// The leader may refuse early. Closing conn then ends the sender, which must happen before
	// backup returns to the caller.
	sent := make(chan error, 1)
	go func() {
		reading, writing := sendPieces(conn, backup)
		if reading != nil {
			conn.Close()
		} else if writing != nil { // an answer may be on its way
			time.AfterFunc(refusalTimeout, func() { conn.Close() })
		}
		sent <- errors.Join(reading, writing)
	}()
	err := json.NewDecoder(conn).Decode(answer)
	conn.Close()
	sending := <-sent
	switch {
	case err == nil:
		return nil
	case sending != nil:
		return fmt.Errorf("passing the backup on to the leader: %w", sending)
	default:
		return fmt.Errorf("%w: waiting for the leader to restore: %w", fault.ErrOutcomeUnknown, err)
	}
}

// sendPieces sends a backup. It returns the errors of reading from backup and of writing to conn.
func sendPieces(conn net.Conn, backup io.Reader) (reading, writing error) {
	idle := time.AfterFunc(backupIdleTimeout, func() { conn.Close() })
	defer idle.Stop()
	piece := make([]byte, 4+backupPieceMax)
	for {
		count, err := io.ReadFull(backup, piece[4:])
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err, nil
		}
		binary.BigEndian.PutUint32(piece, uint32(count))
		content := piece[:4+count]
		if last && count > 0 {
			content = append(content, 0, 0, 0, 0)
		}
		idle.Reset(backupIdleTimeout)
		if _, err := conn.Write(content); err != nil || last {
			return nil, err
		}
	}
}

// ReceiveBackup calls restore with the backup that SendBackup sends over conn, and sends its
// answer. restore may stop reading early. ReceiveBackup closes conn.
func ReceiveBackup(ctx context.Context, conn net.Conn, restore func(backup io.Reader) (answer any)) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	idle := time.AfterFunc(backupIdleTimeout, func() { conn.Close() })
	answer := restore(&pieceReader{source: bufio.NewReader(conn), idle: idle})
	idle.Stop()
	if json.NewEncoder(conn).Encode(answer) != nil {
		return // the other end sees a broken connection
	}
	// Read until the other end has the answer and closes: closing first would reset the connection
	// and lose the answer.
	stopWaiting := time.AfterFunc(refusalTimeout, func() { conn.Close() })
	defer stopWaiting.Stop()
	_, _ = io.Copy(io.Discard, conn)
}

// pieceReader reads the output of sendPieces. Only a length of zero ends it.
type pieceReader struct {
	source *bufio.Reader
	idle   *time.Timer // closes the connection
	left   uint32
	ended  bool
}

// Read reads the content of pieces.
func (p *pieceReader) Read(content []byte) (int, error) {
	for p.left == 0 {
		if p.ended {
			return 0, io.EOF
		}
		if err := binary.Read(p.source, binary.BigEndian, &p.left); err != nil {
			return 0, fmt.Errorf("the backup broke off: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		if p.idle.Reset(backupIdleTimeout); p.left == 0 {
			p.idle.Stop() // nothing more is expected
			p.ended = true
		}
	}
	n, err := p.source.Read(content[:min(len(content), int(p.left))])
	p.left -= uint32(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
