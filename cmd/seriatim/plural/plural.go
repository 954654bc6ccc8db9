// Package plural writes counts with the singular or plural of a noun.
package plural

import "fmt"

// Number is any type of a count.
type Number interface {
	~int | ~int64 | ~uint64 | ~float64
}

// Form returns the singular or plural of a word for the number n.
func Form[N Number](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Count returns n with the matching form: "1 message was" or "2 messages were".
func Count[N Number](n N, one, many string) string { return fmt.Sprint(n) + " " + Form(n, one, many) }
