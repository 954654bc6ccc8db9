package forward

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

func anyRequest(t *rapid.T) *peerpb.Request {
	r := &peerpb.Request{
		Id:             rapid.Uint64().Draw(t, "id"),
		Kind:           Kind(rapid.Int32Range(0, 6).Draw(t, "kind")),
		Term:           rapid.Uint64().Draw(t, "term"),
		Command:        rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "command"),
		MinimumVersion: rapid.Uint32().Draw(t, "version"),
		BudgetMillis:   rapid.Uint64().Draw(t, "budget"),
		WaitMillis:     rapid.Int64().Draw(t, "wait"),
		WaitedMillis:   rapid.Uint64().Draw(t, "waited"),
	}
	if rapid.IntRange(0, 9).Draw(t, "audited") == 0 {
		r.Audit = &peerpb.Audit{NodeId: "n1", Index: rapid.Uint64().Draw(t, "index"), State: []byte{1}}
	}
	return r
}

func anyAnswer(t *rapid.T) *peerpb.Answer {
	return &peerpb.Answer{
		Id:       rapid.Uint64().Draw(t, "id"),
		Outcome:  peerpb.Outcome(rapid.Int32Range(0, 7).Draw(t, "outcome")),
		Response: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "response"),
		Index:    rapid.Uint64().Draw(t, "index"),
		LogTime:  rapid.Int64().Draw(t, "time"),
		Reason:   rapid.StringN(0, 20, 60).Draw(t, "reason"),
	}
}

// TestFrameCodec exchanges frames with the generated code, both ways.
func TestFrameCodec(t *testing.T) {
	codec := newFrameCodec()
	exchange := func(t *rapid.T, sent, byHand, generated proto.Message) {
		ours, err := codec.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(ours.Materialize(), generated); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, generated, protocmp.Transform()); diff != "" {
			t.Fatalf("written here, read by the generated code:\n%s", diff)
		}
		theirs, err := proto.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(theirs)}, byHand); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, byHand, protocmp.Transform()); diff != "" {
			t.Fatalf("written by the generated code, read here:\n%s", diff)
		}
	}
	t.Run("requests", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			exchange(t, &peerpb.RequestFrame{
				GroupId: rapid.Uint32().Draw(t, "group"), LeaderId: rapid.StringN(0, 20, 60).Draw(t, "leader"),
				Requests: rapid.SliceOfN(rapid.Custom(anyRequest), 0, 5).Draw(t, "requests"), SenderId: "n2",
			}, &peerpb.RequestFrame{}, &peerpb.RequestFrame{})
		})
	})
	t.Run("answers", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			exchange(t, &peerpb.AnswerFrame{
				Answers: rapid.SliceOfN(rapid.Custom(anyAnswer), 0, 5).Draw(t, "answers"), Closing: rapid.Bool().Draw(t, "closing"),
			}, &peerpb.AnswerFrame{}, &peerpb.AnswerFrame{})
		})
	})
}

// FuzzFrameCodec reads what no node sent as the generated code does.
func FuzzFrameCodec(f *testing.F) {
	codec := newFrameCodec()
	request, err := proto.Marshal(&peerpb.RequestFrame{GroupId: 1, LeaderId: "n1", Requests: []*peerpb.Request{{Id: 1, Command: []byte("c"), WaitMillis: -1}}})
	if err != nil {
		f.Fatal(err)
	}
	answer, err := proto.Marshal(&peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: 1, Response: []byte("r"), LogTime: -1, Reason: "x"}}, Closing: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request)
	f.Add(answer)
	f.Add([]byte{0x1a, 0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, pair := range [][2]proto.Message{{&peerpb.RequestFrame{}, &peerpb.RequestFrame{}}, {&peerpb.AnswerFrame{}, &peerpb.AnswerFrame{}}} {
			want := proto.Unmarshal(data, pair[0])
			got := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(data))}, pair[1])
			if want == nil && got != nil {
				t.Fatalf("refused: %v", got)
			}
			if want == nil && !cmp.Equal(pair[0], pair[1], protocmp.Transform()) {
				t.Fatal(cmp.Diff(pair[0], pair[1], protocmp.Transform()))
			}
			if want != nil && got == nil {
				t.Fatalf("accepted what is malformed: %v", want)
			}
		}
	})
}

// TestFrameCodecKnowsAllFields: a field that is added to peer.proto would not be
// sent before the codec writes it.
func TestFrameCodecKnowsAllFields(t *testing.T) {
	for message, fields := range map[proto.Message]int{
		&peerpb.RequestFrame{}: 4, &peerpb.Request{}: 11, &peerpb.AnswerFrame{}: 2, &peerpb.Answer{}: 6,
	} {
		if n := message.ProtoReflect().Descriptor().Fields().Len(); n != fields {
			t.Errorf("%T has %d fields, the codec was written for %d", message, n, fields)
		}
	}
}

// A frame that would take much more memory than it has bytes is refused.
func TestFrameCodecBoundsItems(t *testing.T) {
	codec := newFrameCodec()
	for _, frame := range []struct {
		item []byte
		into proto.Message
	}{{[]byte{0x1a, 0}, &peerpb.RequestFrame{}}, {[]byte{0x0a, 0}, &peerpb.AnswerFrame{}}} {
		if err := codec.decode(bytes.Repeat(frame.item, frameItemsMax), frame.into); err != nil {
			t.Error(err)
		}
		if err := codec.decode(bytes.Repeat(frame.item, frameItemsMax+1), frame.into); err == nil {
			t.Errorf("%T: %d items were taken", frame.into, frameItemsMax+1)
		}
	}
}
