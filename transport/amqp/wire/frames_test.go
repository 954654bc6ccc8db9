package wire

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// frames returns the recorded frames of clients: one a line, in hexadecimal, behind the name of the
// client.
func frames(t testing.TB) (all [][]byte) {
	t.Helper()
	text, err := os.ReadFile("testdata/frames.txt")
	clustertest.Must(t, err)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, digits, _ := strings.Cut(lines.Text(), " ")
		frame, err := hex.DecodeString(digits)
		clustertest.Must(t, err)
		all = append(all, frame)
	}
	clustertest.Must(t, lines.Err())
	return all
}

func anyOptional[T any](t *rapid.T, of *rapid.Generator[T]) (o Optional[T]) {
	if o.Set = rapid.Bool().Draw(t, "set"); o.Set {
		o.Value = of.Draw(t, "value")
	}
	return o
}

func anyMap(t *rapid.T) Value {
	if rapid.Bool().Draw(t, "no map") {
		return nil
	}
	return anyCompound(t, BeginMap, 1, 2)
}

func anyDescribed(t *rapid.T) Value {
	if rapid.Bool().Draw(t, "nothing") {
		return nil
	}
	return append(AppendDescriptor(nil, rapid.Uint64().Draw(t, "code")), anyValue(1).Draw(t, "described")...)
}

func anyField(t *rapid.T) Value {
	if v := anyValue(1).Draw(t, "field"); !v.IsNull() {
		return v
	}
	return nil
}

func anyError(t *rapid.T) *Error {
	if rapid.Bool().Draw(t, "no error") {
		return nil
	}
	return &Error{Condition: symbols.Draw(t, "condition") + "x", Description: texts.Draw(t, "description"), Info: anyMap(t)}
}

var (
	texts   = rapid.StringN(0, 20, -1)
	symbols = rapid.StringMatching("[ -~]{0,20}")
	uints   = rapid.Uint32()
)

// again writes and reads a composite value, and compares what was read.
func again[T any](t *rapid.T, written *T, code uint64, append func(*T, []byte) []byte, read func(Value) (T, error)) {
	b := append(written, []byte("before"))[len("before"):]
	got, list, rest, err := ReadPerformative(b)
	if err != nil || got != code || len(rest) > 0 {
		t.Fatalf("code 0x%x and %x behind: %v", got, rest, err)
	}
	back, err := read(list)
	if err != nil || !reflect.DeepEqual(back, *written) {
		t.Fatalf("wrote %+v and read %+v: %v", *written, back, err)
	}
}

// described adapts a reader of described values to the list of the value.
func described[T any](code uint64, read func(Value) (T, error)) func(Value) (T, error) {
	return func(list Value) (T, error) { return read(append(AppendDescriptor(nil, code), list...)) }
}

