package attributes

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// number is a whole number from lowest to highest.
func number[T any](lowest, highest int64, field func(*T) *int64) attribute[T] {
	r := between(func(Assignment) int64 { return lowest }, highest, field)
	r.takes = takesText(strconv.FormatInt(lowest, 10) + " to " + strconv.FormatInt(highest, 10))
	return r
}

// window is a number of seconds whose lower bound is a setting of the cluster.
func window[T any](highest int64, field func(*T) *int64) attribute[T] {
	r := between(func(in Assignment) int64 { return in.MinimumWindow }, highest, field)
	r.takes = takesText("the least window to " + strconv.FormatInt(highest, 10))
	return r
}

// autoDelete is a number of seconds, or 0.
func autoDelete[T any](field func(*T) *int64) attribute[T] {
	r := number(autoDeleteSecondsMin, autoDeleteSecondsMax, field)
	parse := r.parse
	r.parse = func(a *T, s setting) *refusal.Error {
		if s.value == "0" {
			*field(a) = 0
			return nil
		}
		return parse(a, s)
	}
	r.takes = takesText("0 or " + strconv.Itoa(autoDeleteSecondsMin) + " to " + strconv.Itoa(autoDeleteSecondsMax))
	return r
}

func between[T any](lowest func(Assignment) int64, highest int64, field func(*T) *int64) attribute[T] {
	return attribute[T]{
		parse: func(a *T, s setting) *refusal.Error {
			n, ok := message.ParseNumber(s.value)
			if lowest := lowest(s.in); !ok || n < lowest || n > highest {
				return s.invalid("Must be between " + strconv.FormatInt(lowest, 10) + " and " + strconv.FormatInt(highest, 10) + ".")
			}
			*field(a) = n
			return nil
		},
		print: func(a *T) (string, bool) { return strconv.FormatInt(*field(a), 10), true },
	}
}

// booleanText describes the values of a flag.
const booleanText = "true or false"

// flag is a boolean, read without regard to letter case and printed in lower case, as AWS does.
func flag[T any](field func(*T) *bool) attribute[T] { return boolean(false, field) }

// inverseFlag is a flag in a field of the opposite meaning, whose zero value is the default.
func inverseFlag[T any](field func(*T) *bool) attribute[T] { return boolean(true, field) }

func boolean[T any](inverse bool, field func(*T) *bool) attribute[T] {
	return attribute[T]{
		takes: takesText(booleanText),
		parse: func(a *T, s setting) *refusal.Error {
			on, ok := ParseBool(s.value)
			if !ok {
				return s.invalid("Must be true or false.")
			}
			*field(a) = on != inverse
			return nil
		},
		print: func(a *T) (string, bool) { return strconv.FormatBool(*field(a) != inverse), true },
	}
}

// ParseBool reads true and false without regard to letter case.
func ParseBool(text string) (on, ok bool) {
	switch {
	case strings.EqualFold(text, "true"):
		return true, true
	case strings.EqualFold(text, "false"):
		return false, true
	}
	return false, false
}

// either is one of two words; the field is true for the second.
func either[T any](w words, field func(*T) *bool) attribute[T] {
	return oneOf(w, func(a *T) int {
		if *field(a) {
			return 1
		}
		return 0
	}, func(a *T, i int) { *field(a) = i == 1 })
}

// choice is one of some words; the field is first for the first of them. A lower value of the field
// is an unset attribute, which is not listed.
func choice[T any, V ~uint8](w words, first V, field func(*T) *V) attribute[T] {
	return oneOf(w, func(a *T) int { return int(*field(a)) - int(first) }, func(a *T, i int) { *field(a) = first + V(i) })
}

func oneOf[T any](w words, index func(*T) int, set func(*T, int)) attribute[T] {
	return attribute[T]{
		takes: takes{words: w},
		parse: func(a *T, s setting) *refusal.Error {
			i := w.index(s.value)
			if i < 0 {
				texts := make([]string, len(w))
				for i := range w {
					texts[i] = w[i].text
				}
				return s.invalid("Please use either " + strings.Join(texts, " or "))
			}
			set(a, i)
			return nil
		},
		print: func(a *T) (string, bool) { i := index(a); return w[max(i, 0)].text, i >= 0 },
	}
}

// text is a text that is stored as sent, and listed unless it is empty.
func text[T any](values takes, field func(*T) *string, check func(s setting) *refusal.Error) attribute[T] {
	return attribute[T]{
		takes: values,
		parse: func(a *T, s setting) *refusal.Error {
			if err := check(s); err != nil {
				return err
			}
			*field(a) = s.value
			return nil
		},
		print: func(a *T) (string, bool) { return *field(a), *field(a) != "" },
	}
}

func checkKMSKey(s setting) *refusal.Error {
	if len(s.value) > kmsKeyIDLengthMax || !utf8.ValidString(s.value) {
		return s.invalid("Must be at most " + strconv.Itoa(kmsKeyIDLengthMax) + " bytes of UTF-8.")
	}
	return nil
}
