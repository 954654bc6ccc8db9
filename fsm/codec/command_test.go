package codec

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

func TestEveryCommandHasItsNumber(t *testing.T) {
	commands := everyCommand()
	var want, got []uint8
	for number, cmd := range commands {
		want = append(want, number)
		if found := CommandNumber(cmd); found != number {
			t.Errorf("%T has number %d, want %d", cmd, found, number)
		}
	}
	for _, c := range codecs {
		got = append(got, c.number)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table is not the sorted list of numbers (-want +got):\n%s", diff)
	}
}

func TestCommandsKeepEveryField(t *testing.T) {
	for number, cmd := range everyCommand() {
		want := filledCommand(t, fsmtest.Distinct(), cmd)
		got, err := DecodeCommand(mustFrame(t, want))
		if err != nil {
			t.Errorf("number %d: %v", number, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T changed on the way (-want +got):\n%s", cmd, diff)
		}
	}
}

func TestCommandsRoundTrip(t *testing.T) {
	commands := everyCommand()
	numbers := slices.Sorted(maps.Keys(commands))
	rapid.Check(t, func(r *rapid.T) {
		number := rapid.SampledFrom(numbers).Draw(r, "number")
		want := filledCommand(t, fsmtest.Drawn(r), commands[number])
		frame := mustFrame(t, want)
		got, err := DecodeCommand(frame)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("changed on the way (-want +got):\n%s", diff)
		}
		if again := mustFrame(t, got); !bytes.Equal(frame, again) {
			r.Fatalf("encoded again: %x, first: %x", again, frame)
		}
	})
}

func TestCommandHoldsNoPartOfTheFrame(t *testing.T) {
	for _, cmd := range everyCommand() {
		want := filledCommand(t, fsmtest.Distinct(), cmd)
		frame := mustFrame(t, want)
		got, err := DecodeCommand(frame)
		if err != nil {
			t.Fatal(err)
		}
		for i := range frame {
			frame[i] = 0xff
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T changed with the frame (-want +got):\n%s", cmd, diff)
		}
	}
}

func TestDecodeCommandRefuses(t *testing.T) {
	good := mustFrame(t, &queue.DeleteQueue{Queue: "orders"})
	edit := func(change func(frame []byte) []byte) []byte { return change(slices.Clone(good)) }
	tests := []struct {
		name  string
		frame []byte
		want  error
	}{
		{"nothing", nil, format.ErrMalformed},
		{"half a header", good[:3], format.ErrMalformed},
		{"half a body", good[:len(good)-1], format.ErrMalformed},
		{"more than one frame", append(slices.Clone(good), 0), format.ErrMalformed},
		{"unknown number", edit(func(f []byte) []byte { f[0] = 250; return f }), format.ErrUnknownCommand},
		{"number zero", edit(func(f []byte) []byte { f[0] = 0; return f }), format.ErrUnknownCommand},
		{"later version", edit(func(f []byte) []byte { f[1] = 2; return f }), format.ErrUnknownCommand},
		{"version zero", edit(func(f []byte) []byte { f[1] = 0; return f }), format.ErrUnknownCommand},
		{"length beyond all bounds", edit(func(f []byte) []byte { f[5] = 0xff; return f }), format.ErrMalformed},
		{"body that is no protobuf", []byte{11, 1, 1, 0, 0, 0, 0x0a}, format.ErrMalformed},
		{"content hash of another length", append([]byte{20, 1, 12, 0, 0, 0, 0x0a, 1, 'q', 0x22, 7, 0x3a, 5}, "short"...),
			format.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cmd, err := DecodeCommand(test.frame)
			if !errors.Is(err, test.want) || cmd != nil {
				t.Errorf("got %v, %v, want %v", cmd, err, test.want)
			}
		})
	}
}

// AppendCommand refuses what DecodeCommand refuses, since the leader decodes only forwarded
// commands, not its own.
func TestAppendCommandRefusesWhatDecodingRefuses(t *testing.T) {
	cmd := &queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{{Body: "b", ContentHash: []byte("short")}}}
	if frame, err := AppendCommand(nil, cmd); !errors.Is(err, format.ErrMalformed) {
		_, decoding := DecodeCommand(frame)
		t.Errorf("encoding: %v, decoding: %v", err, decoding)
	}
}

func TestFieldsOfLaterVersionsAreIgnored(t *testing.T) {
	frame := mustFrame(t, &queue.PurgeQueue{Queue: "orders"})
	frame = append(frame, 0xf8, 0x3f, 0x01) // field 1023, varint 1
	frame[2] += 3
	cmd, err := DecodeCommand(frame)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(queue.Command(&queue.PurgeQueue{Queue: "orders"}), cmd); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAppendCommandRefuses(t *testing.T) {
	if _, err := AppendCommand(nil, nil); !errors.Is(err, format.ErrUnknownCommand) {
		t.Errorf("no command: %v", err)
	}
	huge := &queue.DeleteQueue{Queue: string(make([]byte, FrameBytesMax))}
	if _, err := AppendCommand(nil, huge); err == nil {
		t.Error("a frame over the limit was made")
	}
}

func TestMinimumVersion(t *testing.T) {
	for number, cmd := range everyCommand() {
		want := uint32(1)
		if number <= 3 {
			want = 0 // a new cluster needs these to get to version 1
		}
		if got := MinimumVersion(cmd); got != want {
			t.Errorf("%T needs %d, want %d", cmd, got, want)
		}
		if MinimumVersion(cmd) > format.CurrentVersion {
			t.Errorf("%T needs more than this program knows", cmd)
		}
	}
	if MinimumVersion(nil) <= format.CurrentVersion {
		t.Error("a command without number may be proposed")
	}
}

func TestCommandName(t *testing.T) {
	name, err := CommandName(mustFrame(t, &queue.SendMessages{Queue: "q"}))
	if name != "SendMessages" || err != nil {
		t.Errorf("got %q, %v", name, err)
	}
	if _, err := CommandName([]byte{99, 1, 0, 0, 0, 0}); !errors.Is(err, format.ErrUnknownCommand) {
		t.Errorf("an unknown number has a name: %v", err)
	}
}

func TestAddsMessages(t *testing.T) {
	if AddsMessages(mustFrame(t, &queue.SetSessionState{Queue: "q.fifo"})) {
		t.Error("a state that is cleared adds bytes")
	}
	if !AddsMessages(mustFrame(t, &queue.SetSessionState{Queue: "q.fifo", StateGiven: true})) {
		t.Error("an empty state that is set makes a record")
	}
	if AddsMessages([]byte{99, 1, 0, 0, 0, 0}) {
		t.Error("an unknown command adds messages")
	}
}

func TestSendsTo(t *testing.T) {
	for number, cmd := range everyCommand() {
		cmd = filledCommand(t, fsmtest.Distinct(), cmd)
		frame := mustFrame(t, cmd)
		name, sends := SendsTo(frame)
		if sends != (number == sendMessagesNumber) || sends && string(name) != cmd.QueueName() {
			t.Errorf("%T of the queue %q: got %q, %v", cmd, cmd.QueueName(), name, sends)
		}
		if _, sends := SendsTo(frame[:len(frame)-1]); sends {
			t.Errorf("%T cut short sends", cmd)
		}
	}
	if _, sends := SendsTo(mustFrame(t, &queue.SendMessages{})); sends {
		t.Error("a send to no queue")
	}
}