// Performatives are read as they were written.
func TestPerformatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		again(t, &Open{
			ContainerID: texts.Draw(t, "container"), Hostname: texts.Draw(t, "host"), MaxFrameSize: anyOptional(t, uints),
			ChannelMax: anyOptional(t, rapid.Uint16()), IdleTimeout: anyOptional(t, uints), Properties: anyMap(t),
		}, CodeOpen, (*Open).Append, ReadOpen)
		again(t, &Begin{
			RemoteChannel: anyOptional(t, rapid.Uint16()), NextOutgoingID: uints.Draw(t, "id"), IncomingWindow: uints.Draw(t, "in"),
			OutgoingWindow: uints.Draw(t, "out"), HandleMax: anyOptional(t, uints),
		}, CodeBegin, (*Begin).Append, ReadBegin)
		again(t, &Attach{
			Name: texts.Draw(t, "name"), Handle: uints.Draw(t, "handle"), Role: Role(rapid.Bool().Draw(t, "role")),
			SenderMode: anyOptional(t, rapid.Uint8Max(2)), ReceiverMode: anyOptional(t, rapid.Uint8Max(1)),
			Source: anyDescribed(t), Target: anyDescribed(t), InitialDeliveryCount: anyOptional(t, uints),
			MaxMessageSize: anyOptional(t, rapid.Uint64()), Properties: anyMap(t),
		}, CodeAttach, (*Attach).Append, ReadAttach)
		again(t, &Detach{Handle: uints.Draw(t, "handle"), Closed: rapid.Bool().Draw(t, "closed"), Error: anyError(t)},
			CodeDetach, (*Detach).Append, ReadDetach)
		again(t, &Flow{
			NextIncomingID: anyOptional(t, uints), IncomingWindow: uints.Draw(t, "in"), NextOutgoingID: uints.Draw(t, "next"),
			OutgoingWindow: uints.Draw(t, "out"), Handle: anyOptional(t, uints), DeliveryCount: anyOptional(t, uints),
			LinkCredit: anyOptional(t, uints), Available: anyOptional(t, uints), Drain: rapid.Bool().Draw(t, "drain"),
			Echo: rapid.Bool().Draw(t, "echo"),
		}, CodeFlow, (*Flow).Append, ReadFlow)
		again(t, &Transfer{
			Handle: uints.Draw(t, "handle"), DeliveryID: anyOptional(t, uints),
			DeliveryTag:   rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "tag"),
			MessageFormat: anyOptional(t, uints), Settled: rapid.Bool().Draw(t, "settled"), More: rapid.Bool().Draw(t, "more"),
			State: anyDescribed(t), Aborted: rapid.Bool().Draw(t, "aborted"),
		}, CodeTransfer, (*Transfer).Append, ReadTransfer)
		again(t, &Disposition{
			Role: Role(rapid.Bool().Draw(t, "role")), First: uints.Draw(t, "first"), Last: uints.Draw(t, "last"),
			Settled: rapid.Bool().Draw(t, "settled"), State: anyDescribed(t),
		}, CodeDisposition, (*Disposition).Append, ReadDisposition)
		again(t, &SASLInit{
			Mechanism: symbols.Draw(t, "mechanism") + "x", Response: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "response"),
			Hostname: texts.Draw(t, "host"),
		}, CodeSASLInit, (*SASLInit).Append, ReadSASLInit)
	})
}

// So are termini, states, errors and sections.
func TestComposites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		again(t, &Source{
			Address: anyField(t), Durable: anyOptional(t, uints), ExpiryPolicy: symbols.Draw(t, "policy"), Timeout: anyOptional(t, uints),
			Dynamic: rapid.Bool().Draw(t, "dynamic"), DynamicProperties: anyMap(t), DistributionMode: symbols.Draw(t, "mode"),
			Filter: anyMap(t), DefaultOutcome: anyDescribed(t), Outcomes: anyField(t), Capabilities: anyField(t),
		}, CodeSource, (*Source).Append, described(CodeSource, ReadSource))
		target := &Target{
			Address: anyField(t), Durable: anyOptional(t, uints), ExpiryPolicy: symbols.Draw(t, "policy"), Timeout: anyOptional(t, uints),
			Dynamic: rapid.Bool().Draw(t, "dynamic"), DynamicProperties: anyMap(t), Capabilities: anyField(t),
		}
		again(t, target, CodeTarget, (*Target).Append, described(CodeTarget, ReadTarget))
		again(t, &Target{Coordinator: true, Capabilities: target.Capabilities}, CodeCoordinator, (*Target).Append,
			described(CodeCoordinator, ReadTarget))
		txn := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "txn")
		for _, s := range []State{
			{Code: CodeAccepted},
			{Code: CodeReleased},
			{Code: CodeRejected, Error: anyError(t)},
			{Code: CodeModified, DeliveryFailed: rapid.Bool().Draw(t, "failed"), Annotations: anyMap(t)},
			{Code: CodeModified, UndeliverableHere: rapid.Bool().Draw(t, "elsewhere")},
			{Code: CodeReceived, SectionNumber: uints.Draw(t, "section"), SectionOffset: rapid.Uint64().Draw(t, "offset")},
			{Code: CodeDeclared, TxnID: txn},
			{Code: CodeTransactionalState, TxnID: txn, Outcome: anyDescribed(t)},
		} {
			again(t, &s, s.Code, (*State).Append, described(s.Code, ReadState))
			if s.Terminal() != (s.Code != CodeReceived) {
				t.Fatalf("0x%x: %v", s.Code, s.Terminal())
			}
		}
		again(t, &Discharge{TxnID: txn, Fail: rapid.Bool().Draw(t, "fail")}, CodeDischarge, (*Discharge).Append,
			described(CodeDischarge, ReadDischarge))
		again(t, anyHeader(t), CodeHeader, (*Header).Append, ReadHeader)
		again(t, anyProperties(t), CodeProperties, (*Properties).Append, ReadProperties)
	})
}

