package forward

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
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

// decode decodes a frame of either kind.
func decode(data []byte, frame proto.Message) error {
	if answers, ok := frame.(*peerpb.AnswerFrame); ok {
		return decodeFrame(data, answersTag, answers)
	}
	return decodeFrame(data, requestsTag, frame.(*peerpb.RequestFrame))
}

// TestFrameCodec exchanges frames with the generated code, both ways.
func TestFrameCodec(t *testing.T) {
	exchange := func(t *rapid.T, sent, fast, generated proto.Message) {
		ours, err := appendFrame(nil, sent.(message))
		clustertest.Must(t, err)
		clustertest.Must(t, proto.Unmarshal(ours, generated))
		if diff := cmp.Diff(sent, generated, protocmp.Transform()); diff != "" {
			t.Fatalf("written here, read by the generated code:\n%s", diff)
		}
		theirs, err := proto.Marshal(sent)
		clustertest.Must(t, err)
		clustertest.Must(t, decode(theirs, fast))
		if diff := cmp.Diff(sent, fast, protocmp.Transform()); diff != "" {
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

// FuzzFrameCodec checks that the codec reads arbitrary bytes as the protobuf library does.
func FuzzFrameCodec(f *testing.F) {
	request, err := proto.Marshal(&peerpb.RequestFrame{GroupId: 1, LeaderId: "n1",
		Requests: []*peerpb.Request{{Id: 1, Command: []byte("c"), WaitMillis: -1}}})
	if err != nil {
		f.Fatal(err)
	}
	answer, err := proto.Marshal(&peerpb.AnswerFrame{Answers: []*peerpb.Answer{{Id: 1, Response: []byte("r"), LogTime: -1, Reason: "x"}},
		Closing: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(request)
	f.Add(answer)
	f.Add([]byte{0x1a, 0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, pair := range [][2]proto.Message{{&peerpb.RequestFrame{}, &peerpb.RequestFrame{}},
			{&peerpb.AnswerFrame{}, &peerpb.AnswerFrame{}}} {
			want := proto.Unmarshal(data, pair[0])
			got := decode(bytes.Clone(data), pair[1])
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

// Every field is known to the generated methods; another one would make each frame slow.
func TestFrameCodecKnowsAllFields(t *testing.T) {
	whole := &peerpb.RequestFrame{GroupId: 1, LeaderId: "l", SenderId: "s", Requests: []*peerpb.Request{{
		Id: 1, Kind: Submit, Term: 2, Command: []byte("c"), MinimumVersion: 3, BudgetMillis: 4, WaitMillis: 5, WaitedMillis: 6,
		Audit: &peerpb.Audit{NodeId: "n", HashVersion: 1, Index: 2, State: []byte("s"), Chain: []byte("c")}, RequestOrigin: 7,
		RequestNumber: 8,
	}}}
	answers := &peerpb.AnswerFrame{Closing: true,
		Answers: []*peerpb.Answer{{Id: 1, Outcome: 2, Response: []byte("r"), Index: 3, LogTime: -4, Reason: "r"}}}
	for _, frame := range []message{whole, answers} {
		data, fast := frame.AppendFast(nil)
		if want, err := (proto.MarshalOptions{Deterministic: true}).Marshal(frame); err != nil || !fast || !bytes.Equal(data, want) {
			t.Errorf("%T is encoded as %x, want %x, %v", frame, data, want, err)
		}
		again := frame.ProtoReflect().New().Interface().(message)
		if !again.ReadFast(data, "") || !proto.Equal(frame, again) {
			t.Errorf("%v is read as %v", frame, again)
		}
	}
	for _, of := range []proto.Message{whole, whole.Requests[0], whole.Requests[0].Audit, answers, answers.Answers[0]} {
		set := 0
		of.ProtoReflect().Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool { set++; return true })
		if n := of.ProtoReflect().Descriptor().Fields().Len(); n != set {
			t.Errorf("%T has %d fields, of which this test sets %d", of, n, set)
		}
	}
}

// A frame that would take much more memory than its size is refused.
func TestFrameCodecBoundsItems(t *testing.T) {
	for _, frame := range []struct {
		item []byte
		into proto.Message
	}{{[]byte{0x1a, 0}, &peerpb.RequestFrame{}}, {[]byte{0x0a, 0}, &peerpb.AnswerFrame{}}} {
		clustertest.Check(t, decode(bytes.Repeat(frame.item, frameItemsMax), frame.into))
		if err := decode(bytes.Repeat(frame.item, frameItemsMax+1), frame.into); err == nil {
			t.Errorf("%T: %d items were taken", frame.into, frameItemsMax+1)
		}
	}
}
