package discovery

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// lineLimit passes a line of each kind every lineLimitPause, because any sender of packets to the
// gossip port can cause lines. Safe for concurrent use.
type lineLimit struct {
	monotonic func() time.Duration

	mu   sync.Mutex
	seen map[string]time.Duration // time of the last line, by its first words
}

const (
	lineLimitPause = 30 * time.Second
	lineLimitKinds = 100
	lineLimitWords = 4
)

func (l *lineLimit) allows(line string) bool {
	words := strings.Fields(line)
	kind, now := strings.Join(words[:min(len(words), lineLimitWords)], " "), l.monotonic()
	l.mu.Lock()
	defer l.mu.Unlock()
	last, known := l.seen[kind]
	if known && now-last < lineLimitPause || !known && len(l.seen) >= lineLimitKinds {
		return false
	}
	l.seen[kind] = now
	return true
}

// gossipedPerAttempt reports whether gossip repeats a line for each probe of a dead node, or for
// each message from a foreign one. The death of a node is logged once elsewhere.
func gossipedPerAttempt(line string) bool {
	for _, begin := range []string{
		"Failed fallback TCP ping", "Failed UDP ping", "Failed to send UDP ping", "Failed to send indirect", "Failed to send gossip",
		"Push/Pull with", "ignoring alive message", "Was able to connect to",
	} {
		if strings.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// newLogger passes memberlist's lines to slog. A line begins with its level, such as "[WARN]
// memberlist: ...". Lines of the info level are of no use to operators and become debug.
func newLogger(ctx context.Context, logger *slog.Logger, monotonic func() time.Duration, refused *hostlimit.Refusals) *log.Logger {
	logger = logger.With("component", "gossip")
	seldom := lineLimit{monotonic: monotonic, seen: map[string]time.Duration{}}
	return log.New(lineWriter(func(line string) {
		level, text := slog.LevelDebug, line
		for prefix, value := range map[string]slog.Level{"[ERR]": slog.LevelWarn, "[ERROR]": slog.LevelWarn, "[WARN]": slog.LevelInfo,
			"[INFO]": slog.LevelDebug, "[DEBUG]": slog.LevelDebug} {
			if rest, found := strings.CutPrefix(line, prefix); found {
				level, text = value, rest
			}
		}
		text = strings.TrimPrefix(strings.TrimSpace(text), "memberlist: ")
		if why := refusedBy(text); why != "" {
			refused.Refuse(why, level, text)
			return
		}
		if gossipedPerAttempt(text) || level > slog.LevelDebug && !seldom.allows(text) {
			level = slog.LevelDebug
		}
		logger.Log(ctx, level, text)
	}), "", 0)
}

// lineWriter calls a function for each line.
type lineWriter func(line string)

func (w lineWriter) Write(content []byte) (int, error) {
	for line := range bytes.Lines(content) {
		if text := strings.TrimSpace(string(line)); text != "" {
			w(text)
		}
	}
	return len(content), nil
}
