package freeport

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// takes makes the test binary a process that takes ports, prints them, and keeps them until its
// input ends.
const takes = "FREEPORT_TEST_TAKES"

func TestMain(m *testing.M) {
	if os.Getenv(takes) == "" {
		os.Exit(m.Run())
	}
	for range 150 { // more than one block
		first, err := Take(1)
		if err != nil {
			panic(err)
		}
		fmt.Println(first)
	}
	if err := os.Stdout.Close(); err != nil {
		panic(err)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// No port is reserved twice, in one process or in several.
func TestNoPortIsGivenTwice(t *testing.T) {
	var mu sync.Mutex
	owners := map[int]int{}
	give := func(owner, port int) {
		mu.Lock()
		defer mu.Unlock()
		if other, given := owners[port]; given {
			t.Errorf("port %d is given to %d and %d", port, other, owner)
		}
		owners[port] = owner
	}
	var running sync.WaitGroup
	for process := range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), takes+"=1")
		cmd.Stderr = os.Stderr
		hold, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			hold.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				var port int
				if _, err := fmt.Sscan(lines.Text(), &port); err != nil {
					t.Error(err)
				}
				give(process, port)
			}
		})
	}
	for range 150 {
		first, err := Take(3)
		if err != nil {
			t.Fatal(err)
		}
		for port := first; port < first+3; port++ {
			give(3, port)
		}
	}
	running.Wait()
	if want := 3*150 + 3*150; len(owners) != want {
		t.Errorf("%d ports were given, want %d", len(owners), want)
	}
}

// A port of another program is skipped.
func TestPortsOfOthersArePassedOver(t *testing.T) {
	first, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.ListenPacket("udp", loopback(first+1))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	got, err := Take(2)
	if err != nil {
		t.Fatal(err)
	}
	if got <= first+1 && first+1 <= got+1 {
		t.Fatalf("got %d and %d, but another program listens on %d", got, got+1, first+1)
	}
}
