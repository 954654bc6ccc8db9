package server

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// notifySocket leads to what started this process and wants to hear how far it is:
// systemd, by the protocol of sd_notify. Without a socket nothing is told.
type notifySocket struct {
	path string
	log  *slog.Logger
}

func newNotifySocket(log *slog.Logger) notifySocket {
	return notifySocket{path: os.Getenv("NOTIFY_SOCKET"), log: log}
}

const notifyTimeout = time.Second

// tell sends assignments, as READY=1.
func (m notifySocket) tell(ctx context.Context, assignments ...string) {
	if m.path == "" {
		return
	}
	dialer := net.Dialer{Timeout: notifyTimeout}
	conn, err := dialer.DialContext(ctx, "unixgram", m.path)
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(assignments, "\n")))
		_ = conn.Close() // a datagram is gone when it was written
	}
	if err != nil {
		m.log.Warn("cannot notify the service manager", "state", assignments, "error", err)
	}
}

// ignoreHangups keeps a server running when the terminal it was started from is
// closed. Settings are read at the start only, and a person who meant to have them
// read again is told so.
func ignoreHangups(log *slog.Logger) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() { // ends with stop
		for {
			select {
			case <-signals:
				log.Warn("SIGHUP is ignored: settings are read when the server starts, restart it to change them")
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