func anyHeader(t *rapid.T) *Header {
	return &Header{
		Durable: rapid.Bool().Draw(t, "durable"), Priority: anyOptional(t, rapid.Uint8()), TTL: anyOptional(t, uints),
		FirstAcquirer: rapid.Bool().Draw(t, "first"), DeliveryCount: uints.Draw(t, "count"),
	}
}

func anyProperties(t *rapid.T) *Properties {
	id := rapid.SampledFrom([]Value{
		nil, AppendUlong(nil, 7), AppendUUID(nil, [16]byte{1}), AppendBinary(nil, []byte("b")), AppendString(nil, "ä"),
	})
	return &Properties{
		MessageID: id.Draw(t, "id"), UserID: rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "user"), To: anyField(t),
		Subject: anyOptional(t, texts), ReplyTo: anyField(t), CorrelationID: id.Draw(t, "correlation"),
		ContentType: symbols.Draw(t, "type"), ContentEncoding: symbols.Draw(t, "encoding"),
		AbsoluteExpiryTime: anyOptional(t, rapid.Int64()), CreationTime: anyOptional(t, rapid.Int64()), GroupID: anyOptional(t, texts),
		GroupSequence: anyOptional(t, uints), ReplyToGroupID: anyOptional(t, texts),
	}
}

// Everything that the Service Bus clients for Go, Java, JavaScript and Python send is understood.
func TestRecordedFrames(t *testing.T) {
	seen := map[uint64]int{}
	for _, frame := range frames(t) {
		h, err := ReadFrameHeader(frame)
		clustertest.Must(t, err)
		code, list, payload, err := ReadPerformative(frame[h.Offset:])
		clustertest.Must(t, err)
		seen[code]++
		switch code {
		case CodeOpen:
			_, err = ReadOpen(list)
		case CodeBegin:
			_, err = ReadBegin(list)
		case CodeAttach:
			var a Attach
			if a, err = ReadAttach(list); err == nil {
				_, err = ReadSource(a.Source)
			}
			if err == nil {
				_, err = ReadTarget(a.Target)
			}
		case CodeFlow:
			_, err = ReadFlow(list)
		case CodeTransfer:
			var m Message
			if m, err = ReadMessage(payload); err == nil {
				_, err = ReadProperties(m.Properties)
			}
		case CodeDisposition:
			var d Disposition
			if d, err = ReadDisposition(list); err == nil {
				_, err = ReadState(d.State)
			}
		case CodeDetach:
			_, err = ReadDetach(list)
		case CodeEnd, CodeClose:
			_, err = ReadEnding(list)
		case CodeSASLInit:
			_, err = ReadSASLInit(list)
		}
		if err != nil {
			t.Errorf("frame 0x%x %x: %v", code, frame, err)
		}
	}
	for _, code := range []uint64{
		CodeOpen, CodeBegin, CodeAttach, CodeFlow, CodeTransfer, CodeDisposition, CodeDetach, CodeEnd, CodeClose, CodeSASLInit,
	} {
		if seen[code] < 4 {
			t.Errorf("%d frames with code 0x%x", seen[code], code)
		}
	}
}

