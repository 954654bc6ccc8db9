package codec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// TestTraits repeats the properties of every command, so that an accidental change fails: whether
// it adds messages, waits, and may be repeated.
func TestTraits(t *testing.T) {
	want := map[string]string{
		"AdvanceClock": "- - repeat", "SetFormatVersion": "- - -", "SetClusterSetting": "- - -", "Audit": "- - -",
		"CreateQueue": "- - -", "DeleteQueue": "- - -", "SetQueueAttributes": "- - -", "SetQueueTags": "- - -", "SetQueuePolicy": "- - -",
		"PurgeQueue": "- - -", "ReleaseGroup": "- - -", "NoteUse": "- waits repeat",
		"SendMessages": "adds - resend", "ReceiveMessages": "- waits if", "DeleteMessages": "- - repeat",
		"ChangeMessageVisibility": "- - repeat",
		"CancelScheduled":         "- - repeat", "Defer": "- - repeat", "ReceiveDeferred": "- - -", "DeadLetter": "- - repeat",
		"ForgetDeduplication": "- - -", "DeleteStored": "- - repeat", "MoveStored": "- - -",
		"StartMoveTask": "- - -", "CancelMoveTask": "- - -", "MoveMessages": "- - -", "ReplayMessages": "adds - -",
		"ReportDeliveries": "- - -",
		"CreateTopic":      "- - -", "DeleteTopic": "- - -", "SetTopicAttributes": "- - -", "SetTopicTags": "- - -",
		"SetTopicPolicy": "- - -",
		"Subscribe":      "- - -", "Unsubscribe": "- - -", "SetSubscriptionAttributes": "- - -", "Publish": "adds - resend",
		"ConfirmSubscription": "- - -",
		"AcceptSession":       "- waits if", "RenewSession": "- - repeat", "ReleaseSession": "- - repeat", "SetSessionState": "if - repeat",
		"CreateAccessKey": "- - -", "DeleteAccessKey": "- - -", "UpdateAccessKey": "- - -", "PutUserPolicy": "- - -",
		"SetSealingKey": "- - repeat",
		"PutRule":       "adds - -", "RemoveRule": "- - -", "CommitTransaction": "if - -",
		"CreateAccount": "- - -", "SetAccountQuota": "- - -", "DeleteAccount": "- - -",
	}
	for i := range codecs {
		c := &codecs[i]
		empty := reflect.New(c.command.Elem()).Interface().(queue.Command)
		is := []string{"-", "-", "-"}
		switch {
		case c.traits.adds.when != nil:
			is[0] = "if"
		case c.traits.adds.always:
			is[0] = "adds"
		}
		if c.traits.waits != never {
			is[1] = "waits"
		}
		switch {
		case c.traits.repeats.Resend != nil:
			is[2] = "resend"
		case c.traits.repeats.Safe(empty):
			is[2] = "repeat"
		case c.traits.repeats != onceOnly:
			is[2] = "if"
		}
		if got := strings.Join(is, " "); got != want[c.name] {
			t.Errorf("%s is %q in the table, %q here: state both", c.name, got, want[c.name])
		}
	}
}

func TestRepeating(t *testing.T) {
	for _, test := range []struct {
		cmd  queue.Command
		safe bool
	}{
		{&queue.ReceiveMessages{Queue: "q.fifo", AttemptID: "a", AttemptIDGiven: true}, true},
		{&queue.ReceiveMessages{Queue: "q", AttemptID: "a", AttemptIDGiven: true}, false},
		{&queue.ReceiveMessages{Queue: "q.fifo", AttemptIDGiven: true}, false},
		{&queue.AcceptSession{AttemptIDGiven: true}, true},
		{&queue.AcceptSession{}, false},
		{nil, false},
	} {
		if got := RepeatingOf(test.cmd).Safe(test.cmd); got != test.safe {
			t.Errorf("%+v: safe to repeat: %v", test.cmd, got)
		}
	}
	if WaitingOf(&queue.AcceptSession{SessionIDGiven: true}) != nil || WaitingOf(&queue.AcceptSession{}) == nil || WaitingOf(nil) != nil {
		t.Error("the acceptance of a session that is named waits, or that of the next does not")
	}
}

