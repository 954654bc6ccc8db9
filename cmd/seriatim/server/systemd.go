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

// notifySocket is the socket of systemd for sd_notify. Without one, notify does nothing.
type notifySocket struct {
	path string
	log  *slog.Logger
}

func newNotifySocket(log *slog.Logger) notifySocket {
	return notifySocket{path: os.Getenv("NOTIFY_SOCKET"), log: log}
}

const notifyTimeout = time.Second

// notify sends assignments, such as READY=1.
func (m notifySocket) notify(ctx context.Context, assignments ...string) {
	if m.path == "" {
		return
	}
	dialer := net.Dialer{Timeout: notifyTimeout}
	conn, err := dialer.DialContext(ctx, "unixgram", m.path)
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(assignments, "\n")))
		_ = conn.Close() // the datagram is already sent
	}
	if err != nil {
		m.log.Warn("cannot notify the service manager", "state", assignments, "error", err)
	}
}

// ignoreHangups keeps a server running when its terminal is closed. It logs a warning, because
// other servers reload their settings on SIGHUP.
func ignoreHangups(log *slog.Logger) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() { // ends with stop
		for {
			select {
			case <-signals:
				log.Warn("SIGHUP is ignored: the server reads its settings only at the start, restart it to change them")
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
