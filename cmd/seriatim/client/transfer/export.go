package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// pageMax is the largest page of the API.
const pageMax = 100

// page is one answer to a peek.
type page struct {
	messages []*api.PeekedMessage
	next     uint64
}

// Export writes the messages of a queue from a sequence number on, in order, and returns how many.
// It calls report with this number after each page. If out fails or ctx ends, complete lines stay.
func Export(ctx context.Context, n *native.Conn, queue string, from uint64, pace *Pace, out io.Writer,
	report func(int64)) (count int64, err error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for {
		p, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) (page, error) {
			messages, next, err := c.Peek(ctx, queue, from, pageMax)
			return page{messages, next}, err
		})
		if err != nil {
			return count, err
		}
		lines.Reset()
		for _, m := range p.messages {
			if err := encoder.Encode(RecordOf(m)); err != nil {
				return count, err
			}
		}
		if _, err := out.Write(lines.Bytes()); err != nil {
			return count, fmt.Errorf("write the messages: %w", err)
		}
		count += int64(len(p.messages))
		report(count)
		if p.next == 0 {
			return count, nil
		}
		from = p.next
		if err := pace.Wait(ctx, int64(len(p.messages))); err != nil {
			return count, err
		}
	}
}

// Continue opens a file of an earlier export for appending. It removes an incomplete last line and
// returns the sequence number after that of the last message, and the number of lines.
func Continue(name string) (file *os.File, from uint64, lines int64, err error) {
	file, err = os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, 0, exit.New(exit.Usage, err, "")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	end, last, lines, err := lastLine(file)
	if err != nil {
		return file, 0, 0, err
	}
	if len(last) > 0 {
		r, err := parse(last)
		if err != nil {
			return file, 0, 0, exit.New(exit.Usage, fmt.Errorf("%s, last line: %w", name, err), "is it the file of an export?")
		}
		number, err := strconv.ParseUint(r.SequenceNumber, 10, 64)
		if err != nil {
			return file, 0, 0, exit.New(exit.Usage, fmt.Errorf("%s, last line: it has no sequence number", name),
				"start again with another file")
		}
		from = number + 1
	}
	if err := file.Truncate(end); err != nil {
		return file, 0, 0, err
	}
	_, err = file.Seek(end, io.SeekStart)
	return file, from, lines, err
}

// lastLine reads a file and returns the end of its last complete line, the line, and the number of
// complete lines.
func lastLine(file io.Reader) (end int64, last []byte, lines int64, err error) {
	in := newLines(file)
	for {
		line, whole, err := in.next()
		if errors.Is(err, io.EOF) || err == nil && !whole {
			return end, last, lines, nil
		}
		if err != nil {
			return 0, nil, 0, err
		}
		end = in.offset
		last = append(last[:0], line...)
		lines++
	}
}
