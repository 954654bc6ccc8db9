package grpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// framed returns messages in the frames of the wire.
func framed(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(append(out, 0), uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

// A message is read completely once the handler asks for it, and nothing of the next one.
func TestBodyIsGated(t *testing.T) {
	first, second := bytes.Repeat([]byte("a"), 3*chunkBytes), []byte("b")
	account := budget.New(1 << 20)
	b := newRequestBody(t.Context(), io.NopCloser(bytes.NewReader(framed(first, nil, second))), account, true)
	for _, want := range [][]byte{framed(first), framed(nil), framed(second)} {
		b.permit()
		var got []byte
		for buffer := make([]byte, 1000); len(got) < len(want); {
			n, err := b.Read(buffer)
			if got = append(got, buffer[:n]...); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, want %d", len(got), len(want))
		}
		if len(want) > chunkBytes && account.Usage().Used < int64(len(first))-chunkBytes {
			t.Errorf("only %d bytes were counted", account.Usage().Used)
		}
	}
	b.permit()
	if n, err := b.Read(make([]byte, 100)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	b.release()
	if used := account.Usage().Used; used != 0 {
		t.Errorf("%d bytes were not given back", used)
	}
}

// Without a permit nothing is read, and the end of the request ends the wait.
func TestBodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newRequestBody(ctx, io.NopCloser(bytes.NewReader(framed([]byte("a")))), nil, true)
	cancel()
	if n, err := b.Read(make([]byte, 100)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestBodyRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		body []byte
		want error
	}{
		{"a second message", framed([]byte("a"), []byte("b")), errMoreMessages},
		{"a long message", binary.BigEndian.AppendUint32([]byte{0}, messageBytesMax+1), errMessageTooLong},
		{"a message cut off", framed([]byte("abc"))[:7], io.ErrUnexpectedEOF},
		{"a prefix cut off", []byte{0, 0}, io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newRequestBody(t.Context(), io.NopCloser(bytes.NewReader(tc.body)), nil, false)
			if _, err := io.ReadAll(b); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// A message for which the budget has no room is not read.
func TestBodyOverBudget(t *testing.T) {
	account := budget.New(chunkBytes)
	b := newRequestBody(t.Context(), io.NopCloser(bytes.NewReader(framed(make([]byte, 4*chunkBytes)))), account, false)
	clustertest.Must(t, account.Acquire(t.Context(), chunkBytes-1, 0))
	if _, err := io.ReadAll(b); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("got %v", err)
	}
}

// FuzzBody reads arbitrary bytes: the output is a prefix of the input, and the budget gets
// everything back.
func FuzzBody(f *testing.F) {
	f.Add(framed([]byte("a"), nil, make([]byte, 5000)), false)
	f.Add(framed([]byte("a"))[:3], true)
	f.Add([]byte{0, 255, 255, 255, 255}, true)
	f.Fuzz(func(t *testing.T, body []byte, slow bool) {
		account := budget.New(64 << 20)
		var from io.Reader = bytes.NewReader(body)
		if slow {
			from = iotest.OneByteReader(from)
		}
		b := newRequestBody(t.Context(), io.NopCloser(from), account, true)
		var got []byte
		buffer := make([]byte, 1024)
		for {
			b.permit()
			n, err := b.Read(buffer)
			got = append(got, buffer[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(body, got) {
			t.Errorf("%q is not the beginning of %q", got, body)
		}
		b.release()
		if used := account.Usage().Used; used != 0 {
			t.Errorf("%d bytes were not given back", used)
		}
	})
}

// The bytes of unanswered messages count against the budget, whichever field they are in.
func TestUnansweredIsCounted(t *testing.T) {
	const bytes, waiting = 1 << 20, largeCommandsMax
	long := strings.Repeat("x", bytes)
	f := newFixture(t, nil)
	name := f.create(nil)
	topics, topic := f.topic(nil)
	begun, release := make(chan struct{}, commandsMax), make(chan struct{})
	submit := func(next func() (cluster.Reply, error), cmd queue.Command) (cluster.Reply, error) {
		begun <- struct{}{}
		<-release
		return next()
	}
	f.node.submit.Store(&submit)
	defer close(release)
	stream := f.sender(name)
	published, err := topics.PublishStream(t.Context())
	if err == nil {
		err = published.Send(&seriatimpb.PublishStreamRequest{Topic: topic})
	}
	clustertest.Must(t, err)
	consumer := f.consume(t.Context(), &seriatimpb.ConsumeOpen{Queue: name, Credit: 1})
	for what, send := range map[string]func(n int){
		"a deduplication id": func(n int) {
			stream.send(&seriatimpb.OutgoingMessage{Body: "b", GroupId: new(strconv.Itoa(n)), DeduplicationId: &long})
		},
		"a subject": func(n int) {
			if err := published.Send(&seriatimpb.PublishStreamRequest{FirstNumber: uint64(n + 1), Messages: []*seriatimpb.TopicMessage{
				{Message: "m", GroupId: new(strconv.Itoa(n)), Subject: &long},
			}}); err != nil {
				t.Fatal(err)
			}
		},
		"a receipt handle": func(int) {
			consumer.sendSettlement(seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE, 0, &seriatimpb.Message{ReceiptHandle: long})
		},
	} {
		before := f.budget.Usage().Used
		for n := range waiting {
			send(n)
			<-begun
		}
		if got := f.budget.Usage().Used - before; got < bytes*waiting {
			t.Errorf("%s: %d bytes are counted of %d", what, got, bytes*waiting)
		}
	}
}
