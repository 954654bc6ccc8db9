package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// The floor is no queue: it does what every queue has to do that answers when a message
// is synced on a majority, and nothing else. What one client gets of it is the most that
// one client can get of any of them on this machine.

// floorCommand makes this program one server of the floor: whether messages are handed over,
// the address to listen on, the file to write, and, for the leader, the addresses of the
// followers.
const floorCommand = "floor"

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
	servers []*server
	leader  string
}

// startFloor starts a leader and two followers.
func startFloor(ctx context.Context, dir string, o options) (contender, description, error) {
	return startFloorOf(ctx, dir, o, "syncs and hops alone", false)
}

// startHandedFloor starts them with the goroutines of the consensus library, see handed.
func startHandedFloor(ctx context.Context, dir string, o options) (contender, description, error) {
	return startFloorOf(ctx, dir, o, "the same with the library's goroutines", true)
}

func startFloorOf(ctx context.Context, dir string, o options, name string, handed bool) (_ contender, d description, err error) {
	d = description{
		Name: name, Version: runtime.Version(), Protocol: fmt.Sprintf("%d bytes over TCP, one client; no queue, a bound for them", floorRecord),
		Durable: "written and synced to the disks of a leader and of one of two followers",
		Command: "three processes of test/tools/peers",
	}
	program, err := os.Executable()
	if err != nil {
		return nil, d, err
	}
	ports, err := freePorts(floorServers)
	if err != nil {
		return nil, d, err
	}
	p := &floorPeer{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	var addresses []string
	for i := range floorServers {
		address := fmt.Sprint("127.0.0.1:", ports[i])
		args := []string{floorCommand, strconv.FormatBool(handed), address, filepath.Join(dir, fmt.Sprint("log", i))}
		if i == floorServers-1 {
			p.leader = address
			args = append(args, addresses...)
		}
		s, err := startServer(dir, fmt.Sprint("floor", i), exec.Command(program, args...), o.disk)
		if err != nil {
			return nil, d, err
		}
		p.servers = append(p.servers, s)
		addresses = append(addresses, address)
	}
	return p, d, await(ctx, time.Minute, func(ctx context.Context) error {
		c, err := p.open()
		if err != nil {
			return err
		}
		defer c.close()
		_, err = c.step(ctx)
		return err
	})
}

func (p *floorPeer) processes() []*server { return p.servers }

func (p *floorPeer) close() { closeAll(p.servers) }

func (p *floorPeer) takes(w workload) bool { return w.Clients == 1 && !w.Own }

func (p *floorPeer) measure(ctx context.Context, w workload, duration time.Duration) (result, error) {
	return drive(ctx, w.Clients, duration, func(int) (client, error) { return p.open() })
}

// open connects a client.
func (p *floorPeer) open() (client, error) {
	conn, err := net.Dial("tcp", p.leader)
	if err != nil {
		return client{}, err
	}
	message, answer := bytes.Repeat([]byte{1}, floorRecord), make([]byte, floorAnswer)
	step := func(context.Context) (int, error) {
		if _, err := conn.Write(message); err != nil {
			return 0, err
		}
		_, err := io.ReadFull(conn, answer)
		return 1, err
	}
	return client{step: step, close: func() { _ = conn.Close() }}, nil
}

// floorServer is one server of the floor.
type floorServer struct {
	file      *os.File
	at        int64
	followers []net.Conn
	synced    chan int // numbers of the followers that have synced a message
	behind    []int    // messages that a follower has yet to sync
	handed    *handed  // nil: whoever reads a message does all that is to be done with it
}

// serveFloor is the program with floorCommand.
func serveFloor(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("%s needs whether to hand over, an address and a file", floorCommand)
	}
	s := &floorServer{synced: make(chan int, 1), behind: make([]int, len(args)-3)}
	hand, err := strconv.ParseBool(args[0])
	if err != nil {
		return err
	}
	if args = args[1:]; hand {
		s.handed = newHanded(len(args) > 2)
	}
	if s.file, err = zeroed(args[1]); err != nil {
		return err
	}
	for i, address := range args[2:] {
		conn, err := dialFloor(address)
		if err != nil {
			return err
		}
		s.followers = append(s.followers, conn)
		go s.readConfirmations(i, conn)
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	for { // one client after the other, as its messages are in one log
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		if err := s.serve(conn); !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// dialFloor connects to a follower, which may have yet to begin.
func dialFloor(address string) (conn net.Conn, err error) {
	err = await(context.Background(), time.Minute, func(context.Context) error {
		conn, err = net.Dial("tcp", address)
		return err
	})
	return conn, err
}

// zeroed makes a file of zeros.
func zeroed(path string) (*os.File, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	zeros := make([]byte, 1<<20)
	for range floorFile / len(zeros) {
		if _, err := file.Write(zeros); err != nil {
			return nil, err
		}
	}
	return file, file.Sync()
}

// serve confirms the messages of a connection, one after the other, until it ends. The
// followers' disks work while the leader's does.
func (s *floorServer) serve(conn net.Conn) error {
	defer conn.Close()
	message := make([]byte, floorRecord)
	for {
		if _, err := io.ReadFull(conn, message); err != nil {
			return err
		}
		if err := s.handed.do(func() error { return s.commit(message) }); err != nil {
			return err
		}
		if _, err := conn.Write(message[:floorAnswer]); err != nil {
			return err
		}
	}
}

// commit returns when a message is synced here and at a follower.
func (s *floorServer) commit(message []byte) error {
	for i, follower := range s.followers {
		if _, err := follower.Write(message); err != nil {
			return err
		}
		s.behind[i]++
	}
	if err := s.write(message); err != nil {
		return err
	}
	for len(s.followers) > 0 && min(s.behind[0], s.behind[1]) > 0 {
		s.behind[<-s.synced]--
	}
	return nil
}

// write appends to the file and syncs it.
func (s *floorServer) write(message []byte) error {
	if _, err := s.file.WriteAt(message, s.at); err != nil {
		return err
	}
	if s.at += int64(len(message)); s.at+floorRecord > floorFile {
		s.at = 0
	}
	return syncData(s.file)
}

// readConfirmations passes on what a follower answers. It ends with the connection, which
// the next message then finds.
func (s *floorServer) readConfirmations(number int, conn net.Conn) {
	answer := make([]byte, floorAnswer)
	for {
		if _, err := io.ReadFull(conn, answer); err != nil {
			return
		}
		s.handed.confirm(func() { s.synced <- number })
	}
}
