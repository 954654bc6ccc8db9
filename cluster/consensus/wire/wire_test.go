package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

var (
	header  = raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("a-1")}
	moved   = raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a-1"), Addr: []byte("10.0.0.1:9326")}
	noticed = time.Unix(1_700_000_000, 123)
)

// sameBytes compares large contents fast.
var sameBytes = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })

// requests returns messages of all kinds, with and without optional parts.
func requests() []any {
	entry := func(index uint64, kind raft.LogType, size int) *raft.Log {
		entry := &raft.Log{Index: index, Term: 4, Type: kind}
		if size > 0 {
			entry.Data = bytes.Repeat([]byte{byte(index)}, size)
		}
		return entry
	}
	with := func(entries ...*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{
			RPCHeader: header, Term: 4, PrevLogEntry: 7, PrevLogTerm: 3, Entries: entries, LeaderCommitIndex: 6,
		}
	}
	extended := entry(8, raft.LogCommand, 3)
	extended.Extensions, extended.AppendedAt = []byte("truncate"), noticed
	return []any{
		&raft.AppendEntriesRequest{RPCHeader: header, Term: 4},
		&raft.AppendEntriesRequest{},
		with(),
		with(entry(8, raft.LogNoop, 0)),
		with(entry(8, raft.LogCommand, 100), entry(9, raft.LogBarrier, 0), entry(10, raft.LogConfiguration, 30)),
		with(extended),
		with(entry(8, raft.LogCommand, copyMax), entry(9, raft.LogCommand, 1)),
		with(entry(8, raft.LogNoop, 0), entry(9, raft.LogCommand, 3<<20)),
		&raft.RequestVoteRequest{RPCHeader: header, Term: 1 << 60, LastLogIndex: 300, LastLogTerm: 2, LeadershipTransfer: true},
		&raft.RequestVoteRequest{RPCHeader: moved, Term: 5},
		&raft.RequestPreVoteRequest{RPCHeader: header, Term: 5, LastLogIndex: 300, LastLogTerm: 2},
		&raft.InstallSnapshotRequest{
			RPCHeader: header, SnapshotVersion: 1, Term: 5, LastLogIndex: 300, LastLogTerm: 2,
			Peers: []byte("peers"), Configuration: []byte("members"), ConfigurationIndex: 12, Size: 1 << 40,
		},
		&raft.TimeoutNowRequest{RPCHeader: header},
	}
}

// answers returns answers of each kind and form.
func answers() []any {
	return []any{
		&raft.AppendEntriesResponse{RPCHeader: header, Term: 4, LastLog: 9, Success: true},
		&raft.AppendEntriesResponse{RPCHeader: moved, Term: 4, LastLog: 9, NoRetryBackoff: true},
		&raft.RequestVoteResponse{RPCHeader: header, Term: 5, Granted: true, Peers: []byte("peers")},
		&raft.RequestPreVoteResponse{RPCHeader: header, Term: 5, Granted: true},
		&raft.InstallSnapshotResponse{RPCHeader: header, Term: 5, Success: true},
		&raft.TimeoutNowResponse{RPCHeader: header},
	}
}

// emptyOf returns an empty answer of the same kind.
func emptyOf(answer any) any {
	switch answer.(type) {
	case *raft.AppendEntriesResponse:
		return &raft.AppendEntriesResponse{Term: 99}
	case *raft.RequestVoteResponse:
		return &raft.RequestVoteResponse{Granted: true}
	case *raft.RequestPreVoteResponse:
		return new(raft.RequestPreVoteResponse)
	case *raft.InstallSnapshotResponse:
		return new(raft.InstallSnapshotResponse)
	}
	return new(raft.TimeoutNowResponse)
}

func TestRequestsArriveAsTheyWereSent(t *testing.T) {
	var network bytes.Buffer
	from, to := NewConn(&network), NewConn(&network)
	for range 2 { // the connection remembers the last id
		for i, request := range requests() {
			if err := from.Ask(request); err != nil {
				t.Fatal(i, err)
			}
			got, err := to.Asked()
			if err != nil {
				t.Fatal(i, err)
			}
			if diff := cmp.Diff(request, got, sameBytes); diff != "" {
				t.Errorf("request %d (-sent +got):\n%s", i, diff)
			}
		}
	}
	if _, err := to.Asked(); !errors.Is(err, io.EOF) {
		t.Errorf("behind the last request: %v", err)
	}
}

