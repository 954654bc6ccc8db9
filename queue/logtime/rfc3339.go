package logtime

// ParseRFC3339 reads 2006-01-02T15:04:05[.fraction](Z|±hh:mm). It truncates to milliseconds and
// refuses the leap second :60, which log time does not have.
func ParseRFC3339(text string) (Timestamp, bool) {
	const shape = "0000-00-00T00:00:00"
	if len(text) <= len(shape) || !shaped(text[:len(shape)], shape) {
		return 0, false
	}
	year, month, day := digits(text[0:4]), digits(text[5:7]), digits(text[8:10])
	hour, minute, second := digits(text[11:13]), digits(text[14:16]), digits(text[17:19])
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	millis, zone, ok := fraction(text[len(shape):])
	if !ok {
		return 0, false
	}
	offset, ok := zoneMinutes(zone)
	if !ok {
		return 0, false
	}
	minutes := (daysFromCivil(year, month, day)*24+hour)*60 + minute - offset
	return Timestamp((minutes*60+second)*1000 + millis), true
}

// AppendRFC3339 appends t in UTC with milliseconds, as SNS does: 2006-01-02T15:04:05.000Z. Years
// above 9999 have more digits, and years below 0 a sign.
func (t Timestamp) AppendRFC3339(b []byte) []byte {
	const dayMillis = int64(24 * Hour)
	days, millis := int64(t)/dayMillis, int64(t)%dayMillis
	if millis < 0 { // days begin at midnight before 1970, too
		days, millis = days-1, millis+dayMillis
	}
	year, month, day := civilFromDays(days)
	if year < 0 {
		b, year = append(b, '-'), -year
	}
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), month, 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), millis/int64(Hour), 2)
	b = appendDigits(append(b, ':'), millis/int64(Minute)%60, 2)
	b = appendDigits(append(b, ':'), millis/int64(Second)%60, 2)
	b = appendDigits(append(b, '.'), millis%int64(Second), 3)
	return append(b, 'Z')
}

// appendDigits appends n, at least 0, with at least width digits.
func appendDigits(b []byte, n int64, width int) []byte {
	var text [20]byte
	i := len(text)
	for ; n > 0 || width > 0; width-- {
		i--
		text[i] = byte('0' + n%10)
		n /= 10
	}
	return append(b, text[i:]...)
}

// shaped reports whether text has digits where shape has 0, and otherwise equals shape, except for
// the case of T.
func shaped(text, shape string) bool {
	for i := range len(shape) {
		c := text[i]
		switch shape[i] {
		case '0':
			if c < '0' || c > '9' {
				return false
			}
		case 'T':
			if c != 'T' && c != 't' {
				return false
			}
		default:
			if c != shape[i] {
				return false
			}
		}
	}
	return true
}

// fraction reads the optional decimals of the seconds and returns the remaining text.
func fraction(text string) (millis int64, rest string, ok bool) {
	if text[0] != '.' {
		return 0, text, true
	}
	n := 1
	for scale := int64(100); n < len(text) && text[n] >= '0' && text[n] <= '9'; n++ {
		millis += int64(text[n]-'0') * scale
		scale /= 10
	}
	return millis, text[n:], n > 1
}

// zoneMinutes reads Z or ±hh:mm.
func zoneMinutes(text string) (int64, bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || !shaped(text[1:], "00:00") {
		return 0, false
	}
	hours, minutes := digits(text[1:3]), digits(text[4:6])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	if text[0] == '-' {
		return -(hours*60 + minutes), true
	}
	return hours*60 + minutes, true
}

func digits(text string) int64 {
	n := int64(0)
	for i := range len(text) {
		n = n*10 + int64(text[i]-'0')
	}
	return n
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysToEpoch is the number of days from 0000-03-01 to 1970-01-01.
const daysToEpoch = 719_468

// daysFromCivil counts the days from 1970-01-01 to a Gregorian date. Its years begin in March, so
// that the leap day is the last.
func daysFromCivil(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	// From March on, every five months have 153 days.
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	// Floor division: January and February of year 0 belong to year -1.
	leapDays := year/4 - year/100 + year/400
	if year < 0 {
		leapDays = -1
	}
	return year*365 + leapDays + dayOfYear - daysToEpoch
}

// civilFromDays returns the Gregorian date that is days after 1970-01-01. Its years begin in March,
// too; every 400 years have the same number of days.
func civilFromDays(days int64) (year, month, day int64) {
	const eraDays = 146_097
	days += daysToEpoch
	era := days / eraDays
	if days %= eraDays; days < 0 {
		era, days = era-1, days+eraDays
	}
	// Without leap days, every year of an era has 365 days. A leap day ends every 4 years, except
	// every 100, but ends every 400.
	ofEra := (days - days/1460 + days/36_524 - days/(eraDays-1)) / 365
	dayOfYear := days - (365*ofEra + ofEra/4 - ofEra/100)
	month = (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*month+2)/5 + 1
	year, month = era*400+ofEra, month+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}
