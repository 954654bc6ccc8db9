package snapshot

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

func deduplicationRecordMessage(r *queue.DeduplicationRecord) *fsmpb.DeduplicationRecord {
	return &fsmpb.DeduplicationRecord{
		Order: r.Order, Key: r.Key[:], Scope: uint32(r.Scope), AcceptedAt: int64(r.AcceptedAt), Sequence: uint64(r.Sequence),
	}
}

// someFields leaves out fields of a record at random.
func someFields(random *rand.Rand, record reflect.Value) {
	for _, field := range record.Fields() {
		if field.Kind() == reflect.Struct && field.NumField() > 4 && field.Type() != reflect.TypeFor[queue.Body]() {
			someFields(random, field)
		} else if random.IntN(2) == 0 {
			field.SetZero()
		}
	}
}

// plainSamples are messages with all sets of fields that a message can be written by
// hand with.
func plainSamples(t *testing.T, random *rand.Rand) (list []queue.MessageRecord) {
	for range 300 {
		var r queue.MessageRecord
		fsmtest.Distinct().Fill(t, reflect.ValueOf(&r).Elem())
		r.Body = content.NewBody("text")
		if random.IntN(2) == 0 {
			r.Body = content.StoredBody(content.Place{Segment: random.Uint32() | 1, Offset: random.Uint32N(3)}, 1+random.Uint32N(3e5), random.Uint64N(2)*random.Uint64())
		}
		r.SentAt = queue.Timestamp(random.Int64() - random.Int64())
		someFields(random, reflect.ValueOf(&r).Elem())
		r.Attributes, r.Published = nil, queue.PublishedRecord{}
		list = append(list, r)
	}
	return list
}

// TestPlainMessages compares what is written and read by hand with what the library does,
// also for bytes that are not what was written.
func TestPlainMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, want := range plainSamples(t, random) {
		m := &fsmpb.MessageRecord{}
		fillMessage(m, &want)
		written, err := protobuf.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendMessage(nil, &want); !plainMessage(&want) || !bytes.Equal(got, written) {
			t.Fatalf("%+v gives\n%x, want\n%x", want, got, written)
		}
		got := queue.MessageRecord{GroupID: "of the message before"}
		plain := plainMessageRecord(&got, string(written))
		if !plain || !reflect.DeepEqual(want, got) {
			t.Fatalf("read by hand: %t, %+v, want %+v", plain, got, want)
		}
		for range 100 {
			damaged := bytes.Clone(written)
			for range 1 + random.IntN(2) {
				if len(damaged) > 0 {
					damaged[random.IntN(len(damaged))] = byte(random.Uint32())
				}
			}
			var got queue.MessageRecord
			if !plainMessageRecord(&got, string(damaged)) {
				continue
			}
			if err := protobuf.Unmarshal(damaged, m); err != nil {
				t.Fatalf("%x is accepted, and is malformed: %v", damaged, err)
			}
			if want, err := messageRecord(m); err != nil || !reflect.DeepEqual(want, got) {
				t.Fatalf("%x gives %+v, want %+v, %v", damaged, got, want, err)
			}
		}
	}
}

func TestPlainDeduplication(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for range 300 {
		var want queue.DeduplicationRecord
		fsmtest.Distinct().Fill(t, reflect.ValueOf(&want).Elem())
		someFields(random, reflect.ValueOf(&want).Elem())
		written, err := protobuf.Append(nil, deduplicationRecordMessage(&want))
		if err != nil {
			t.Fatal(err)
		}
		if got := appendDeduplication(nil, &want); !bytes.Equal(got, written) {
			t.Fatalf("%+v gives\n%x, want\n%x", want, got, written)
		}
		if got, plain := plainDeduplicationRecord(string(written)); !plain || got != want {
			t.Fatalf("read %+v, %t, want %+v", got, plain, want)
		}
	}
}

// What few messages have is left to the library.
func TestNotPlain(t *testing.T) {
	for name, r := range map[string]queue.MessageRecord{
		"attributes": {Attributes: []queue.MessageAttribute{{Name: "n"}}},
		"published":  {Published: queue.PublishedRecord{PublicationID: queue.MessageID{1}}},
	} {
		m := &fsmpb.MessageRecord{}
		fillMessage(m, &r)
		written, err := protobuf.Append(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		if plainMessageRecord(new(queue.MessageRecord), string(written)) || plainMessage(&r) {
			t.Errorf("a message with %s is taken for one without", name)
		}
	}
}
