package description

import (
	"strconv"
	"strings"
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour

	// secondsMax is the largest time span of .NET without its fraction. Service Bus takes it for no limit.
	secondsMax = 10_675_199*day + 2*hour + 48*minute + 5
	// unlimited is the largest time span of .NET.
	unlimited = "P10675199DT2H48M5.4775807S"
)

// The units of a duration, largest first. Years and months have no fixed length.
var dateUnits, timeUnits = []unit{{'D', day}}, []unit{{'H', hour}, {'M', minute}, {'S', 1}}

type unit struct {
	letter  byte
	seconds int64
}

// ParseDuration reads a duration in the form of ISO 8601, such as P1DT2H. It returns at most the largest
// time span of .NET, and reports false for parts of seconds below it.
func ParseDuration(text string) (seconds int64, ok bool) {
	date, ok := strings.CutPrefix(text, "P")
	date, clock, timed := strings.Cut(date, "T")
	if !ok || date == "" && clock == "" || timed && clock == "" {
		return 0, false
	}
	days, ok := sum(date, dateUnits)
	if !ok {
		return 0, false
	}
	clock, fractional := withoutFraction(clock)
	rest, ok := sum(clock, timeUnits)
	seconds = min(days+rest, secondsMax)
	return seconds, ok && (!fractional || seconds == secondsMax)
}

// withoutFraction cuts the fraction of the seconds, and reports whether it was not zero.
func withoutFraction(clock string) (whole string, fractional bool) {
	whole, fraction, found := strings.Cut(clock, ".")
	digits, ok := strings.CutSuffix(fraction, "S")
	if !found || !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return clock, false
	}
	return whole + "S", strings.Trim(digits, "0") != ""
}

// sum adds up numbers with units, which come in order and at most once.
func sum(text string, units []unit) (seconds int64, ok bool) {
	for _, u := range units {
		number, rest, found := strings.Cut(text, string(u.letter))
		if !found {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 40)
		if err != nil || number[0] == '+' {
			return 0, false
		}
		seconds += min(int64(n), secondsMax/u.seconds+1) * u.seconds
		text = rest
	}
	return seconds, text == ""
}

// FormatDuration writes a duration in the form of ISO 8601.
func FormatDuration(seconds int64) string {
	if seconds >= secondsMax {
		return unlimited
	}
	if seconds == 0 {
		return "PT0S"
	}
	text := append([]byte(nil), 'P')
	date, clock := seconds/day, seconds%day
	if date > 0 {
		text = append(strconv.AppendInt(text, date, 10), 'D')
	}
	if clock > 0 {
		text = append(text, 'T')
	}
	for _, u := range timeUnits {
		if n := clock / u.seconds; n > 0 {
			text = append(strconv.AppendInt(text, n, 10), u.letter)
		}
		clock %= u.seconds
	}
	return string(text)
}

// FormatTimeSpan writes a duration as .NET does, in which errors of Service Bus state their bounds.
func FormatTimeSpan(seconds int64) string {
	digits := func(n int64) string { return strconv.FormatInt(n/10, 10) + strconv.FormatInt(n%10, 10) }
	text := digits(seconds/hour%24) + ":" + digits(seconds/minute%60) + ":" + digits(seconds%60)
	if days := seconds / day; days > 0 {
		text = strconv.FormatInt(days, 10) + "." + text
	}
	return text
}
