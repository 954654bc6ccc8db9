package console

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// harmless replaces control characters and characters that change the direction or the place of
// others. Line feeds and tabs stay.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff',
			unicode.Is(unicode.Cf, r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// line is harmless on one line, and at most a number of characters long.
func line(most int, text string) string {
	if len(text) > 4*most {
		text = text[:4*most]
	}
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, harmless(text))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// prettyBytesMax bounds the JSON that is indented.
const prettyBytesMax = 1 << 20

// pretty returns a body as indented JSON.
func pretty(body string) (text string, ok bool) {
	trimmed := strings.TrimSpace(body)
	if len(body) > prettyBytesMax || trimmed == "" || !strings.ContainsAny(trimmed[:1], "{[") {
		return "", false
	}
	var out bytes.Buffer
	if json.Indent(&out, []byte(trimmed), "", "  ") != nil || out.Len() > 2*prettyBytesMax {
		return "", false
	}
	return harmless(out.String()), true
}

// hexBytesMax bounds the bytes that are shown as hexadecimal digits.
const hexBytesMax = 64 << 10

// dump returns a body as offsets, hexadecimal digits and characters.
func dump(body string) string {
	cut := len(body) > hexBytesMax
	text := hex.Dump([]byte(body[:min(len(body), hexBytesMax)]))
	if cut {
		text += fmt.Sprintf("... and %d more bytes\n", len(body)-hexBytesMax)
	}
	return text
}

// shell quotes a word for a shell.
func shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@+%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.IndexFunc(word, unicode.IsControl) < 0 && utf8.ValidString(word) && harmless(word) == word {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var out strings.Builder
	out.WriteString("$'")
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, `\x%02x`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteString("'")
	return out.String()
}

// command returns a command line of the tool.
func command(words ...string) string {
	line := make([]string, 0, len(words)+1)
	line = append(line, "seriatim")
	for _, word := range words {
		line = append(line, shell(word))
	}
	return strings.Join(line, " ")
}

// grouped writes a number with commas.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// duration writes a duration with its two largest units.
func duration(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// clock writes a time in milliseconds.
func clock(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000Z")
}

// size writes a number of bytes.
func size(n int64) string {
	const step = 1024
	value, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for ; value >= step && len(units) > 1; units = units[1:] {
		value /= step
	}
	return strconv.FormatFloat(value, 'f', -1, 64)[:min(len(strconv.FormatFloat(value, 'f', -1, 64)), 5)] + " " + units[0]
}

// fields makes a map for a template.
func fields(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("fields needs pairs")
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, errors.New("the name of a field must be a text")
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

var functions = template.FuncMap{
	"safe": harmless, "line": line, "cli": command, "grouped": grouped, "clock": clock, "size": size, "fields": fields,
	"lower": strings.ToLower,
	"seg":   url.PathEscape, "query": url.QueryEscape, "sub": func(a, b int64) int64 { return a - b },
	"rate": rate, "duration": duration, "seconds": func(s int64) string { return duration(time.Duration(s) * time.Second) },
	"len64": func(n int) int64 { return int64(n) },
	"plural": func(n int64, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return grouped(n) + " " + many
	},
	"ago": func(now, ms int64) string { return duration(time.Duration(now-ms) * time.Millisecond) },
}

// rate writes a number of events per second.
func rate(perSecond float64) string {
	const small = 10
	switch {
	case perSecond == 0:
		return "–"
	case perSecond < small:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return grouped(int64(perSecond))
}
