package codec

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// returned encodes and decodes a response.
func returned(t testing.TB, r Response) Response {
	t.Helper()
	data, err := AppendResponse(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeResponse(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 0xff // what was decoded must not change with it
	}
	return got
}

func TestResultsKeepEveryField(t *testing.T) {
	for name, result := range everyResult() {
		t.Run(name, func(t *testing.T) {
			want := Response{Result: filledResult(t, fsmtest.Distinct(), result)}
			if diff := cmp.Diff(want, returned(t, want), fsmtest.SameBody); diff != "" {
				t.Errorf("changed on the way (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResponsesRoundTrip(t *testing.T) {
	results := everyResult()
	names := slices.Sorted(maps.Keys(results))
	rapid.Check(t, func(r *rapid.T) {
		f := fsmtest.Drawn(r)
		want := Response{Result: filledResult(t, f, results[rapid.SampledFrom(names).Draw(r, "type")])}
		if rapid.Bool().Draw(r, "refused") {
			want = Response{Err: &queue.Error{Code: refusal.Code(1 + f.Number(10)), Message: f.Text()}}
		}
		if diff := cmp.Diff(want, returned(t, want), fsmtest.SameBody); diff != "" {
			r.Fatalf("changed on the way (-want +got):\n%s", diff)
		}
	})
}

// What is encoded by hand is what the library makes of it, and decoded by hand.
func TestResponsesByHandAreThoseOfTheLibrary(t *testing.T) {
	results := everyResult()
	names := slices.Sorted(maps.Keys(results))
	byHand := 0
	rapid.Check(t, func(r *rapid.T) {
		result := filledResult(t, fsmtest.Drawn(r), results[rapid.SampledFrom(names).Draw(r, "type")])
		ours, plain := appendPlainResult([]byte("before"), result)
		if !plain {
			return
		}
		byHand++
		theirs, err := appendResponse([]byte("before"), Response{Result: result})
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			r.Fatalf("%T (-library +by hand):\n%s", result, diff)
		}
		got, plain := parsePlainResponse(ours[len("before"):])
		if !plain {
			r.Fatalf("%T is left to the library", result)
		}
		if diff := cmp.Diff(result, got, fsmtest.SameBody); diff != "" {
			r.Fatalf("changed on the way (-want +got):\n%s", diff)
		}
	})
	if byHand == 0 {
		t.Error("nothing was encoded by hand")
	}
}

func TestResponseRefuses(t *testing.T) {
	if _, err := AppendResponse(nil, Response{}); !errors.Is(err, format.ErrUnknownFormat) {
		t.Errorf("neither result nor error: %v", err)
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, format.ErrUnknownFormat},
		{"result of a later version", []byte{0xa2, 0x06, 0x00}, format.ErrUnknownFormat},
		{"no protobuf", []byte{0x0a}, format.ErrMalformed},
		{"message id of one byte", []byte{0x22, 0x05, 0x0a, 0x03, 0x12, 0x01, 0x01}, format.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if r, err := DecodeResponse(test.data); !errors.Is(err, test.want) {
				t.Errorf("got %v, %v, want %v", r, err, test.want)
			}
		})
	}
}
