package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder writes a history. Safe for concurrent use.
type Recorder struct {
	began time.Time
	next  atomic.Int64

	mu     sync.Mutex
	file   *os.File
	buffer *bufio.Writer
	events []Event // since the last Take
	err    error
}

// NewRecorder begins a history in a new file. Its times count from now.
func NewRecorder(path string) (*Recorder, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("begin a history: %w", err)
	}
	return &Recorder{began: time.Now(), file: file, buffer: bufio.NewWriterSize(file, 256<<10)}, nil
}

// Now returns the microseconds since the beginning, by the monotonic clock.
func (r *Recorder) Now() int64 { return time.Since(r.began).Microseconds() }

// At returns the time of another moment.
func (r *Recorder) At(t time.Time) int64 { return t.Sub(r.began).Microseconds() }

// Next returns a new number for an operation.
func (r *Recorder) Next() int64 { return r.next.Add(1) }

// Add appends a line. It gives the line a number if it has none.
func (r *Recorder) Add(e Event) {
	if e.ID == 0 {
		e.ID = r.Next()
	}
	line, err := json.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	if err == nil {
		_, err = r.buffer.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

// Rotate ends the current file and begins another one. It returns the lines since the last
// rotation. Numbers and times continue.
func (r *Recorder) Rotate(path string) ([]Event, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("go on with a history: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	events, err := r.end()
	r.file, r.events, r.err = file, nil, nil
	r.buffer.Reset(file)
	return events, err
}

// Close ends the history and returns the lines since the last rotation.
func (r *Recorder) Close() ([]Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end()
}

func (r *Recorder) end() ([]Event, error) {
	for _, err := range []error{r.err, r.buffer.Flush(), r.file.Close()} {
		if err != nil {
			return nil, fmt.Errorf("write a history: %w", err)
		}
	}
	return r.events, nil
}
