package server

import (
	"io"
	"log/slog"
	"sync"

	"github.com/seriatimq/seriatim/transport/ops/records"
)

// recentBytes bounds the log lines in memory. The debug bundle contains them.
const recentBytes = 256 << 10

// recentLog forwards a log and keeps its newest lines. Safe for concurrent use.
type recentLog struct {
	to      io.Writer
	records *records.Ring // the newest records, for the admin port
	level   slog.LevelVar // the lowest level of the log

	mu    sync.Mutex
	lines [][]byte // oldest first
	bytes int
}

// Write handles one line: handlers of package slog write a line with one call.
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

// writeTo writes the kept lines, oldest first.
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
