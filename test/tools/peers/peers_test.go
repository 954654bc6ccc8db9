package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The test program is a server of the floor, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == floorCommand {
		main()
	}
	os.Exit(m.Run())
}

// Each sync of a slowed program waits, and the program can be ended.
func TestSyncsTakeTheTimeOfADisk(t *testing.T) {
	dir, err := directory(20 * time.Millisecond)
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	write := func(disk time.Duration, flag string) time.Duration {
		began := time.Now()
		s, err := startServer(dir, "dd", exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(dir, "file"), "bs=1k", "count=100", flag), disk)
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

func TestRESP(t *testing.T) {
	if got := string(appendRESP(nil, []string{"WAIT", "1"})); got != "*2\r\n$4\r\nWAIT\r\n$1\r\n1\r\n" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]any{
		"+OK\r\n": "OK", ":-7\r\n": int64(-7), "$-1\r\n": nil, "*-1\r\n": nil, "$3\r\na\r\n\r\n": "a\r\n", "$0\r\n\r\n": "",
		"*2\r\n:1\r\n*1\r\n+a\r\n": []any{int64(1), []any{"a"}},
	} {
		if got, err := readRESP(bufio.NewReader(strings.NewReader(text))); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"-ERR no\r\n", "", "x\r\n", "?1\r\n", ":a\r\n", "$5\r\nab\r\n", "*2\r\n:1\r\n"} {
		if got, err := readRESP(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestRedisAnswers(t *testing.T) {
	for _, answer := range []any{int64(1), int64(2), []any{int64(1), int64(1)}} {
		if err := enough(answer); err != nil {
			t.Errorf("%v: %v", answer, err)
		}
	}
	for _, answer := range []any{int64(0), nil, "OK", []any{int64(0), int64(2)}, []any{int64(1), int64(0)}} {
		if enough(answer) == nil {
			t.Errorf("%v is enough", answer)
		}
	}
	if id, ok := firstID([]any{[]any{"s1", []any{[]any{"5-1", []any{"b", "x"}}}}}); id != "5-1" || !ok {
		t.Errorf("%q, %v", id, ok)
	}
	for _, answer := range []any{nil, []any{}, []any{[]any{"s1", []any{}}}} {
		if id, ok := firstID(answer); ok {
			t.Errorf("%v has the id %q", answer, id)
		}
	}
}

func TestRedisVersion(t *testing.T) {
	if got := redisVersion("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0"); got != "7.0.15" {
		t.Error(got)
	}
	for version, want := range map[string]bool{"7.2.0": true, "7.10.1": true, "8.0.0": true, "7.0.15": false, "6.9": false, "unknown": false, "7.x": false} {
		if atLeast(version, 7, 2) != want {
			t.Errorf("%s at least 7.2: %v", version, !want)
		}
	}
}

func TestNATSAnswer(t *testing.T) {
	for text, good := range map[string]bool{
		`{"stream":"s1","seq":10,"batch":"b","count":10}`: true, `{"error":{"code":400,"description":"no"},"stream":"s1","seq":0}`: false, `{}`: false, ``: false,
	} {
		if err := readNATSAnswer([]byte(text)); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReport(t *testing.T) {
	text := `{"messagesPerSecond":100,"errors":{},"latency":{"send":{"p50Us":1000,"p99Us":2000},"life":{"p50Us":3000,"p99Us":4500}}}`
	for lives, want := range map[bool]result{false: {Rate: 100, P50Ms: 1, P99Ms: 2}, true: {Rate: 100, P50Ms: 3, P99Ms: 4.5}} {
		if got, err := readBench([]byte(text), lives); err != nil || got != want {
			t.Errorf("lives %v: %v, %v", lives, got, err)
		}
	}
	if _, err := readBench([]byte(strings.Replace(text, `"errors":{}`, `"errors":{"Timeout":1}`, 1)), false); err == nil {
		t.Error("a run with failed calls was taken")
	}
}

func TestDrive(t *testing.T) {
	closed := make(chan bool, 3) // one of each client
	open := func(work step) func(int) (client, error) {
		return func(int) (client, error) { return client{step: work, close: func() { closed <- true }}, nil }
	}
	busy := func(ctx context.Context) (int, error) { pause(ctx, time.Millisecond); return 10, nil }
	got, err := drive(t.Context(), 3, 10*time.Millisecond, open(busy))
	if err != nil || got.Rate <= 0 || got.P50Ms < 1 || got.P99Ms < got.P50Ms {
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

// A message is in the files of the leader and of a follower when it is confirmed, also
// one of the next client.
func TestFloor(t *testing.T) {
	t.Run("alone", func(t *testing.T) { checkFloor(t, startFloor) })
	t.Run("handed", func(t *testing.T) { checkFloor(t, startHandedFloor) })
}

// Over HTTP each request is a message, through a follower, too.
func TestFloorOverHTTP(t *testing.T) {
	dir := t.TempDir()
	peer, _, err := startServedFloor(t.Context(), dir, options{})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.close()
	if one := sends("", 1, 1); peer.takes(one) || !peer.takes(at(leader, one)) || !peer.takes(at(follower, one)) {
		t.Error("it is for one client at a server that is named")
	}
	addresses := peer.(*floorPeer).addresses
	for _, address := range []string{addresses[2], addresses[0]} {
		for range 2 {
			response, err := http.Post("http://"+address, "", strings.NewReader(strings.Repeat("x", 1000)))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != 200 || !bytes.Contains(text, []byte("MessageId")) {
				t.Errorf("%s: %d, %s, %v", address, response.StatusCode, text, err)
			}
			response.Body.Close()
		}
	}
	asks, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addresses[2], strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	asks.Header.Set("X-Amz-Target", "AmazonSQS.GetQueueUrl")
	if response, err := http.DefaultClient.Do(asks); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("who asks for a queue is answered %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	if leader, followers := records(t, dir, "log2"), max(records(t, dir, "log0"), records(t, dir, "log1")); leader != 5 || followers != 5 {
		t.Errorf("%d messages at the leader, %d at the follower that has most, want 5 with the first", leader, followers)
	}
}

// records is how many messages a server of the floor has written.
func records(t *testing.T, dir, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return len(bytes.TrimRight(text, "\x00")) / floorRecord
}

func checkFloor(t *testing.T, start func(context.Context, string, options) (contender, description, error)) {
	dir := t.TempDir()
	peer, _, err := start(t.Context(), dir, options{})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.close()
	if peer.takes(sends("", 16, 1)) || peer.takes(asynchronous) || !peer.takes(sends("", 1, 1)) {
		t.Error("it is for one client that awaits each answer")
	}
	for _, w := range []workload{sends("", 1, 1), at(leader, sends("", 1, 1)), at(follower, sends("", 1, 1))} {
		if got, err := peer.measure(t.Context(), w, 10*time.Millisecond); err != nil || got.Rate <= 0 {
			t.Errorf("%v, %v", got, err)
		}
	}
	leader, followers := records(t, dir, "log2"), max(records(t, dir, "log0"), records(t, dir, "log1"))
	if leader < 4 || followers != leader {
		t.Errorf("%d messages at the leader, %d at the follower that has most", leader, followers)
	}
}

// What a server and its children use is seen, and what others use is not.
func TestUsageOfServers(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the system does not tell")
	}
	s, err := startServer(t.TempDir(), "busy", exec.Command("sh", "-c", "setsid sh -c 'while :; do :; done' & trap \"kill $!\" TERM; wait"), 0)
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
