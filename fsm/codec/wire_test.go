package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// libraryCodec is the line of a command as the protobuf library alone serves it.
func libraryCodec(number uint8) codec {
	switch number {
	case 20:
		return line(20, 1, 1, "SendMessages", traits{addsNone, never, onceOnly, nothing}, sendMessagesMessage, sendMessagesCommand)
	case 22:
		return line(22, 1, 1, "DeleteMessages", traits{addsNone, never, onceOnly, nothing}, deleteMessagesMessage, deleteMessagesCommand)
	}
	return line(21, 1, 1, "ReceiveMessages", traits{addsNone, never, onceOnly, nothing}, receiveMessagesMessage, receiveMessagesCommand)
}

// sameAsLibrary decodes body by hand and with the library, and encodes what
// came out in both ways.
func sameAsLibrary(t testing.TB, number uint8, body []byte) {
	t.Helper()
	manual, err := codecByNumber(number, 1)
	if err != nil {
		t.Fatal(err)
	}
	library := libraryCodec(number)
	got, gotErr := manual.decode(nil, body)
	want, wantErr := library.decode(nil, body)
	decoder := usedDecoder(t)
	for range 2 { // the second time in memory that had the first command
		again, againErr := manual.decode(decoder, body)
		if diff := cmp.Diff(got, again); diff != "" && gotErr == nil || (gotErr == nil) != (againErr == nil) {
			t.Fatalf("decoded into memory used before: %v (-fresh +used):\n%s\n%x", againErr, diff, body)
		}
		decoder.Reset()
	}
	inEntry(t, decoder, number, body, got, gotErr)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("decoded by hand: %v; by the library: %v\n%x", gotErr, wantErr, body)
	}
	if wantErr != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("decoded (-library +hand):\n%s\n%x", diff, body)
	}
	encodedAsLibrary(t, number, want)
}

// inEntry decodes body as that of each of two commands of an entry.
func inEntry(t testing.TB, decoder *Decoder, number uint8, body []byte, want queue.Command, refused error) {
	t.Helper()
	frame := append([]byte{number, 1, 0, 0, 0, 0}, body...)
	binary.LittleEndian.PutUint32(frame[2:], uint32(len(body)))
	decoded := 0
	_, err := decoder.DecodeEntry(AppendEntry(nil, 1, [][]byte{frame, frame}), func(cmd queue.Command) error {
		decoded++
		if diff := cmp.Diff(want, cmd); diff != "" {
			t.Fatalf("decoded in an entry (-alone +in it):\n%s\n%x", diff, body)
		}
		return nil
	})
	decoder.Reset()
	if (err == nil) != (refused == nil) || err == nil && decoded != 2 {
		t.Fatalf("alone: %v; in an entry: %v after %d commands\n%x", refused, err, decoded, body)
	}
}

// usedDecoder has memory in which commands with everything in them were.
func usedDecoder(t testing.TB) *Decoder {
	t.Helper()
	d := &Decoder{}
	for _, cmd := range everyCommand() {
		if _, err := d.Decode(mustFrame(t, filledCommand(t, fsmtest.Distinct(), cmd))); err != nil {
			t.Fatal(err)
		}
	}
	d.Reset()
	return d
}

func encodedAsLibrary(t testing.TB, number uint8, cmd queue.Command) {
	t.Helper()
	manual, err := codecByNumber(number, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := protobuf.Append([]byte("x"), libraryCodec(number).encode(cmd))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := manual.append([]byte("x"), cmd); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("encoded by hand:\n%x\nby the library:\n%x\n%+v", got, want, cmd)
	}
}

