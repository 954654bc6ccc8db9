package server

import (
	"os/exec"
	"strings"
	"testing"
)

func TestChildrenHaveTimerSlack(t *testing.T) {
	var slack strings.Builder
	c := exec.Command("cat", "/proc/self/timerslack_ns")
	c.Stdout = &slack
	if err := start(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || slack.String() != "1000000\n" {
		t.Errorf("%q, %v; want a millisecond", slack.String(), err)
	}
}
