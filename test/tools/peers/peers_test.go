package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSyncsTakeTheTimeOfADisk checks that each sync of a slowed program waits, and that the program
// can be ended.
func TestSyncsTakeTheTimeOfADisk(t *testing.T) {
	dir, err := directory(20 * time.Millisecond)
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	write := func(disk time.Duration, flag string) time.Duration {
		began := time.Now()
		s, err := startServer(dir, "dd", exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "file"), "bs=1k", "count=100", flag),
			disk)
		if err != nil {
			t.Fatal(err)
		}
		<-s.ended
		if code := s.process.ProcessState.ExitCode(); code != 0 {
			t.Skipf("programs cannot be traced here: %d, %s", code, s.tail())
		}
		return time.Since(began)
	}
	const syncs, disk = 5, 20 * time.Millisecond
	var slow time.Duration
	for range syncs {
		slow += write(disk, "conv=fdatasync")
	}
	if slow < syncs*disk {
		t.Errorf("%d syncs took %v, want at least %v", syncs, slow, syncs*disk)
	}
	s, err := startServer(dir, "sleep", exec.Command("sleep", "60"), disk)
	if err != nil {
		t.Fatal(err)
	}
	s.close() // waits for it
}

func TestNATSAnswer(t *testing.T) {
	for text, good := range map[string]bool{
		`{"stream":"s1","seq":10,"batch":"b","count":10}`: true, `{"error":{"code":400,"description":"no"},"stream":"s1","seq":0}`: false,
		`{}`: false, ``: false,
	} {
		if err := readNATSAnswer([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReport(t *testing.T) {
	text := `{"messagesPerSecond":100,"messages":100,"calls":300,"warmupSeconds":1,"measuredSeconds":1,"generator":{"callUs":20},"errors":{},"latency":{"send":{"p50Us":1000,"p99Us":2000},"life":{"p50Us":3000,"p99Us":4500}}}`
	for lives, want := range map[bool]result{false: {Rate: 100, P50Ms: 1, P99Ms: 2, GeneratorUs: 30},
		true: {Rate: 100, P50Ms: 3, P99Ms: 4.5, GeneratorUs: 30}} {
		if got, err := readBench([]byte(text), lives); err != nil || got != want {
			t.Errorf("lives %v: %v, %v", lives, got, err)
		}
	}
	if _, err := readBench([]byte(strings.Replace(text, `"errors":{}`, `"errors":{"Timeout":1}`, 1)), false); err == nil {
		t.Error("a run with failed calls was taken")
	}
}

func TestDrive(t *testing.T) {
	closed := make(chan bool, 3) // one from each client
	open := func(work step) func(int) (client, error) {
		return func(int) (client, error) { return client{step: work, close: func() { closed <- true }}, nil }
	}
	busy := func(ctx context.Context) (int, error) { pause(ctx, time.Millisecond); return 10, nil }
	got, err := drive(t.Context(), 3, 10*time.Millisecond, open(busy))
	if err != nil || got.Rate <= 0 || got.P50Ms < 1 || got.P99Ms < got.P50Ms || got.GeneratorUs <= 0 {
		t.Errorf("%v, %v", got, err)
	}
	for range 3 {
		<-closed
	}
	wrong := errors.New("wrong")
	if _, err := drive(t.Context(), 1, time.Minute, open(func(context.Context) (int, error) { return 0, wrong })); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	<-closed
	if _, err := drive(t.Context(), 2, time.Minute, func(number int) (client, error) {
		if number == 1 {
			return client{}, wrong
		}
		return client{step: busy, close: func() { closed <- true }}, nil
	}); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
	<-closed
}

// TestUsageOfServers checks that the usage of a server includes its children and nothing else.
func TestUsageOfServers(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not tell")
	}
	s, err := startServer(t.TempDir(), "busy", exec.Command("sh", "-c", "setsid sh -c 'while :; do :; done' & trap \"kill $!\" TERM; wait"),
		0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	idle, err := startServer(t.TempDir(), "idle", exec.Command("sleep", "60"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.close()
	for deadline := time.Now().Add(time.Minute); serversTime([]*server{s}) < 50*time.Millisecond; pause(t.Context(), time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is seen of what a child uses")
		}
	}
	if used := serversTime([]*server{idle}); used > 20*time.Millisecond {
		t.Errorf("a server that sleeps used %v", used)
	}
}

func TestRecord(t *testing.T) {
	r := newRecord(options{duration: time.Second, rounds: 2})
	r.Queues = []description{{Name: "ours"}, {Name: "theirs"}}
	r.add(1, 1, result{Rate: 5}, nil)
	r.add(1, 1, result{}, errors.New("gone\nand more"))
	if got := r.Measured[1]; len(got) != 2 || len(got[0].Runs) != 0 || got[1].Runs[0].Rate != 5 || got[1].Problem != "gone" {
		t.Errorf("%+v", got)
	}
	if err := r.write(filepath.Join(t.TempDir(), "peers.json")); err != nil {
		t.Error(err)
	}
}
