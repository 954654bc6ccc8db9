package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestBenchUsage(t *testing.T) {
	for _, args := range []string{
		"send --clients 0", "send --batch 11", "send --size 0", "send --batch 10 --size 200000", "send --count -1",
		"send --rate -1", "send --duration 0s", "send --duration 25h", "send --warmup -1s", "send --groups -1", "send --queue standard",
		"send --endpoint http://127.0.0.1:1,https://127.0.0.1:2", "send --existing",
		"send --existing --queue q.fifo --set A=b",
		"send --protocol udp", "send --repeat 101", "send --repeat 50 --duration 5m", "send --repeat 50 --protocol stream",
		"send --connections 4", "send --connections 4 --protocol stream", "send --clients 4 --protocol grpc --connections 5",
		"send --protocol grpc --connections -1",
		"fifo --clients 4 --groups 3", "fifo --protocol stream", "consume --clients 4 --groups 3", "consume --existing --queue q.fifo",
		"poll --idle -1s", "poll --batch 2",
	} {
		endpoint := "http://127.0.0.1:1"
		fields := strings.Fields(args)
		if i := slices.Index(fields, "--endpoint"); i >= 0 {
			endpoint, fields = fields[i+1], slices.Delete(fields, i, i+2)
		}
		got := runTool(t, endpoint, "", append([]string{"bench"}, fields...)...)
		if code := exit.CodeOf(got.err); code != exit.Usage {
			t.Errorf("bench %s: exit code %d: %v", args, code, got.err)
		}
	}
}
