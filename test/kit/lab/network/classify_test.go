package network

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Every kind of connection between nodes must have a class. Otherwise faults of the consensus or of
// forwarding would have no effect on it.
func TestEveryKindHasAClass(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../cluster/peernet/handshake.go")
	must(t, err)
	plain := map[string]bool{"Bootstrap": true, "Restore": true, "Membership": true, "Bodies": true}
	found := regexp.MustCompile(`(?m)^\tKind(\w+) +Kind = (\d+)`).FindAllStringSubmatch(string(text), -1)
	if len(found) < 9 {
		t.Fatalf("%d kinds", len(found))
	}
	for _, kind := range found {
		number, err := strconv.Atoi(kind[2])
		must(t, err)
		if _, classed := kinds[byte(number)]; classed == plain[kind[1]] {
			t.Errorf("Kind%s is of a class of its own: %v", kind[1], classed)
		}
	}
}
