package servicebus

import (
	"slices"
	"testing"
)

// history makes events one second apart.
type history []Event

func (h *history) add(e Event) *history {
	e.At = int64(len(*h)+1) * 1e9
	if e.Since == 0 && e.Event != Held {
		e.Since = e.At - 1e8
	}
	*h = append(*h, e)
	return h
}

func message(event, id string, number int, holder string) Event {
	return Event{Event: event, ID: id, Session: "s", Number: number, Sequence: int64(number), Holder: holder}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	send := func(h *history, ids ...string) *history {
		for i, id := range ids {
			h.add(message(Accepted, id, i+1, ""))
		}
		return h
	}
	hold := func(h *history, holder string) *history {
		return h.add(Event{Event: Held, Session: "s", Holder: holder})
	}
	take := func(h *history, holder, id string, number int) *history {
		return h.add(message(Received, id, number, holder)).add(message(Settling, id, number, holder)).
			add(message(Completed, id, number, holder))
	}
	tests := map[string]struct {
		history *history
		want    []string
		kills   []int64
	}{
		"all is well": {take(take(hold(send(new(history), "a", "b"), "x"), "x", "a", 1), "x", "b", 2), nil, nil},
		"abandoned, and by another holder": {take(take(hold(hold(send(new(history), "a", "b"), "x").
			add(message(Received, "a", 1, "x")).add(message(Settling, "a", 1, "x")).add(message(Abandoned, "a", 1, "x")), "y"),
			"y", "a", 1), "y", "b", 2), nil, nil},
		"a late answer to an abandon": {take(send(new(history), "a").add(message(Received, "a", 1, "")).
			add(message(Settling, "a", 1, "")), "", "a", 1).add(Event{Event: Abandoned, ID: "a", Sequence: 1, Since: 3e9}), nil, nil},
		"a late answer to a former holder": {take(take(hold(hold(send(new(history), "a", "b"), "x"), "y"), "y", "a", 1).
			add(Event{Event: Received, ID: "a", Session: "s", Number: 1, Sequence: 1, Holder: "x", Since: 1}), "y", "b", 2), nil, nil},
		"never came":                {send(new(history), "a"), []string{Loss}, nil},
		"came, and was not settled": {send(new(history), "a").add(message(Received, "a", 1, "")), []string{Loss}, nil},
		"stored twice": {take(send(new(history), "a"), "", "a", 1).
			add(Event{Event: Received, ID: "a", Sequence: 7, Since: 1}), []string{Duplicate}, nil},
		"came after its completion": {take(take(send(new(history), "a"), "", "a", 1), "", "a", 1), []string{Return}, nil},
		"out of order":              {take(take(hold(send(new(history), "a", "b"), "x"), "x", "b", 2), "x", "a", 1), []string{Order}, nil},
		"came back behind a later one": {take(take(hold(send(new(history), "a", "b"), "x").add(message(Received, "a", 1, "x")).
			add(message(Settling, "a", 1, "x")).add(message(Abandoned, "a", 1, "x")), "x", "b", 2), "x", "a", 1), []string{Order}, nil},
		"a hold that ended unnoticed": {hold(hold(new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 15e8}), "y"), "z").
			add(Event{Event: Closing, Session: "s", Holder: "x"}), nil, nil},
		"a stolen session": {hold(new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 10e9}), "y").
			add(Event{Event: Closing, Session: "s", Holder: "x"}), []string{Holders}, nil},
		"a session that is lost without a kill": {hold(new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 10e9}), "y").
			add(Event{Event: Lost, Session: "s", Holder: "x"}), []string{Holders}, nil},
		"a session that is lost in a kill": {hold(new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 10e9}), "y").
			add(Event{Event: Lost, Session: "s", Holder: "x"}), nil, []int64{15e8}},
		"a lock that ends before its time": {new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 10e9}).
			add(Event{Event: Lost, Session: "s", Holder: "x", Text: "Error condition: " + lockLost}), []string{Holders}, []int64{15e8}},
		"a lock that ends": {new(history).add(Event{Event: Held, Session: "s", Holder: "x", Until: 15e8}).
			add(Event{Event: Lost, Session: "s", Holder: "x", Text: "Error condition: " + lockLost}), nil, nil},
		"two holders": {hold(hold(new(history), "x"), "y").add(Event{Event: Renewed, Session: "s", Holder: "x"}), []string{Holders}, nil},
	}
	for name, test := range tests {
		var got []string
		for _, v := range Check(*test.history, test.kills) {
			got = append(got, v.Checker)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
