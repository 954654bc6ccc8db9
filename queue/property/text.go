package property

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Times are ticks of 100 ns since the year 1, as in .NET.
const (
	ticksPerMilli  = 10_000
	ticksPerSecond = 1000 * ticksPerMilli
	ticksPerDay    = 86_400 * ticksPerSecond
	epochTicks     = 621_355_968_000_000_000 // 1970
	timeTicksMax   = 3_155_378_975_999_999_999
)

// Text returns the value as text: numbers as .NET writes them, times in RFC 3339, durations as
// [-][d.]hh:mm:ss[.fffffff]. Nothing and null are "".
func (v Value) Text() string {
	switch v.Kind() {
	case KindBoolean:
		if v.Bool() {
			return "True"
		}
		return "False"
	case KindLong:
		return strconv.FormatInt(int64(v.low), 10)
	case KindDouble:
		return doubleText(v.low)
	case KindDecimal:
		return decimalText(v.asDecimal())
	case KindString:
		return v.text
	case KindTime:
		return timeText(v)
	case KindDuration:
		return durationText(int64(v.low))
	case KindGUID:
		return guidText(v.bytes())
	case KindBinary:
		return hexText(v.text)
	default:
		return ""
	}
}

const hexDigits = "0123456789abcdef"

func hexText(bytes string) string {
	text := make([]byte, 0, 2*len(bytes))
	for i := range len(bytes) {
		text = append(text, hexDigits[bytes[i]>>4], hexDigits[bytes[i]&15])
	}
	return string(text)
}

// guidHyphens are the places of hyphens in the text of a GUID.
func guidHyphen(at int) bool { return at == 8 || at == 13 || at == 18 || at == 23 }

const guidLength = 36

func guidText(id [16]byte) string {
	text := make([]byte, 0, guidLength)
	for _, b := range id {
		if guidHyphen(len(text)) {
			text = append(text, '-')
		}
		text = append(text, hexDigits[b>>4], hexDigits[b&15])
	}
	return string(text)
}

func parseGUID(text string) (Value, bool) {
	if len(text) != guidLength {
		return Value{}, false
	}
	text = lettercase.Folded(text)
	var id [16]byte
	n := 0
	for i := range len(text) {
		if guidHyphen(i) {
			if text[i] != '-' {
				return Value{}, false
			}
			continue
		}
		digit := strings.IndexByte(hexDigits, text[i])
		if digit < 0 {
			return Value{}, false
		}
		id[n/2] = id[n/2]<<4 | byte(digit)
		n++
	}
	return GUID(id), true
}

func timeText(v Value) string {
	text := logtime.Timestamp(v.Millis()).AppendRFC3339(nil)
	if ticks := v.low % ticksPerMilli; ticks != 0 {
		text = append(text[:len(text)-1], padded(ticks, 4)...)
		text = append(text, 'Z')
	}
	return string(text)
}

// parseTime reads RFC 3339 with up to seven decimals.
func parseTime(text string) (Value, bool) {
	millis, ok := logtime.ParseRFC3339(text)
	ticks := int64(millis)*ticksPerMilli + epochTicks
	if !ok || ticks < 0 || ticks > timeTicksMax {
		return Value{}, false
	}
	const millisEnd = len("2006-01-02T15:04:05.000")
	unit := int64(ticksPerMilli / 10)
	for i := millisEnd; i < len(text) && text[millisEnd-4] == '.' && text[i] >= '0' && text[i] <= '9' && unit > 0; i++ {
		ticks += int64(text[i]-'0') * unit
		unit /= 10
	}
	return Value{typ: TypeDateTimeOffset, low: uint64(ticks)}, true
}

// padded returns n with at least width digits.
func padded(n uint64, width int) string {
	text := strconv.FormatUint(n, 10)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}

func durationText(ticks int64) string {
	text := ""
	if ticks < 0 {
		text = "-"
	}
	n := magnitude(ticks)
	if days := n / ticksPerDay; days > 0 {
		text += strconv.FormatUint(days, 10) + "."
	}
	seconds := n % ticksPerDay / ticksPerSecond
	text += padded(seconds/3600, 2) + ":" + padded(seconds/60%60, 2) + ":" + padded(seconds%60, 2)
	if fraction := n % ticksPerSecond; fraction > 0 {
		text += "." + padded(fraction, 7)
	}
	return text
}

