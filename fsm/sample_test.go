package fsm

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// everyCommand has one value of each command type, the closed set of package
// queue, by the number it has in the log.
func everyCommand() map[uint8]queue.Command {
	return map[uint8]queue.Command{
		1:  &queue.AdvanceClock{},
		2:  &queue.SetFormatVersion{},
		3:  &queue.SetClusterSetting{},
		4:  &queue.Audit{},
		10: &queue.CreateQueue{},
		11: &queue.DeleteQueue{},
		12: &queue.SetQueueAttributes{},
		13: &queue.SetQueueTags{},
		14: &queue.SetQueuePolicy{},
		15: &queue.PurgeQueue{},
		20: &queue.SendMessages{},
		21: &queue.ReceiveMessages{},
		22: &queue.DeleteMessages{},
		23: &queue.ChangeMessageVisibility{},
		30: &queue.StartMoveTask{},
		31: &queue.CancelMoveTask{},
		32: &queue.MoveMessages{},
	}
}

// everyResult has one value of each result type.
func everyResult() map[string]queue.Result {
	return map[string]queue.Result{
		"Done":              queue.Done{},
		"QueueCreated":      queue.QueueCreated{},
		"MessagesSent":      queue.MessagesSent{},
		"MessagesReceived":  queue.MessagesReceived{},
		"EntriesDone":       queue.EntriesDone{},
		"MoveTaskStarted":   queue.MoveTaskStarted{},
		"MoveTaskCancelled": queue.MoveTaskCancelled{},
		"MessagesMoved":     queue.MessagesMoved{},
	}
}

// filler sets every field of a value, so that a test sees a field that an
// encoding forgot, also one that was added to package queue later.
type filler struct {
	number func(bits int) uint64
	text   func() string
	length func() int
	flag   func() bool
	// later fills also fields that are pointers: what was added to a command
	// after its golden bytes were written.
	later func() bool
}

// distinct gives every field another value that is not zero.
func distinct() *filler {
	next := uint64(0)
	return &filler{
		number: func(int) uint64 { next++; return next },
		text:   func() string { next++; return fmt.Sprintf("text-%d", next) },
		length: func() int { return 2 },
		flag:   func() bool { return true },
		later:  func() bool { return false },
	}
}

// drawn takes values from rapid; text is any bytes.
func drawn(t *rapid.T) *filler {
	return &filler{
		number: func(bits int) uint64 { return rapid.Uint64Max(1<<bits-1).Draw(t, "number") },
		text:   func() string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "text")) },
		length: func() int { return rapid.IntRange(0, 3).Draw(t, "length") },
		flag:   func() bool { return rapid.Bool().Draw(t, "flag") },
		later:  func() bool { return rapid.Bool().Draw(t, "later") },
	}
}

// fill sets v, which must be addressable.
func (f *filler) fill(t testing.TB, v reflect.Value) {
	switch value := v.Addr().Interface().(type) {
	case *queue.Body:
		*value = content.NewBody(f.text())
		return
	case *queue.Int:
		if f.flag() {
			*value = queue.Some(int64(f.number(63)))
		}
		return
	case **queue.Error:
		if f.flag() {
			*value = &queue.Error{Code: refusal.Code(1 + f.number(8)), Message: f.text()}
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.later() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(t, v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(t, field)
		}
		f.forgetAbsent(v)
	case reflect.Slice:
		f.fillSlice(t, v)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.flag())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.number(63)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.number(v.Type().Bits()))
	default:
		t.Fatalf("no sample for %s", v.Type())
	}
}

func (f *filler) fillSlice(t testing.TB, v reflect.Value) {
	n := f.length()
	if v.Type().Elem().Kind() == reflect.Uint8 && n > 0 {
		n = 32 // the only byte slice is a SHA-256
	}
	if n == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.fill(t, v.Index(i))
	}
}

// forgetAbsent clears text that is marked as not given.
func (f *filler) forgetAbsent(v reflect.Value) {
	for i := range v.NumField() {
		given := v.FieldByName(v.Type().Field(i).Name + "Given")
		if given.IsValid() && !given.Bool() {
			v.Field(i).SetString("")
		}
	}
}

// filledCommand is a new command of the type of cmd with all fields set.
func filledCommand(t testing.TB, f *filler, cmd queue.Command) queue.Command {
	v := reflect.New(reflect.TypeOf(cmd).Elem())
	f.fill(t, v.Elem())
	return v.Interface().(queue.Command)
}

// filledResult is a new result of the type of r with all fields set. A sent
// entry holds an error or the rest; here it holds both, which shows more.
func filledResult(t testing.TB, f *filler, r queue.Result) queue.Result {
	v := reflect.New(reflect.TypeOf(r))
	f.fill(t, v.Elem())
	return v.Elem().Interface().(queue.Result)
}

// mustFrame encodes cmd.
func mustFrame(t testing.TB, cmd queue.Command) []byte {
	t.Helper()
	frame, err := AppendCommand(nil, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}