// awkwardBodies are messages that an encoder does not write: fields in another
// order, twice, in another form, unknown, or damaged.
func awkwardBodies() map[string][]byte {
	text := func(dst []byte, number protowire.Number, text string) []byte {
		return appendTextField(dst, number, text)
	}
	hash := bytes.Repeat([]byte{7}, 32)
	entry := func(fields []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), fields)
	}
	return map[string][]byte{
		"empty":               nil,
		"order":               text(text(nil, 2, "sender"), 1, "queue"),
		"twice":               text(text(nil, 1, "first"), 1, "second"),
		"empty text":          text(nil, 1, ""),
		"another form":        protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5),
		"unknown":             text(text(nil, 14, "x"), 1, "queue"),
		"unknown group":       append(protowire.AppendGroup(protowire.AppendTag(nil, 9, protowire.StartGroupType), 9, text(nil, 1, "x")), text(nil, 1, "q")...),
		"end of no group":     protowire.AppendTag(nil, 9, protowire.EndGroupType),
		"flag above one":      protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1<<40),
		"flag of zero":        protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), 0),
		"long varint":         append(protowire.AppendTag(nil, 3, protowire.VarintType), bytes.Repeat([]byte{0xff}, 10)...),
		"field zero":          {0x00, 0x00},
		"largest number":      protowire.AppendVarint(protowire.AppendTag(nil, protowire.MaxValidNumber, protowire.VarintType), 1),
		"number too large":    append(protowire.AppendVarint(nil, uint64(protowire.MaxValidNumber+1)<<3), 0),
		"cut text":            {0x0a, 0x05, 'a'},
		"cut tag":             {0x80},
		"no text":             text(nil, 4, ""),
		"entry without end":   {0x22, 0x02, 0x0a, 0x05},
		"hash":                entry(protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), hash)),
		"short hash":          entry(protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), hash[1:])),
		"short hash replaced": entry(append(protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), hash[1:]), append([]byte{7<<3 | 2, 32}, hash...)...)),
		"empty hash":          entry([]byte{7<<3 | 2, 0}),
		"negative delay":      entry(appendNumberField(nil, 6, -1)),
		"empty ids":           entry(text(text(nil, 4, ""), 5, "")),
		"bytes that are text": text(nil, 1, "\xff\x00\xfe"),
		"entries among text":  append(text(entry(text(nil, 1, "a")), 1, "q"), entry(text(nil, 1, "b"))...),
	}
}

func TestWireIsTheLibrarys(t *testing.T) {
	for _, number := range []uint8{20, 21, 22} {
		encodedAsLibrary(t, number, everyCommand()[number])
		for name, body := range awkwardBodies() {
			t.Run(name, func(t *testing.T) { sameAsLibrary(t, number, body) })
		}
		t.Run("drawn", func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				cmd := filledCommand(t, fsmtest.Drawn(rt), everyCommand()[number])
				encodedAsLibrary(t, number, cmd)
				sameAsLibrary(t, number, mustFrame(t, cmd)[frameHeaderBytes:])
			})
		})
	}
}

func fuzzWire(f *testing.F, number uint8) {
	for _, body := range awkwardBodies() {
		f.Add(body)
	}
	for _, frame := range fsmtest.GoldenFrames(f, filepath.Join("testdata", "commands")) {
		f.Add(frame[frameHeaderBytes:])
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameAsLibrary(t, number, body) })
}

// FuzzSendMessages, FuzzReceiveMessages and FuzzDeleteMessages: what is decoded and
// encoded by hand is what the protobuf library makes of it.
func FuzzSendMessages(f *testing.F)    { fuzzWire(f, 20) }
func FuzzReceiveMessages(f *testing.F) { fuzzWire(f, 21) }
func FuzzDeleteMessages(f *testing.F)  { fuzzWire(f, 22) }

// What DecodeCommand refuses is not encoded, either: the leader decodes what other
// nodes forward, not what it encodes itself.
func TestAppendCommandRefusesWhatDecodingRefuses(t *testing.T) {
	cmd := &queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{{Body: "b", ContentHash: []byte("short")}}}
	if frame, err := AppendCommand(nil, cmd); !errors.Is(err, format.ErrMalformed) {
		_, decoding := DecodeCommand(frame)
		t.Errorf("encoding: %v, decoding: %v", err, decoding)
	}
}