// parseDuration reads [-][d.]hh:mm:ss[.fraction].
func parseDuration(text string) (Value, bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	parts := strings.Split(unsigned, ":")
	if len(parts) != 3 {
		return Value{}, false
	}
	dayText, hourText, hasDays := strings.Cut(parts[0], ".")
	if !hasDays {
		dayText, hourText = "0", parts[0]
	}
	secondText, fraction, hasFraction := strings.Cut(parts[2], ".")
	if hasFraction && fraction == "" || len(fraction) > 7 {
		return Value{}, false
	}
	days, ok0 := parseDigits(dayText, 10_675_199)
	hours, ok1 := parseDigits(hourText, 23)
	minutes, ok2 := parseDigits(parts[1], 59)
	seconds, ok3 := parseDigits(secondText, 59)
	ticks, ok4 := parseDigits((fraction + "0000000")[:7], ticksPerSecond-1)
	if !ok0 || !ok1 || !ok2 || !ok3 || !ok4 {
		return Value{}, false
	}
	total := days*ticksPerDay + ((hours*60+minutes)*60+seconds)*ticksPerSecond + ticks
	if total < 0 { // the last day is not complete
		return Value{}, false
	}
	if negative {
		total = -total
	}
	return Duration(total), true
}

// parseDigits reads one to eight digits.
func parseDigits(text string, most int64) (int64, bool) {
	if text == "" || len(text) > 8 {
		return 0, false
	}
	n := int64(0)
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(text[i]-'0')
	}
	return n, n <= most
}

// Convert converts a value to a type without loss, except that a decimal or an integer may be
// rounded to a double. It is not ok if the type cannot hold the value.
func Convert(v Value, to Type) (converted Value, ok bool) {
	kind := v.Kind()
	if v.typ == to || kind == KindNull {
		return v, true
	}
	if kind == KindNone || kind == KindBinary {
		return Value{}, false
	}
	switch kinds[to] {
	case KindString:
		return convertToString(v, to)
	case KindLong:
		return convertToInteger(v, to)
	case KindDouble:
		return convertToDouble(v, to)
	case KindDecimal:
		if kind == KindLong || kind == KindDecimal {
			return v.asDecimal(), true
		}
		if kind == KindDouble || kind == KindString {
			return parseDecimal(v.Text())
		}
	case KindBoolean:
		if kind == KindString && (lettercase.Equal(v.text, "true") || lettercase.Equal(v.text, "false")) {
			return Boolean(lettercase.Equal(v.text, "true")), true
		}
	case KindTime:
		if kind == KindString {
			v, ok = parseTime(v.text)
		} else {
			ok = kind == KindTime
		}
		if to == TypeTimestamp {
			v = Time(v.Millis())
		}
		v.typ = to
		return v, ok
	case KindDuration:
		if kind == KindString {
			return parseDuration(v.text)
		}
	case KindGUID:
		if kind == KindString {
			return parseGUID(v.text)
		}
	default: // nothing becomes null or binary
	}
	return Value{}, false
}

func convertToString(v Value, to Type) (Value, bool) {
	text := v.Text()
	switch to {
	case TypeChar:
		return Value{typ: to, text: text}, utf8.RuneCountInString(text) == 1
	case TypeSymbol:
		return Value{typ: to, text: text}, isASCII(text)
	default:
		return Value{typ: to, text: text}, true
	}
}

func convertToInteger(v Value, to Type) (Value, bool) {
	if v.Kind() == KindDouble {
		n, ok := longOfDouble(v.low)
		if !ok {
			return Value{}, false
		}
		v = Long(n)
	}
	text := v.Text()
	if v.Kind() == KindDecimal && strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if to == TypeULong {
		n, err := strconv.ParseUint(text, 10, 64)
		return ULong(n), err == nil && isNumeral(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	v = Integer(to, n)
	return v, err == nil && isNumeral(text) && v.typ == to
}

func convertToDouble(v Value, to Type) (Value, bool) {
	ok := isNumber(v.Kind())
	bits := uint64(0)
	switch {
	case ok:
		bits = v.asDouble()
	case v.Kind() == KindString && isNumeral(v.text):
		bits, ok = doubleOfText(v.text)
	}
	if to == TypeFloat {
		narrow, exact := floatOfDouble(bits)
		return Value{typ: to, low: doubleOfFloat(narrow)}, ok && exact
	}
	return DoubleBits(bits), ok
}

// isNumeral reports whether a text has only digits, signs, a point and an exponent, and begins with
// a digit or a minus sign.
func isNumeral(text string) bool {
	return text != "" && text[0] != '+' && strings.Trim(text, "0123456789+-.eE") == "" && strings.ContainsAny(text, "0123456789")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
