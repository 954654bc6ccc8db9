package server

import (
	"io"
	"sync"
)

// recentBytes is how much of the end of the log is kept in memory, for whoever collects
// what is needed to find out what went wrong.
const recentBytes = 256 << 10

// recentLog passes a log on and keeps its newest lines. Safe for concurrent use.
type recentLog struct {
	to io.Writer

	mu    sync.Mutex
	lines [][]byte // oldest first
	bytes int
}

// Write takes one line, as a handler of package slog writes it.
func (l *recentLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	l.lines, l.bytes = append(l.lines, append([]byte(nil), line...)), l.bytes+len(line)
	for l.bytes > recentBytes && len(l.lines) > 1 {
		l.bytes -= len(l.lines[0])
		l.lines[0], l.lines = nil, l.lines[1:]
	}
	l.mu.Unlock()
	return l.to.Write(line)
}

// writeTo writes what was kept.
func (l *recentLog) writeTo(out io.Writer) error {
	l.mu.Lock()
	lines := append([][]byte(nil), l.lines...)
	l.mu.Unlock()
	for _, line := range lines {
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}
