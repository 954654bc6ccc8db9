package model

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// startOfTime is the log time of the first command of every history.
const startOfTime = int64(1_767_225_600_000)

// step is one command of a history. It refers to earlier answers by step and position, never by
// value, so that a history can still be run after the shrinker has removed steps.
type step struct {
	id int
	at int64
	do action
}

func (s step) String() string {
	return fmt.Sprintf("%6d  %+12d ms  %T%s", s.id, s.at-startOfTime, s.do, describe(reflect.ValueOf(s.do)))
}

// describe returns the fields of a command that are not zero, with the values of pointers.
func describe(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Pointer:
		return describe(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				parts = append(parts, v.Type().Field(i).Name+"="+describe(f))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, describe(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.String:
		return fmt.Sprintf("%.60q", v)
	}
	return fmt.Sprint(v)
}

// action is the command of a step.
type action interface {
	command(w *world) queue.Command
}

// handleRef refers to a receipt handle by the receive that returned it.
type handleRef struct {
	step, index int
	damage      string  // "", "flip", "short", "garbage"
	lock        lockRef // with which it was received
}

type (
	createQueue struct {
		name string
		attributes
	}
	deleteQueue   struct{ name string }
	setAttributes struct {
		name string
		attributes
	}
	setTags struct {
		name   string
		set    attributes
		remove []string
	}
	purgeQueue struct{ name string }
	setSetting struct{ name, value string }
	advance    struct{ since int64 }
	send       struct {
		name    string
		sender  string
		batch   bool
		atomic  bool
		since   int64 // 0: it was not proposed before
		entries []reference.SendEntry
	}
	receive struct {
		name    string
		request reference.ReceiveRequest
	}
	deleteMessages struct {
		name    string
		batch   bool
		handles []handleRef
	}
	changeVisibility struct {
		name    string
		batch   bool
		entries []visibilityRef
	}
	startMove  struct{ source, destination string }
	cancelMove struct {
		task   int // the step that started it
		source string
	}
	moveStep struct {
		task int
		max  int
	}
)

type visibilityRef struct {
	handle  handleRef
	timeout int64
}

type attributes map[string]string