func TestAnswersArriveAsTheyWereSent(t *testing.T) {
	var network bytes.Buffer
	from, to := NewConn(&network), NewConn(&network)
	for i, answer := range answers() {
		if err := from.Reply(answer, nil); err != nil {
			t.Fatal(i, err)
		}
		got := emptyOf(answer)
		if err := to.Answer(got); err != nil {
			t.Fatal(i, err)
		}
		if diff := cmp.Diff(answer, got); diff != "" {
			t.Errorf("answer %d (-sent +got):\n%s", i, diff)
		}
	}
	clustertest.Must(t, from.Reply((*raft.InstallSnapshotResponse)(nil), errors.New("no room")))
	if err := to.Answer(new(raft.InstallSnapshotResponse)); !errors.Is(err, Failure("no room")) {
		t.Errorf("an answer that was not given: %v", err)
	}
	if from.Reply(nil, nil) == nil || from.Ask(nil) == nil {
		t.Error("it sends what is no message")
	}
}

// some is a connection that accepts some bytes at once.
type some struct {
	bytes.Buffer
	now int
}

func (s *some) WriteNow(content []byte) (int, error) {
	return s.Write(content[:min(s.now, len(content))])
}

// A message written in two parts arrives like one written at once.
func TestAskedNowArrives(t *testing.T) {
	for _, data := range []int{0, 100, 2 * copyMax} {
		request := &raft.AppendEntriesRequest{
			RPCHeader: header, Term: 300, PrevLogEntry: 7, PrevLogTerm: 3, LeaderCommitIndex: 6,
			Entries: []*raft.Log{{Index: 8, Term: 300, Type: raft.LogCommand, Data: bytes.Repeat([]byte("d"), data)}},
		}
		var whole bytes.Buffer
		clustertest.Must(t, NewConn(&whole).Ask(request))
		for _, now := range []int{0, 1, frame.Head, whole.Len() - 1, whole.Len()} {
			network := &some{now: now}
			conn := NewConn(network)
			rest, err := conn.AskNow(request)
			if err != nil || network.Len() != now || (rest == nil) != (now == whole.Len()) {
				t.Fatalf("%d of %d bytes are written at once: %v", network.Len(), now, err)
			}
			if rest != nil {
				clustertest.Must(t, rest())
			}
			if !bytes.Equal(network.Bytes(), whole.Bytes()) {
				t.Errorf("%d bytes of data, %d at once: it arrives changed", data, now)
			}
		}
	}
}

// The encoding of messages is part of the protocol between nodes.
func TestFramesStayAsTheyAre(t *testing.T) {
	var network bytes.Buffer
	conn := NewConn(&network)
	request := &raft.AppendEntriesRequest{
		RPCHeader: header, Term: 300, PrevLogEntry: 7, PrevLogTerm: 3, LeaderCommitIndex: 6,
		Entries: []*raft.Log{{Index: 8, Term: 300, Type: raft.LogCommand, Data: []byte("data")}},
	}
	clustertest.Must(t, conn.Ask(request))
	const want = "01120000 16000000 c84145a6 98be2e10 01 06 03612d31 ac02 07 03 06 01 00 00 08 ac02 04 64617461"
	if got := fmt.Sprintf("%x", network.Bytes()); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("a message is written as\n%s, want\n%s", got, want)
	}
}

// Any change on the network is detected.
func TestDamageIsNoticed(t *testing.T) {
	for i, request := range requests()[:8] {
		var network bytes.Buffer
		clustertest.Must(t, NewConn(&network).Ask(request))
		sent := network.Bytes()
		step := max(1, len(sent)/500, len(sent)>>20*50_000)
		for at := 0; at < len(sent); at += step {
			spoilt := bytes.Clone(sent)
			spoilt[at] ^= 1 << (at % 8)
			if got, err := NewConn(bytes.NewBuffer(spoilt)).Asked(); !errors.Is(err, frame.ErrDamaged) {
				t.Fatalf("request %d with byte %d of %d changed: %v, %v", i, at, len(sent), got, err)
			}
			if got, err := NewConn(bytes.NewBuffer(sent[:at])).Asked(); at > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("request %d, cut at byte %d of %d: %v, %v", i, at, len(sent), got, err)
			}
		}
	}
}

func TestSnapshotArrivesAsItWasSent(t *testing.T) {
	for _, size := range []int{0, 1, PartMax - 1, PartMax, PartMax + 1, 3*PartMax + 5} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * 7 / 5)
		}
		var network bytes.Buffer
		from, to := NewConn(&network), NewConn(&network)
		clustertest.Must(t, from.SendSnapshot(bytes.NewReader(content)))
		sent := bytes.Clone(network.Bytes())
		got, err := io.ReadAll(to.Snapshot(int64(size)))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d arrived, %v", size, len(got), err)
		}
		if size == 0 {
			continue
		}
		sent[len(sent)-1]++
		if _, err := io.ReadAll(NewConn(bytes.NewBuffer(sent)).Snapshot(int64(size))); !errors.Is(err, frame.ErrDamaged) {
			t.Errorf("%d bytes, the last one changed: %v", size, err)
		}
		if _, err := io.ReadAll(NewConn(bytes.NewBuffer(sent[:len(sent)-1])).Snapshot(int64(size))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes, cut short: %v", size, err)
		}
	}
}

