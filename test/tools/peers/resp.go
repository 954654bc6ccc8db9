package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// respConn is a connection that speaks the protocol of Redis. Used by one
// goroutine.
type respConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func dialRESP(ctx context.Context, address string) (*respConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &respConn{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *respConn) close() { _ = c.conn.Close() } // nothing is left to be sent

// call sends commands in one write and reads an answer to each. The first
// answer that is an error ends the connection's use.
func (c *respConn) call(ctx context.Context, commands ...[]string) ([]any, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	if err := c.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	c.out = c.out[:0]
	for _, command := range commands {
		c.out = appendRESP(c.out, command)
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, err
	}
	answers := make([]any, len(commands))
	for i := range answers {
		var err error
		if answers[i], err = readRESP(c.in); err != nil {
			return nil, fmt.Errorf("%s: %w", commands[i][0], err)
		}
	}
	return answers, nil
}

// appendRESP appends a command as an array of bulk strings.
func appendRESP(out []byte, command []string) []byte {
	out = strconv.AppendInt(append(out, '*'), int64(len(command)), 10)
	for _, word := range command {
		out = append(out, '\r', '\n', '$')
		out = strconv.AppendInt(out, int64(len(word)), 10)
		out = append(append(out, '\r', '\n'), word...)
	}
	return append(out, '\r', '\n')
}

// readRESP reads one value: a string, an int64, a []any, or nil.
func readRESP(in *bufio.Reader) (any, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 {
		return nil, fmt.Errorf("not an answer: %q", line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, fmt.Errorf("refused: %s", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("not an answer: %q", line)
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		content := make([]byte, n+2)
		if _, err := io.ReadFull(in, content); err != nil {
			return nil, err
		}
		return string(content[:n]), nil
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = readRESP(in); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("not an answer: %q", line)
}
