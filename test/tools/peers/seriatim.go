package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sqsServers speak SQS over HTTP and are measured by seriatim bench.
type sqsServers struct {
	binary    string // seriatim
	endpoints []string
	servers   []*server
	native    bool // has the native API, too
}

func (p *sqsServers) takes(w workload) bool {
	return p.native || w.plain()
}

// startSeriatim starts three nodes with `seriatim dev`.
func startSeriatim(ctx context.Context, dir string, o options) (contender, description, error) {
	d := description{
		Name: "seriatim", Version: strings.TrimPrefix(firstLine(ctx, o.binary, "version"), "seriatim "), Protocol: "SQS JSON over HTTP/1.1",
		Durable: "written and synced to the disks of two of three nodes", Command: "seriatim dev --nodes 3",
	}
	const devPorts = 24
	base, err := freeRange(devPorts)
	if err != nil {
		return nil, d, err
	}
	s, err := startServer(dir, "dev",
		exec.Command(o.binary, "dev", "--nodes", "3", "--data-dir", filepath.Join(dir, "data"), "--base-port", fmt.Sprint(base)), o.disk)
	if err != nil {
		return nil, d, err
	}
	var list []string
	for i := range 3 {
		list = append(list, fmt.Sprintf("http://127.0.0.1:%d", base+10*i))
	}
	p := &sqsServers{binary: o.binary, endpoints: list, servers: []*server{s}, native: true}
	return p, d, p.ready(ctx)
}

// ready waits until queues can be listed, and ends the servers if they never can.
func (p *sqsServers) ready(ctx context.Context) error {
	err := await(ctx, time.Minute, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoints[0], strings.NewReader("{}"))
		if err != nil {
			return fmt.Errorf("list queues: %w", err)
		}
		request.Header.Set("Content-Type", "application/x-amz-json-1.0")
		request.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return fmt.Errorf("list queues: %w", err)
		}
		_ = response.Body.Close() // nothing of it is read
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("list queues: %s", response.Status)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, p.servers[0].tail())
		p.close()
	}
	return err
}

func (p *sqsServers) spent() time.Duration { return spent(p.servers) }

func (p *sqsServers) close() { closeAll(p.servers) }

func (p *sqsServers) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	endpoints := p.endpoints
	if w.At != "" {
		leading, err := p.leading(ctx)
		if err != nil {
			return result{}, err
		}
		if w.At == follower {
			leading = (leading + 1) % len(endpoints)
		}
		endpoints = endpoints[leading : leading+1]
	}
	return runBench(ctx, p.binary, endpoints, w, duration)
}

// leading is the number of the node that leads. Nodes are named node-1 and so on.
func (p *sqsServers) leading(ctx context.Context) (int, error) {
	text, err := exec.CommandContext(ctx, p.binary, "status", "--endpoint", p.endpoints[0], "-o", "json").Output()
	if err != nil {
		return 0, fmt.Errorf("ask who leads: %w", err)
	}
	var status struct{ LeaderName string }
	if err := json.Unmarshal(text, &status); err != nil {
		return 0, fmt.Errorf("read who leads: %w", err)
	}
	number, err := strconv.Atoi(strings.TrimPrefix(status.LeaderName, "node-"))
	if err != nil || number < 1 || number > len(p.endpoints) {
		return 0, fmt.Errorf("no node leads that is known: %q", status.LeaderName)
	}
	return number - 1, nil
}

// runBench runs the load generator of seriatim.
func runBench(ctx context.Context, binary string, endpoints []string, w workload, duration time.Duration) (result, error) {
	args := append([]string{"bench"}, w.Ours...)
	args = append(args, "--duration", duration.String(), "--warmup", warmUp.String(), "--endpoint", strings.Join(endpoints, ","), "-o",
		"json")
	bench := exec.CommandContext(ctx, binary, args...)
	var words bytes.Buffer
	bench.Stderr = &words
	text, err := bench.Output()
	if err != nil {
		return result{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(words.String()))
	}
	return readBench(text, w.Lives)
}

// readBench reads the report of seriatim bench.
func readBench(text []byte, lives bool) (result, error) {
	var report struct {
		MessagesPerSecond              float64
		Messages, Calls                int64
		WarmupSeconds, MeasuredSeconds float64
		Generator                      struct{ CallUs float64 }
		Errors                         map[string]int64
		Latency                        map[string]struct{ P50Us, P99Us float64 }
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return result{}, fmt.Errorf("read the report: %w", err)
	}
	if len(report.Errors) > 0 {
		return result{}, fmt.Errorf("calls failed: %v", report.Errors)
	}
	timed := report.Latency["send"]
	if lives {
		timed = report.Latency["life"]
	}
	// The warm-up costs as much and its messages are not counted.
	all := float64(report.Messages) * (report.WarmupSeconds + report.MeasuredSeconds) / report.MeasuredSeconds
	return result{
		Rate: report.MessagesPerSecond, P50Ms: timed.P50Us / 1e3, P99Ms: timed.P99Us / 1e3,
		GeneratorUs: report.Generator.CallUs * float64(report.Calls) / all,
	}, nil
}
