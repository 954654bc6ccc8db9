package failpoint

import (
	"errors"
	"testing"
	"time"
)

func TestActions(t *testing.T) {
	hits := func(place string, times int) (errs int) {
		for range times {
			if err := Hit(place); errors.Is(err, ErrInjected) {
				errs++
			}
		}
		return errs
	}
	cases := []struct {
		name, action string
		want         int // errors in ten hits
	}{
		{"every time", "error(EIO)", 10},
		{"the third time", "error(EIO).nth(3)", 1},
		{"never", "error(EIO).prob(0,1)", 0},
		{"always by chance", "error(EIO).prob(1,1)", 10},
		{"both", "error(EIO).nth(2).prob(1,7)", 1},
		{"only slower", "sleep(1us)", 0},
		{"switched off", "off", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := SetOne("answer", c.action); err != nil {
				t.Fatal(err)
			}
			defer SetOne("answer", "off")
			if got := hits("answer", 10); got != c.want {
				t.Errorf("%d errors, want %d", got, c.want)
			}
			if got := hits("reply", 1); got != 0 {
				t.Error("another place was hit as well")
			}
		})
	}
}

func TestPanicStrikes(t *testing.T) {
	if err := Set("answer=panic; reply=sleep(1us)"); err != nil {
		t.Fatal(err)
	}
	defer Set("answer=off;reply=off")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = Hit("answer")
}

func TestAHangEndsWhenItIsSwitchedOff(t *testing.T) {
	if err := SetOne("answer", "hang"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- Hit("answer") }()
	for Hits("answer") == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := SetOne("answer", "off"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoFailpointIsRefused(t *testing.T) {
	for _, text := range []string{"nowhere=panic", "answer=explode", "answer=exit(x)", "answer=sleep(3)", "answer=error(a).nth(x)", "answer=error(a).prob(x,1)", "answer"} {
		if err := Set(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
