package wire

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peernet/frame"
)

// questions are requests of a snapshot's receiver; the last one has the maximal size.
func questions() [][]Wanted {
	most := make([]Wanted, WantedMax)
	for i := range most {
		most[i] = Wanted{Segment: math.MaxUint32, Offset: math.MaxUint32, Size: dataMax, Digest: math.MaxUint64 - uint64(i)}
	}
	return [][]Wanted{nil, {{Segment: 1, Offset: 16, Size: 3, Digest: 1 << 60}}, {{Segment: 2, Offset: 1 << 25, Size: 1 << 20}, {}}, most}
}

func TestWantedBodiesArriveAsTheyWereAskedFor(t *testing.T) {
	var network bytes.Buffer
	receiver, sender := NewConn(&network), NewConn(&network)
	for i, wanted := range questions() {
		if err := receiver.Want(wanted); err != nil {
			t.Fatal(i, err)
		}
		got, answered, err := sender.Wanted(nil)
		if diff := cmp.Diff(wanted, got); err != nil || answered || diff != "" {
			t.Errorf("question %d: %v, %v (-sent +got):\n%s", i, answered, err, diff)
		}
	}
	for _, part := range [][]byte{nil, []byte("part"), make([]byte, PartMax)} {
		clustertest.Must(t, sender.SendPart(part))
		if got, err := receiver.Part(); err != nil || !bytes.Equal(got, part) {
			t.Errorf("of %d bytes %d arrived, %v", len(part), len(got), err)
		}
	}
	answer, got := &raft.InstallSnapshotResponse{RPCHeader: header, Term: 5, Success: true}, &raft.InstallSnapshotResponse{}
	clustertest.Must(t, receiver.Reply(answer, nil))
	if _, answered, err := sender.Wanted(got); err != nil || !answered || !cmp.Equal(answer, got) {
		t.Errorf("the answer is %+v, %v, %v", got, answered, err)
	}
	clustertest.Must(t, receiver.Reply(nil, errors.New("no room")))
	if _, _, err := sender.Wanted(got); !errors.Is(err, Failure("no room")) {
		t.Errorf("no answer: %v", err)
	}
}

// A request that names too many bodies allocates no memory for them.
func TestWrongQuestionsAreDamage(t *testing.T) {
	for name, fields := range map[string]func(*encoder){
		"nothing":                 func(*encoder) {},
		"fewer than it says":      func(e *encoder) { e.number(2); wantedFields(e, 1, 2, 3, 4) },
		"more than it says":       func(e *encoder) { e.number(0); wantedFields(e, 1, 2, 3, 4) },
		"more than one may have":  func(e *encoder) { e.number(math.MaxUint64); wantedFields(e, 1, 2, 3, 4) },
		"a segment of 33 bits":    func(e *encoder) { e.number(1); wantedFields(e, 1<<32, 2, 3, 4) },
		"a body larger than any":  func(e *encoder) { e.number(1); wantedFields(e, 1, 2, dataMax+1, 4) },
		"a number in longer form": func(e *encoder) { e.out = append(e.out, 0x80, 0) },
	} {
		var network bytes.Buffer
		conn := NewConn(&network)
		conn.begin()
		e := encoder{conn.frame}
		fields(&e)
		conn.frame = e.out
		clustertest.Must(t, conn.write(kindWanted, nil))
		if got, _, err := conn.Wanted(nil); !errors.Is(err, frame.ErrDamaged) {
			t.Errorf("%s: %d bodies, %v", name, len(got), err)
		}
	}
	var network bytes.Buffer
	conn := NewConn(&network)
	clustertest.Must(t, conn.Ask(&raft.RequestVoteRequest{RPCHeader: header}))
	if _, _, err := conn.Wanted(nil); !errors.Is(err, frame.ErrDamaged) {
		t.Errorf("a request in place of a question: %v", err)
	}
}

func wantedFields(e *encoder, numbers ...uint64) {
	for _, n := range numbers {
		e.number(n)
	}
}

func TestDamagedPartsAreNoticed(t *testing.T) {
	var network bytes.Buffer
	clustertest.Must(t, NewConn(&network).SendPart([]byte("part of a snapshot")))
	sent := network.Bytes()
	for at := range sent {
		spoilt := bytes.Clone(sent)
		spoilt[at] ^= 1 << (at % 8)
		if got, err := NewConn(bytes.NewBuffer(spoilt)).Part(); !errors.Is(err, frame.ErrDamaged) {
			t.Fatalf("byte %d of %d changed: %q, %v", at, len(sent), got, err)
		}
		if got, err := NewConn(bytes.NewBuffer(sent[:at])).Part(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at byte %d of %d: %q, %v", at, len(sent), got, err)
		}
	}
}
