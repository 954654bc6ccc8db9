package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// floorServer is one server of the floor.
type floorServer struct {
	kind   floorKind
	leader string  // its address; empty: this is the leader
	handed *handed // nil: whoever reads a message does all that is to be done with it
	failed chan error

	mu        sync.Mutex // one message after the other, as they are in one log
	file      *os.File
	at        int64
	followers []net.Conn
	synced    chan int // numbers of the followers that have synced a message
	behind    []int    // messages that a follower has yet to sync
}

// serveFloor is the program with floorCommand.
func serveFloor(args []string) (err error) {
	if len(args) < 4 {
		return fmt.Errorf("%s needs a kind, an address, a file and the addresses of others", floorCommand)
	}
	others := args[3:]
	s := &floorServer{kind: floorKind(args[0]), failed: make(chan error, 1), synced: make(chan int, 1), behind: make([]int, len(others))}
	if len(others) == 1 {
		s.leader = others[0]
	}
	if s.kind == handedOver {
		s.handed = newHanded(s.leader == "")
	}
	if s.file, err = zeroed(args[2]); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[1])
	if err != nil {
		return err
	}
	if s.leader == "" {
		err = s.lead(others)
	} else {
		err = s.follow(listener)
	}
	if err != nil {
		return err
	}
	go s.accept(listener)
	return <-s.failed
}

// lead connects to the followers.
func (s *floorServer) lead(followers []string) error {
	for i, address := range followers {
		conn, err := dialFloor(address)
		if err != nil {
			return err
		}
		s.followers = append(s.followers, conn)
		go s.readConfirmations(i, conn)
	}
	return nil
}

// follow serves the leader, which is the first to connect.
func (s *floorServer) follow(listener net.Listener) error {
	leader, err := listener.Accept()
	if err != nil {
		return err
	}
	go s.serve(leader, leader, s.commit)
	return nil
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

// accept serves clients, and followers that have clients.
func (s *floorServer) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			s.fail(err)
			return
		}
		go s.serveClient(conn)
	}
}

// fail ends the program.
func (s *floorServer) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// serveClient confirms what a client sends; a follower asks the leader.
func (s *floorServer) serveClient(conn net.Conn) {
	defer conn.Close()
	commit := s.commit
	if s.leader != "" {
		leader, err := net.Dial("tcp", s.leader)
		if err != nil {
			s.fail(err)
			return
		}
		defer leader.Close()
		answer := make([]byte, floorAnswer)
		commit = func(message []byte) error { return exchange(leader, message, answer) }
	}
	if s.kind != overHTTP {
		s.serve(conn, conn, commit)
		return
	}
	r := bufio.NewReader(conn)
	if first, err := r.Peek(1); err == nil && first[0] == httpBegins {
		serveHTTP(conn, r, commit)
	} else {
		s.serve(conn, r, commit) // a follower
	}
}

// serve confirms messages, one after the other, until the connection ends.
func (s *floorServer) serve(conn net.Conn, r io.Reader, commit func(message []byte) error) {
	defer conn.Close()
	message := make([]byte, floorRecord)
	for {
		if _, err := io.ReadFull(r, message); err != nil {
			return
		}
		if commit(message) != nil {
			return
		}
		if _, err := conn.Write(message[:floorAnswer]); err != nil {
			return
		}
	}
}

// commit returns when a message is synced here and at a follower. The followers' disks work
// while the leader's does.
func (s *floorServer) commit(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.handed.do(func() error {
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
	})
	if err != nil {
		s.fail(err)
	}
	return err
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
