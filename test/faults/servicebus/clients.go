package servicebus

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// Language is that of the programs that use the SDK.
type Language struct {
	Name string
	// Command begins a program. Its arguments follow.
	Command []string
}

// client is a running program.
type client struct {
	name   string
	input  io.Closer // its end is the wish that the program ends
	result chan error
}

// recorder collects the events of all clients. Safe for concurrent use.
type recorder struct {
	changed chan struct{} // capacity 1: there is a new event

	mu     sync.Mutex
	events []Event
	counts map[string]int
}

func newRecorder() *recorder {
	return &recorder{changed: make(chan struct{}, 1), counts: map[string]int{}}
}

func (r *recorder) add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.counts[e.Event]++
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// summary counts the events by kind.
func (r *recorder) summary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var parts []string
	for _, kind := range []string{Accepted, Received, Completed, Abandoned, Held, Renewed, Failed} {
		parts = append(parts, fmt.Sprintf("%s %d", kind, r.counts[kind]))
	}
	return strings.Join(parts, ", ")
}

// connection returns the connection string of an address.
func connection(address string) string {
	return "Endpoint=sb://" + address + ";SharedAccessKeyName=k;SharedAccessKey=s;UseDevelopmentEmulator=true;"
}

// start begins a program: producer, consumer or sessions.
func (r *recorder) start(ctx context.Context, l Language, role, address, queue string) (*client, error) {
	c := &client{name: l.Name + "-" + role + "-" + queue, result: make(chan error, 1)}
	arguments := slices.Concat(l.Command[1:], []string{role, connection(address), queue, l.Name + "-" + role})
	command := exec.CommandContext(ctx, l.Command[0], arguments...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.input = input
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		err := r.read(output, c.name)
		if ended := command.Wait(); err == nil {
			err = ended
		}
		c.result <- err
	}()
	return c, nil
}

func (r *recorder) read(output io.Reader, name string) error {
	defer func() { _, _ = io.Copy(io.Discard, output) }() // a program that cannot print does not end
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		e := Event{client: name}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("%s printed %q: %w", name, lines.Text(), err)
		}
		r.add(e)
	}
	return lines.Err()
}

// end asks the program to end, and waits for it.
func (c *client) end() error {
	if err := c.input.Close(); err != nil {
		return err
	}
	if err := <-c.result; err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}
