package server

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. Its text has a unit: 64MiB.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// String uses the largest unit that divides the size.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

func parseSize(text string) (Size, error) {
	for _, u := range sizeUnits {
		digits, found := strings.CutSuffix(text, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		return Size(n * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size, write it like 64MiB (B, KiB, MiB, GiB)", text)
}

// setting is one field of Config with its tags.
type setting struct {
	name, env, def, since, help string
	kind                        reflect.Type
	index                       []int
	hidden                      bool
}

// settings lists all fields of Config in the order of the source.
func settings() []setting { return settingsOf(reflect.TypeFor[Config](), nil) }

func settingsOf(t reflect.Type, prefix []int) []setting {
	var list []setting
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), prefix...), i)
		if f.Tag.Get("name") == ",squash" {
			list = append(list, settingsOf(f.Type, index)...)
			continue
		}
		list = append(list, setting{
			name: f.Tag.Get("name"), env: f.Tag.Get("env"), def: f.Tag.Get("default"),
			since: f.Tag.Get("since"), help: f.Tag.Get("help"), kind: f.Type, index: index,
			hidden: f.Tag.Get("hidden") != "",
		})
	}
	return list
}

// text returns the value of the setting in cfg in the form that parse reads.
func (s setting) text(cfg Config) string {
	return shown(reflect.ValueOf(cfg).FieldByIndex(s.index).Interface())
}

// shown writes a value of a setting.
func shown(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(value)
}

// usual returns the default as text writes it, such as 24h0m0s for 24h.
func (s setting) usual() string {
	value, err := parse(s.kind, s.def)
	if err != nil {
		return s.def // a test parses all defaults
	}
	return shown(value)
}

// parse turns text into a value of a setting's type.
func parse(kind reflect.Type, text string) (any, error) {
	switch kind {
	case reflect.TypeFor[string]():
		return text, nil
	case reflect.TypeFor[[]string]():
		var list []string
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	case reflect.TypeFor[bool]():
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, fmt.Errorf("%q is neither true nor false", text)
	case reflect.TypeFor[int]():
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case reflect.TypeFor[float64]():
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number, write it like 0.01", text)
		}
		return f, nil
	case reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a duration, write it like 500ms or 10s", text)
		}
		return d, nil
	case reflect.TypeFor[Size]():
		return parseSize(text)
	case reflect.TypeFor[FreeSpace]():
		return parseFreeSpace(text)
	}
	return nil, fmt.Errorf("settings of type %s are not known", kind)
}
