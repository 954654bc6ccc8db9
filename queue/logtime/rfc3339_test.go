package logtime

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestParseRFC3339(t *testing.T) {
	good := map[string]string{
		"epoch":                  "1970-01-01T00:00:00Z",
		"before the epoch":       "1969-12-31T23:59:59.999Z",
		"leap day":               "2024-02-29T12:34:56Z",
		"leap day of a 400th":    "2000-02-29T00:00:00Z",
		"fraction":               "2026-11-21T07:25:00.1Z",
		"fraction cut off":       "2026-11-21T07:25:00.123999999Z",
		"offset":                 "2026-11-21T07:25:00+05:30",
		"negative offset":        "2026-11-21T07:25:00.25-11:59",
		"first year":             "0000-01-01T00:00:00Z",
		"end of February, year0": "0000-02-29T00:00:00Z",
		"last year":              "9999-12-31T23:59:59.999Z",
	}
	for name, text := range good {
		t.Run(name, func(t *testing.T) {
			want, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			if got, ok := ParseRFC3339(text); !ok || got != Timestamp(want.UnixMilli()) {
				t.Errorf("%d, %t, want %d", got, ok, want.UnixMilli())
			}
		})
	}
	if lower, ok := ParseRFC3339("2026-11-21t07:25:00z"); !ok ||
		lower != Timestamp(time.Date(2026, 11, 21, 7, 25, 0, 0, time.UTC).UnixMilli()) {
		t.Errorf("lower-case letters: %d, %t", lower, ok)
	}
	bad := []string{
		"", "2026-11-21", "2026-11-21T07:25:00", "2026-11-21 07:25:00Z", "2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-04-31T00:00:00Z",
		"2026-11-00T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T07:60:00Z", "2026-11-21T23:59:60Z",
		"2026-11-21T07:25:00.Z", "2026-11-21T07:25:00,5Z", "2026-11-21T07:25:00.5", "2026-11-21T07:25:00+0530",
		"2026-11-21T07:25:00+24:00", "2026-11-21T07:25:00+05:60", "2026-11-21T07:25:00ZZ", "12026-11-21T07:25:00Z",
		"2026-11-21T7:25:00Z", " 2026-11-21T07:25:00Z", "2026-11-21T07:25:00Z ",
	}
	for _, text := range bad {
		if at, ok := ParseRFC3339(text); ok {
			t.Errorf("%q is read as %d", text, at)
		}
	}
}

func TestDaysFromCivilOverAllDays(t *testing.T) {
	day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	want := day.Unix() / 86_400
	for day.Year() < 10_000 {
		y, m, d := day.Date()
		if got := daysFromCivil(int64(y), int64(m), int64(d)); got != want {
			t.Fatalf("%s is day %d, want %d", day.Format(time.DateOnly), got, want)
		}
		day, want = day.AddDate(0, 0, 1), want+1
	}
}

func FuzzParseRFC3339(f *testing.F) {
	f.Add("2026-11-21T07:25:00.125+01:00")
	f.Add("0000-01-01t00:00:00z")
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ParseRFC3339(text)
		want, err := time.Parse(time.RFC3339, strings.ToUpper(text))
		if ok && (err != nil || got != Timestamp(want.UnixMilli())) {
			t.Errorf("%q: %d, want %d, %v", text, got, want.UnixMilli(), err)
		}
		// The output of package time must parse.
		if err == nil && want.Year() >= 0 && want.Year() < 10_000 {
			text := want.UTC().Format(time.RFC3339Nano)
			if year := want.UTC().Year(); year < 0 || year > 9999 {
				return
			}
			if got, ok := ParseRFC3339(text); !ok || got != Timestamp(want.UnixMilli()) {
				t.Errorf("%q: %d, %t, want %d", text, got, ok, want.UnixMilli())
			}
		}
	})
}

// The output equals that of package time and parses again.
func TestAppendRFC3339(t *testing.T) {
	t.Parallel()
	check := func(ms int64) {
		t.Helper()
		got := string(Timestamp(ms).AppendRFC3339(nil))
		if want := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("%d is written %q, want %q", ms, got, want)
		}
		const yearZero, year10000 = -62_167_219_200_000, 253_402_300_800_000
		if ms < yearZero || ms >= year10000 {
			return
		}
		if back, ok := ParseRFC3339(got); !ok || int64(back) != ms {
			t.Errorf("%q is read as %d (%v), want %d", got, back, ok, ms)
		}
	}
	for _, ms := range []int64{
		0, 1, 999, -1, -86_400_000, -86_400_001, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 1_582_934_400_000,
		-62_167_219_200_000, -62_167_219_200_001, 253_402_300_799_999, 253_402_300_800_000, math.MaxInt64, math.MinInt64,
	} {
		check(ms)
	}
	for day := int64(-800_000); day < 800_000; day += 97 {
		check(day*86_400_000 + day%86_400_000)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		check(random.Int64N(400_000_000_000_000) - 100_000_000_000_000)
	}
}