// A field of a wrong type, and one that is missing, is an error.
func TestWrongFields(t *testing.T) {
	list := func(fields ...[]byte) Value {
		b, m := BeginList(nil)
		return m.End(append(b, bytes.Join(fields, nil)...))
	}
	null, one, name := AppendNull(nil), AppendUint(nil, 1), AppendString(nil, "n")
	read := map[string]func(Value) error{
		"open":        func(v Value) error { _, err := ReadOpen(v); return err },
		"begin":       func(v Value) error { _, err := ReadBegin(v); return err },
		"attach":      func(v Value) error { _, err := ReadAttach(v); return err },
		"flow":        func(v Value) error { _, err := ReadFlow(v); return err },
		"transfer":    func(v Value) error { _, err := ReadTransfer(v); return err },
		"disposition": func(v Value) error { _, err := ReadDisposition(v); return err },
		"detach":      func(v Value) error { _, err := ReadDetach(v); return err },
		"end":         func(v Value) error { _, err := ReadEnding(v); return err },
		"init":        func(v Value) error { _, err := ReadSASLInit(v); return err },
	}
	for _, c := range []struct {
		name string
		list Value
	}{
		{"open", list()}, {"open", one}, {"open", list(one)}, {"open", list(name, name, name)},
		{"begin", list(null, one, one)}, {"begin", list(one, one, one, one)},
		{"attach", list(name, one)}, {"attach", list(null, one, AppendBool(nil, true))},
		{"attach", list(name, one, AppendBool(nil, true), AppendUbyte(nil, 3))},
		{"attach", list(name, one, AppendBool(nil, true), null, null, name)},
		{"flow", list(null, one, one)}, {"transfer", list()}, {"transfer", list(one, null, name)},
		{"disposition", list(null, one)}, {"disposition", list(AppendBool(nil, true))},
		{"detach", list(null, AppendBool(nil, true))}, {"detach", list(one, AppendBool(nil, true), name)},
		{"end", list(append(AppendDescriptor(nil, CodeError), list()...))}, {"init", list()},
	} {
		if err := read[c.name](c.list); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s %x: %v", c.name, []byte(c.list), err)
		}
	}
}

// FuzzFrames checks that whatever is read from a frame is written again so that the same is read.
func FuzzFrames(f *testing.F) {
	for _, frame := range frames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < HeaderBytes {
			return
		}
		h, err := ReadFrameHeader(b)
		if err != nil || int(h.Offset) > len(b) {
			return
		}
		code, list, _, err := ReadPerformative(b[h.Offset:])
		if err != nil {
			return
		}
		switch code {
		case CodeOpen:
			same(t, list, (*Open).Append, ReadOpen)
		case CodeBegin:
			same(t, list, (*Begin).Append, ReadBegin)
		case CodeAttach:
			same(t, list, (*Attach).Append, ReadAttach)
			if a, err := ReadAttach(list); err == nil {
				_, _ = ReadSource(a.Source)
				_, _ = ReadTarget(a.Target)
			}
		case CodeFlow:
			same(t, list, (*Flow).Append, ReadFlow)
		case CodeTransfer:
			same(t, list, (*Transfer).Append, ReadTransfer)
		case CodeDisposition:
			same(t, list, (*Disposition).Append, ReadDisposition)
			if d, err := ReadDisposition(list); err == nil {
				_, _ = ReadState(d.State)
			}
		case CodeDetach:
			same(t, list, (*Detach).Append, ReadDetach)
		case CodeEnd, CodeClose:
			_, _ = ReadEnding(list)
		case CodeSASLInit:
			same(t, list, (*SASLInit).Append, ReadSASLInit)
		}
	})
}

func same[T any](t *testing.T, list Value, append func(*T, []byte) []byte, read func(Value) (T, error)) {
	first, err := read(list)
	if err != nil {
		return
	}
	_, list, rest, err := ReadPerformative(append(&first, nil))
	if err != nil || len(rest) > 0 {
		t.Fatalf("wrote %+v: %v", first, err)
	}
	if second, err := read(list); err != nil || !reflect.DeepEqual(first, second) {
		t.Fatalf("read %+v, then %+v: %v", first, second, err)
	}
}
