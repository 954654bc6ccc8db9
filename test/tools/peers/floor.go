package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// The floor is no queue: it does what every queue has to do that answers when a message
// is synced on a majority, and nothing else. What one client gets of it is the most that
// one client can get of any of them on this machine.

// floorCommand makes this program one server of the floor: its kind, the address to listen
// on, the file to write, and for a follower the address of the leader, for the leader those
// of the followers.
const floorCommand = "floor"

// floorKind is what a floor does beside syncs and hops.
type floorKind string

const (
	alone floorKind = "alone"
	// handedOver has the goroutines of the consensus library, see handed.
	handedOver floorKind = "handed"
	// overHTTP is asked as seriatim is, see serveHTTP.
	overHTTP floorKind = "served"
)

const (
	floorServers = 3
	// floorRecord is how many bytes a message takes on its way and in a file: about what
	// a message of bodyBytes with its ids takes in the log of seriatim.
	floorRecord = 400
	floorAnswer = 64
	// floorFile is written with zeros beforehand, so that a sync has no length to write, and
	// from its beginning again when it is full.
	floorFile = 64 << 20
)

// floorPeer is the client's side of the floor.
type floorPeer struct {
	binary    string // seriatim, which asks a floor over HTTP
	kind      floorKind
	servers   []*server
	addresses []string // the leader's is the last
}

// startFloor starts a leader and two followers.
func startFloor(ctx context.Context, dir string, o options) (contender, description, error) {
	return startFloorOf(ctx, dir, o, alone, "syncs and hops alone")
}

func startHandedFloor(ctx context.Context, dir string, o options) (contender, description, error) {
	return startFloorOf(ctx, dir, o, handedOver, "the same with the library's goroutines")
}

func startServedFloor(ctx context.Context, dir string, o options) (contender, description, error) {
	return startFloorOf(ctx, dir, o, overHTTP, "syncs and hops over HTTP")
}

func startFloorOf(ctx context.Context, dir string, o options, kind floorKind, name string) (_ contender, d description, err error) {
	d = description{
		Name: name, Version: runtime.Version(), Protocol: fmt.Sprintf("%d bytes over TCP, one client; no queue, a bound for them", floorRecord),
		Durable: "written and synced to the disks of a leader and of one of two followers",
		Command: "three processes of test/tools/peers",
	}
	if kind == overHTTP {
		d.Protocol = "SQS JSON over HTTP/1.1, not read but for its length; one client; no queue, a bound for them"
	}
	program, err := os.Executable()
	if err != nil {
		return nil, d, err
	}
	ports, err := freePorts(floorServers)
	if err != nil {
		return nil, d, err
	}
	p := &floorPeer{binary: o.binary, kind: kind}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	for _, port := range ports {
		p.addresses = append(p.addresses, fmt.Sprint("127.0.0.1:", port))
	}
	last := floorServers - 1
	for i, address := range p.addresses {
		others := p.addresses[last:]
		if i == last {
			others = p.addresses[:last]
		}
		args := append([]string{floorCommand, string(kind), address, filepath.Join(dir, fmt.Sprint("log", i))}, others...)
		s, err := startServer(dir, fmt.Sprint("floor", i), exec.Command(program, args...), o.disk)
		if err != nil {
			return nil, d, err
		}
		p.servers = append(p.servers, s)
	}
	return p, d, await(ctx, time.Minute, func(ctx context.Context) error {
		c, err := openFloor(p.addresses[last])
		if err != nil {
			return err
		}
		defer c.close()
		_, err = c.step(ctx) // once it is answered the followers have their leader
		return err
	})
}

func (p *floorPeer) processes() []*server { return p.servers }

func (p *floorPeer) close() { closeAll(p.servers) }

func (p *floorPeer) takes(w workload) bool {
	return w.Clients == 1 && !w.Own && (w.At != "" || p.kind != overHTTP)
}

func (p *floorPeer) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	address := p.addresses[len(p.addresses)-1]
	if w.At == follower {
		address = p.addresses[0]
	}
	if p.kind == overHTTP {
		return runBench(ctx, p.binary, []string{"http://" + address}, w, duration)
	}
	return drive(ctx, w.Clients, duration, func(int) (client, error) { return openFloor(address) })
}

// openFloor connects a client.
func openFloor(address string) (client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return client{}, err
	}
	message, answer := bytes.Repeat([]byte{1}, floorRecord), make([]byte, floorAnswer)
	step := func(context.Context) (int, error) { return 1, exchange(conn, message, answer) }
	return client{step: step, close: func() { _ = conn.Close() }}, nil
}

// exchange writes a message and reads the answer.
func exchange(conn net.Conn, message, answer []byte) error {
	if _, err := conn.Write(message); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, answer)
	return err
}
