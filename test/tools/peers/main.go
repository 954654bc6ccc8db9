package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const bodyBytes = 256

// workload is a line of the comparison.
type workload struct {
	name    string
	clients int
	batch   int
	lives   bool
	ours    []string // of seriatim bench
}

func workloads() []workload {
	return []workload{
		{"1 client", 1, 1, false, []string{"send", "--clients", "1"}},
		{"16 clients", 16, 1, false, []string{"send", "--clients", "16"}},
		{"64 clients", 64, 1, false, []string{"send", "--clients", "64"}},
		{"256 clients", 256, 1, false, []string{"send", "--clients", "256"}},
		{"64 clients, ten at a time", 64, 10, false, []string{"send", "--clients", "64", "--batch", "10"}},
		{"64 clients, send, receive, delete", 64, 1, true, []string{"fifo", "--clients", "64"}},
	}
}

// result is what one run gave.
type result struct {
	rate     float64
	p50, p99 time.Duration
}

// peer is a queue under test.
type peer interface {
	name() string
	measure(ctx context.Context, w workload, duration time.Duration) (result, error)
	close()
}

func main() {
	binary := flag.String("seriatim", "bin/seriatim", "the program to compare with")
	duration := flag.Duration("duration", 5*time.Second, "measured time of one run")
	out := flag.String("out", "test/bench/PEERS.md", "file to write")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := compare(ctx, *binary, *duration, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compare runs every workload on seriatim and on each peer, and writes the
// table. All are up at once; only one is under load.
func compare(ctx context.Context, binary string, duration time.Duration, out string) error {
	dir, err := os.MkdirTemp("", "seriatim-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := startSeriatim(ctx, binary, filepath.Join(dir, "seriatim"))
	if err != nil {
		return err
	}
	defer ours.close()
	ports, err := freePorts(6)
	if err != nil {
		return err
	}
	nats, err := startNATS(ctx, dir, ports)
	if err != nil {
		return err
	}
	defer nats.close()
	for _, program := range []string{"rabbitmq-server", "redis-server"} {
		fmt.Fprintln(os.Stderr, program+": left out, this program does not drive it yet")
	}
	text := &bytes.Buffer{}
	fmt.Fprintf(text, "# Measured beside other queues\n\nWritten by `make bench-peers`; do not edit. Three nodes each, every message synced to the disks of a majority before it is\n"+
		"confirmed, %d-byte bodies, unique deduplication ids, one connection for each client; all nodes and the load on one machine\n"+
		"with %d CPUs, one queue under load at a time, %v each. %s.\n\nThe load on seriatim is SQS JSON over HTTP, that on a peer its own protocol.\n\n",
		bodyBytes, runtime.NumCPU(), duration, time.Now().UTC().Format("2006-01-02"))
	fmt.Fprintf(text, "| Workload | seriatim, messages/s (p50 / p99 ms) | %s | Ratio of the rates |\n| --- | --- | --- | --- |\n", nats.name())
	for _, w := range workloads() {
		mine, err := ours.measure(ctx, w, duration)
		if err != nil {
			return fmt.Errorf("seriatim, %s: %w", w.name, err)
		}
		theirs, err := nats.measure(ctx, w, duration)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", nats.name(), w.name, err)
		}
		line := fmt.Sprintf("| %s | %s | %s | %.2f |", w.name, mine, theirs, mine.rate/theirs.rate)
		fmt.Fprintln(os.Stderr, line)
		fmt.Fprintln(text, line)
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}

func (r result) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return fmt.Sprintf("%.0f (%.2f / %.2f)", r.rate, ms(r.p50), ms(r.p99))
}

// step does one unit of work and says how many messages that was.
type step func(ctx context.Context) (int, error)

// warmUp is not measured.
const warmUp = time.Second

// drive runs clients, each in a loop of its own, and adds up what they did.
func drive(ctx context.Context, clients int, duration time.Duration, open func(number int) (step, func(), error)) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*duration+time.Minute)
	defer cancel()
	began := time.Now().Add(warmUp)
	end := began.Add(duration)
	times, counts, failures := make([][]time.Duration, clients), make([]int, clients), make([]error, clients)
	var running sync.WaitGroup
	for i := range clients {
		work, release, err := open(i)
		if err != nil {
			cancel()
			running.Wait()
			return result{}, err
		}
		defer release()
		running.Go(func() {
			for at := time.Now(); at.Before(end); at = time.Now() {
				n, err := work(ctx)
				if err != nil {
					failures[i] = err
					return
				}
				if at.After(began) {
					times[i] = append(times[i], time.Since(at))
					counts[i] += n
				}
			}
		})
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return result{}, err
	}
	all, messages := slices.Concat(times...), 0
	for _, n := range counts {
		messages += n
	}
	if len(all) == 0 {
		return result{}, errors.New("nothing was measured")
	}
	slices.Sort(all)
	return result{float64(messages) / time.Since(began).Seconds(), all[len(all)/2], all[len(all)*99/100]}, nil
}

// freePorts finds ports nobody listens on.
func freePorts(n int) (ports []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// seriatimPeer is `seriatim dev` with three nodes.
type seriatimPeer struct {
	binary    string
	process   *exec.Cmd
	endpoints string
}

func startSeriatim(ctx context.Context, binary, dir string) (*seriatimPeer, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	base := ports[0] - ports[0]%100 // dev takes twenty-four ports from there
	p := &seriatimPeer{binary: binary, process: exec.Command(binary, "dev", "--nodes", "3", "--data-dir", dir, "--base-port", fmt.Sprint(base))}
	var list []string
	for i := range 3 {
		list = append(list, fmt.Sprintf("http://127.0.0.1:%d", base+10*i))
	}
	p.endpoints = strings.Join(list, ",")
	p.process.Stderr = os.Stderr
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		if exec.CommandContext(ctx, binary, "queue", "list", "--endpoint", list[0]).Run() == nil {
			return p, nil
		}
	}
	p.close()
	return nil, errors.New("seriatim did not become ready")
}

func (p *seriatimPeer) name() string { return "seriatim" }

func (p *seriatimPeer) close() {
	_ = p.process.Process.Signal(os.Interrupt) // it may have ended already
	_ = p.process.Wait()
}

func (p *seriatimPeer) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	args := append([]string{"bench"}, w.ours...)
	args = append(args, "--duration", duration.String(), "--warmup", warmUp.String(), "--endpoint", p.endpoints, "-o", "json")
	text, err := exec.CommandContext(ctx, p.binary, args...).Output()
	if err != nil {
		return result{}, err
	}
	var report struct {
		MessagesPerSecond float64
		Latency           map[string]struct{ P50Us, P99Us float64 }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return result{}, err
	}
	timed := report.Latency["send"]
	if w.lives {
		timed = report.Latency["life"]
	}
	us := func(v float64) time.Duration { return time.Duration(v * float64(time.Microsecond)) }
	return result{report.MessagesPerSecond, us(timed.P50Us), us(timed.P99Us)}, nil
}
