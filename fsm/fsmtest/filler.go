// Package fsmtest holds test tools for the packages below fsm: a Filler, golden files, and sample
// sends for benchmarks.
package fsmtest

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// Filler sets every field of a value, so that a test detects a field that an encoding omits, even
// one added later.
type Filler struct {
	Number func(bits int) uint64
	Text   func() string
	Length func() int
	Flag   func() bool
}

// Distinct returns a Filler that gives every field a different nonzero value.
func Distinct() *Filler {
	next := uint64(0)
	return &Filler{
		Number: func(int) uint64 { next++; return next },
		Text:   func() string { next++; return fmt.Sprintf("text-%d", next) },
		Length: func() int { return 2 },
		Flag:   func() bool { return true },
	}
}

// Drawn returns a Filler that draws values from rapid; text is any bytes.
func Drawn(t *rapid.T) *Filler {
	return &Filler{
		Number: func(bits int) uint64 { return rapid.Uint64Max(1<<bits-1).Draw(t, "number") },
		Text:   func() string { return string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "text")) },
		Length: func() int { return rapid.IntRange(0, 3).Draw(t, "length") },
		Flag:   func() bool { return rapid.Bool().Draw(t, "flag") },
	}
}

// Fill sets v, which must be addressable.
func (f *Filler) Fill(t testing.TB, v reflect.Value) {
	switch value := v.Addr().Interface().(type) {
	case *queue.Body:
		*value = message.NewBody(f.Text())
		return
	case *queue.Int:
		if f.Flag() {
			*value = queue.Some(int64(f.Number(63)))
		}
		return
	case **queue.Error:
		if f.Flag() {
			*value = &queue.Error{Code: refusal.Code(1 + f.Number(8)), Message: f.Text()}
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.Flag() {
			v.Set(reflect.New(v.Type().Elem()))
			f.Fill(t, v.Elem())
		}
	case reflect.Struct:
		for _, value := range v.Fields() {
			f.Fill(t, value)
		}
		f.forgetAbsent(v)
	case reflect.Slice:
		f.fillSlice(t, v)
	case reflect.Array:
		for i := range v.Len() {
			f.Fill(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(f.Text())
	case reflect.Bool:
		v.SetBool(f.Flag())
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.Number(63)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(f.Number(v.Type().Bits()))
	default:
		t.Fatalf("no sample for %s", v.Type())
	}
}

func (f *Filler) fillSlice(t testing.TB, v reflect.Value) {
	n := f.Length()
	if v.Type().Elem().Kind() == reflect.Uint8 && n > 0 {
		n = 32 // the only byte slice is a SHA-256
	}
	if n == 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		f.Fill(t, v.Index(i))
	}
}

// forgetAbsent clears texts whose Given field is false.
func (f *Filler) forgetAbsent(v reflect.Value) {
	for i := range v.NumField() {
		given := v.FieldByName(v.Type().Field(i).Name + "Given")
		if given.IsValid() && !given.Bool() {
			v.Field(i).SetString("")
		}
	}
}
