package server

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// endAs in the environment makes the test binary end at once: with that exit
// code, or by SIGKILL for 0.
const endAs = "TEST_BINARY_ENDS_WITH"

func TestMain(m *testing.M) {
	if code, err := strconv.Atoi(os.Getenv(endAs)); err == nil {
		if code == 0 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestCurable(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		code int
		want bool
	}{
		{"killed", 0, true},
		{"failed", 1, true},
		{"wrong settings", 78, false},
		{"panic", 2, true},
		{"disk error", 80, true},
		{"disk hang", 81, true},
		{"checksum", 82, false},
		{"other state than the others", 83, false},
		{"lost data", 84, false},
		{"unknown format", 85, false},
		{"stuck transfer", 86, true},
		{"removed", 87, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := exec.Command(self)
			c.Env = append(os.Environ(), endAs+"="+strconv.Itoa(tt.code))
			ended := c.Run()
			if ended == nil {
				t.Fatal("the process ended with 0")
			}
			if got := curable(ended); got != tt.want {
				t.Errorf("%v: start again %v, want %v", ended, got, tt.want)
			}
		})
	}
}

// full is a standard output that fails.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// If the supervisor cannot print, it stops its nodes and ends.
func TestOutputIsFull(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(endAs, "1")
	s := supervisor{flags: devFlags{nodes: 1, basePort: 1}, dir: t.TempDir(), binary: self, pass: []string{"--shutdown-timeout=1ms"},
		out: full{}, words: io.Discard}
	ctx, ended := t.Context(), make(chan error, 1)
	go func() { ended <- s.run(ctx, time.Now()) }()
	select {
	case err := <-ended:
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	case <-time.After(4 * stopMargin):
		t.Fatal("it does not end")
	}
}

// Nodes share the processors of their machine, unless the operator has set GOMAXPROCS.
func TestProcessors(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "")
	for nodes, want := range map[int]int{1: max(all, nodeProcessorsMin), all: nodeProcessorsMin, 2 * all: nodeProcessorsMin} {
		s := supervisor{flags: devFlags{nodes: nodes}}
		if got := s.processors(); !slices.Equal(got, []string{"GOMAXPROCS=" + strconv.Itoa(want)}) {
			t.Errorf("%d nodes on %d processors: %v", nodes, all, got)
		}
	}
	t.Setenv("GOMAXPROCS", "7")
	if got := (&supervisor{flags: devFlags{nodes: 3}}).processors(); got != nil {
		t.Errorf("%v instead of what the operator said", got)
	}
}
