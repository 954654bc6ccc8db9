package queue

import (
	"strings"
	"testing"
)

// A text that is not exactly an issued handle changes nothing.
func FuzzReceiptHandle(f *testing.F) {
	f.Add("", uint8(0))
	f.Add(strings.Repeat("0", 56), uint8(1))
	f.Add(strings.Repeat("F", 56), uint8(27))
	f.Fuzz(func(t *testing.T, text string, at uint8) {
		const now = Timestamp(1_700_000_000_000)
		b := New()
		apply := func(cmd Command) Result {
			result, refusal := b.Apply(now, cmd)
			if refusal != nil {
				t.Fatal(refusal)
			}
			return result
		}
		apply(&SetClusterSetting{Name: SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"})
		apply(&CreateQueue{Queue: "q"})
		apply(&SendMessages{Queue: "q", Entries: []SendEntry{{Body: "x"}}})
		handle := apply(&ReceiveMessages{Queue: "q"}).(MessagesReceived).Messages[0].Handle.String()
		// The text itself, and the real handle with a part replaced by it.
		from := int(at) % len(handle)
		mixed := handle[:from] + text + handle[min(len(handle), from+len(text)):]
		for _, tried := range []string{text, mixed, handle + text} {
			if tried == handle {
				continue
			}
			for _, cmd := range []Command{
				&DeleteMessages{Queue: "q", Batch: true, Handles: []string{tried}},
				&ChangeMessageVisibility{Queue: "q", Batch: true,
					Entries: []VisibilityEntry{{Handle: tried, VisibilityTimeout: Some(int64(0))}}},
			} {
				result, refusal := b.Apply(now, cmd)
				if done, is := result.(EntriesDone); refusal == nil && (!is || done.Errs[0] == nil) {
					t.Fatalf("%T with %q, not %q: %+v", cmd, tried, handle, result)
				}
			}
		}
		stats, refusal := b.View().Stats("q")
		if refusal != nil || stats.NotVisible != 1 || stats.Visible != 0 {
			t.Fatalf("%+v, %v", stats, refusal)
		}
	})
}
