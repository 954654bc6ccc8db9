// Package plural writes counts with the singular or plural of a noun.
package plural

import "fmt"

// Number is what things are counted in.
type Number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// Form is the form of a word that goes with n things.
func Form[N Number](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count is n with the form that goes with it, as "1 message was" or "2 messages were".
func Count[N Number](n N, one, many string) string { return fmt.Sprint(n) + " " + Form(n, one, many) }
