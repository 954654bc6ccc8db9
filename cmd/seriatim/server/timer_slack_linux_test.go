package server

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// printSlack in the environment makes TestTimerSlack be a program that sets its timer
// slack, and prints its id and the slack.
const printSlack = "TEST_BINARY_PRINTS_TIMER_SLACK"

func TestTimerSlack(t *testing.T) {
	if os.Getenv(printSlack) != "" {
		SlackenTimers()
		SlackenTimers() // more than once is once
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		fmt.Println(os.Getpid(), slack, err)
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, inherited := range []string{"", "1"} { // from another process, which started this one
		c := exec.Command(self, "-test.run=^TestTimerSlack$") // only with its arguments it is that test again
		c.Env = append(os.Environ(), printSlack+"=yes", slackSetIn+"="+inherited)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintln(c.Process.Pid, int64(timerSlack), nil); string(out) != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
}
