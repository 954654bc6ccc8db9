package codec

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
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
		data[i] = 0xff // the response must not share memory with the data
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

// TestResponsesAreThoseOfTheLibrary compares the encoding of a response with the protobuf
// library's. Package wire does the same for the results in it.
func TestResponsesAreThoseOfTheLibrary(t *testing.T) {
	responses := []Response{{Err: &queue.Error{Code: 300, Message: "refused"}}}
	for _, result := range everyResult() {
		responses = append(responses, Response{Result: filledResult(t, fsmtest.Distinct(), result)})
	}
	for _, r := range responses {
		data, err := AppendResponse(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		var m fsmpb.Response
		if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		library, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(library, data); diff != "" {
			t.Errorf("%T (-library +ours):\n%s", r.Result, diff)
		}
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
