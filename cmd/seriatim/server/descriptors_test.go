package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files          uint64
		wanted         int
		clients, admin int
	}{
		{0, 20_000, 20_000, 1000},
		{1 << 63, 20_000, 20_000, 1000},
		{65_536, 20_000, 20_000, 1000},
		{20_000, 20_000, 17_976, 1000},
		{1024, 20_000, 640, 128},
		{1024, 100, 100, 128},
		{256, 20_000, 160, 32},
		{50, 20_000, 1, 6},
	} {
		var text bytes.Buffer
		clients, admin := limitConnections(c.files, c.wanted, slog.New(slog.NewTextHandler(&text, nil)))
		if clients != c.clients || admin != c.admin {
			t.Errorf("of %d files, %d wanted: %d and %d connections, want %d and %d", c.files, c.wanted, clients, admin, c.clients, c.admin)
		}
		if warned := strings.Contains(text.String(), "max-connections"); warned != (clients < c.wanted) {
			t.Errorf("of %d files, %d wanted: warned %v: %s", c.files, c.wanted, warned, text.String())
		}
	}
}