// element is the name of something that the log may contain from a format version on.
type element struct {
	name  string
	since uint32
}

// elements lists commands, their options, attributes and their values.
func elements() (list []element) {
	for i := range codecs {
		c := &codecs[i]
		since := max(c.minimum, 1)
		list = append(list, element{"command " + c.name, since})
		message, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("seriatim.fsm." + c.name))
		if err != nil {
			panic(err)
		}
		list = append(list, options(c, message.New(), nil, since)...)
	}
	for _, e := range attributes.Elements() {
		list = append(list, element{e.Name, e.Since})
	}
	return list
}

// options lists the fields of a command. The version of a field is the one that a command needs if
// only this field is set.
func options(c *codec, outer protoreflect.Message, path []protoreflect.FieldDescriptor, since uint32) (list []element) {
	of := outer.Descriptor()
	if len(path) > 0 {
		of = path[len(path)-1].Message()
	}
	for i := range of.Fields().Len() {
		way := append(slices.Clone(path), of.Fields().Get(i))
		message := outer.New()
		fill(message, way)
		body, err := proto.Marshal(message.Interface())
		if err != nil {
			panic(err)
		}
		version := since
		if cmd, err := c.decode(nil, body); err == nil {
			version = max(since, c.traits.needs(cmd))
		}
		name := "option " + c.name
		for _, field := range way {
			name += "." + string(field.Name())
		}
		list = append(list, element{name, version})
		if field := way[len(way)-1]; field.Message() != nil {
			list = append(list, options(c, outer, way, version)...)
		}
	}
	return list
}

// fill sets the member at the end of a path to a value that differs from its absence.
func fill(m protoreflect.Message, path []protoreflect.FieldDescriptor) {
	field := path[0]
	switch {
	case field.Message() != nil && field.IsList():
		inner := m.Mutable(field).List().AppendMutable().Message()
		if len(path) > 1 {
			fill(inner, path[1:])
		}
	case field.Message() != nil:
		inner := m.Mutable(field).Message()
		if len(path) > 1 {
			fill(inner, path[1:])
		}
	case field.IsList():
		m.Mutable(field).List().Append(sample(field))
	default:
		m.Set(field, sample(field))
	}
}

func sample(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("x")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(make([]byte, 32))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1)
	}
	panic("no sample of " + field.Kind().String())
}

// The elements of a released format version never change, since programs of that version are in
// use. A new command, option, attribute, value, or policy element belongs to the unreleased
// version, and -update writes only the list of that version.
func TestElementsOfVersions(t *testing.T) {
	lists := make(map[uint32][]string)
	for _, e := range elements() {
		lists[e.since] = append(lists[e.since], e.name)
		if e.since == 0 || e.since > format.CurrentVersion {
			t.Errorf("%s is there since version %d, this program knows 1 to %d", e.name, e.since, format.CurrentVersion)
		}
	}
	for version := uint32(1); version <= format.CurrentVersion; version++ {
		slices.Sort(lists[version])
		now := strings.Join(slices.Compact(lists[version]), "\n") + "\n"
		path := filepath.Join("testdata", "versions", fmt.Sprintf("v%d.golden", version))
		var want string
		if version == format.CurrentVersion {
			want = string(fsmtest.Golden(t, path, []byte(now)))
		} else if text, err := os.ReadFile(path); err == nil {
			want = string(text)
		} else {
			t.Fatal(err)
		}
		before, after := strings.Split(want, "\n"), strings.Split(now, "\n")
		for _, name := range after {
			if !slices.Contains(before, name) {
				t.Errorf("version %d did not have %q: its row needs the version that is not released, %d", version, name,
					format.CurrentVersion)
			}
		}
		for _, name := range before {
			if !slices.Contains(after, name) {
				t.Errorf("version %d had %q, which is gone: programs of that version propose it", version, name)
			}
		}
	}
}
