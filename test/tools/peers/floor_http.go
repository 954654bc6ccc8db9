package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
)

// httpBegins is the first byte of a request to a floor over HTTP, POST. Followers send it
// messages, which begin with another one.
const httpBegins = 'P'

// Answers of a floor over HTTP. There is no queue, for a load generator that looks whether
// its own exists; the other answer has what it looks for in any.
var (
	floorTaken = floorHTTPAnswer("200 OK", `{"QueueUrl":"http://127.0.0.1/000000000000/floor.fifo","MessageId":"00000000-0000-0000-0000-000000000000",`+
		`"MD5OfMessageBody":"00000000000000000000000000000000","SequenceNumber":"00000000000000000001"}`)
	floorNoQueue = floorHTTPAnswer("400 Bad Request", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"there is none"}`)
)

func floorHTTPAnswer(status, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// serveHTTP confirms requests, one after the other, until the connection ends. It reads no
// more of them than where they end: a message of the floor is committed for each.
func serveHTTP(conn net.Conn, r *bufio.Reader, commit func(message []byte) error) {
	message := bytes.Repeat([]byte{1}, floorRecord)
	for {
		length, asked, err := readRequestHead(r)
		if err != nil {
			return
		}
		if _, err := r.Discard(length); err != nil {
			return
		}
		answer := floorTaken
		if asked {
			answer = floorNoQueue
		} else if commit(message) != nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// readRequestHead reads the headers of a request: how long its body is, and whether it asks
// for a queue.
func readRequestHead(r *bufio.Reader) (length int, asks bool, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, asks, nil
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, err
			}
		}
		asks = asks || bytes.Equal(line, []byte("X-Amz-Target: AmazonSQS.GetQueueUrl"))
	}
}