// pieces counts the calls that write a message.
type pieces struct {
	bytes.Buffer
	written int
	shared  bool // one of the pieces is the memory of the entry
	entry   []byte
}

func (p *pieces) WriteBuffers(buffers *net.Buffers) error {
	p.written++
	for _, piece := range *buffers {
		p.shared = p.shared || &piece[0] == &p.entry[0]
	}
	_, err := buffers.WriteTo(&p.Buffer)
	return err
}

// The data of a large entry is written without copying it.
func TestLargeEntriesAreNotCopied(t *testing.T) {
	network := &pieces{entry: bytes.Repeat([]byte("x"), copyMax+1)}
	conn := NewConn(network)
	request := &raft.AppendEntriesRequest{RPCHeader: header, Entries: []*raft.Log{{Index: 1, Data: network.entry}}}
	if err := conn.Ask(request); err != nil || network.written != 1 || !network.shared {
		t.Errorf("%d calls, not copied: %v, %v", network.written, network.shared, err)
	}
	allocated := testing.AllocsPerRun(100, func() {
		network.Reset()
		clustertest.Must(t, conn.Ask(request))
	})
	if allocated > 2 {
		t.Errorf("%.0f allocations for a message", allocated)
	}
	for _, piece := range conn.buffers[:cap(conn.buffers)] {
		if piece != nil {
			t.Error("the connection goes on referring to what it has sent")
		}
	}
}

// The memory for an entry with the largest body is allocated once.
func TestTheLargestBodyIsReadInOnePiece(t *testing.T) {
	var network bytes.Buffer
	sent := &raft.Log{Index: 1, Data: make([]byte, 1<<20+4<<10)}
	clustertest.Must(t, NewConn(&network).Ask(&raft.AppendEntriesRequest{RPCHeader: header, Entries: []*raft.Log{sent}}))
	got, err := NewConn(&network).Asked()
	clustertest.Must(t, err)
	if data := got.(*raft.AppendEntriesRequest).Entries[0].Data; cap(data) != len(sent.Data) {
		t.Errorf("memory for %d bytes, with data of %d", cap(data), len(sent.Data))
	}
}

// FuzzAsked: no input makes a node panic, allocate more than the input justifies, or accept a
// message that another node would have encoded differently.
func FuzzAsked(f *testing.F) {
	for _, request := range requests() {
		var network bytes.Buffer
		if err := NewConn(&network).Ask(request); err != nil {
			f.Fatal(err)
		}
		if network.Len() < 1<<16 {
			f.Add(network.Bytes()[frame.Head:], byte(kindOf(request)), uint16(dataOf(request)))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, of byte, data uint16) {
		// The checksums are correct: this covers content, not damage.
		size := min(int(data), len(content))
		conn := NewConn(new(bytes.Buffer))
		conn.begin()
		conn.frame = append(conn.frame, content[:len(content)-size]...)
		if err := conn.writeData(kind(of), size, content[len(content)-size:]); err != nil {
			t.Skip("more than a frame can hold: ", err)
		}
		sent := bytes.Clone(conn.out.(*bytes.Buffer).Bytes())
		request, err := NewConn(bytes.NewBuffer(bytes.Clone(sent))).Asked()
		if err != nil {
			return
		}
		var again bytes.Buffer
		clustertest.Must(t, NewConn(&again).Ask(request))
		if !bytes.Equal(again.Bytes(), sent) {
			t.Errorf("%x\nis read as %+v, which is written as\n%x", sent, request, again.Bytes())
		}
	})
}

func dataOf(request any) (size int) {
	if m, is := request.(*raft.AppendEntriesRequest); is {
		for _, entry := range m.Entries {
			size += len(entry.Data)
		}
	}
	return size
}

// FuzzStream covers arbitrary bytes, and answers.
func FuzzStream(f *testing.F) {
	for _, answer := range answers() {
		var network bytes.Buffer
		if err := NewConn(&network).Reply(answer, nil); err != nil {
			f.Fatal(err)
		}
		f.Add(network.Bytes())
	}
	for _, wanted := range questions()[:3] {
		var network bytes.Buffer
		if err := NewConn(&network).Want(wanted); err != nil {
			f.Fatal(err)
		}
		f.Add(network.Bytes())
	}
	f.Fuzz(func(_ *testing.T, content []byte) {
		_, _ = NewConn(bytes.NewBuffer(bytes.Clone(content))).Asked()
		_, _ = io.Copy(io.Discard, NewConn(bytes.NewBuffer(bytes.Clone(content))).Snapshot(1<<30))
		_, _ = NewConn(bytes.NewBuffer(bytes.Clone(content))).Part()
		_, _, _ = NewConn(bytes.NewBuffer(bytes.Clone(content))).Wanted(new(raft.InstallSnapshotResponse))
		for _, answer := range answers() {
			_ = NewConn(bytes.NewBuffer(bytes.Clone(content))).Answer(emptyOf(answer))
		}
	})
}
