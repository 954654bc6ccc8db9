package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
)

// Explanation says why something is as it is. It names queues and topics with their account, unless
// that is the account of the cluster, so that its commands mean the same for every caller.
type Explanation struct {
	State    string // a token
	Summary  string // one sentence
	Details  []string
	Until    queue.Timestamp // end of the state, unless a command ends it earlier; zero: none
	Then     Then            // the kind of what Next says
	Next     string          // one sentence
	Commands []Command
	Timeline []Event // of a message, oldest first
	// Group is set if a receiver holds the group, whose client a node may remember.
	Group *queue.GroupInfo
}

// Command is a command line of the tool that changes the state.
type Command struct{ Line, Effect string }

// Event is a moment in the life of a message.
type Event struct {
	At    queue.Timestamp
	Event string
}

// Then is the kind of what happens next. At the time Until, if it is set, else with the next receive.
type Then uint8

// What happens next.
const (
	Nothing    Then = iota // what other messages or commands decide
	Deliver                // a receive returns a message
	DeadLetter             // the message moves to the dead-letter queue
	Enqueue                // a scheduled message is enqueued
	Forget                 // an id is forgotten
	Expire                 // the retention of a message ends
)

// Text joins the sentences of an explanation.
func (e *Explanation) Text() string {
	sentences := append([]string{e.Summary}, e.Details...)
	if e.Next != "" {
		sentences = append(sentences, e.Next)
	}
	return strings.Join(sentences, " ")
}

func (e *Explanation) detail(format string, values ...any) {
	e.Details = append(e.Details, fmt.Sprintf(format, values...))
}

func (e *Explanation) command(effect string, words ...string) {
	for i := range words {
		words[i] = Quoted(words[i])
	}
	e.Commands = append(e.Commands, Command{Line: "seriatim " + strings.Join(words, " "), Effect: effect})
}

// Quoted returns a word for a shell. The id of the empty group is an empty word.
func Quoted(word string) string {
	word = strings.ReplaceAll(word, "\x00", "")
	plain := word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/=@%+,") == ""
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// clock formats a log time without its milliseconds.
func clock(at queue.Timestamp) string {
	text := string(at.AppendRFC3339(nil))
	return text[:len(text)-len(".000Z")] + "Z"
}

// count formats a number with the right form of a noun, whose plural ends in s.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// period formats a number of seconds.
func period(seconds int64) string {
	switch {
	case seconds%86_400 == 0 && seconds > 0:
		return count(seconds/86_400, "day")
	case seconds%3600 == 0 && seconds > 0:
		return count(seconds/3600, "hour")
	case seconds%60 == 0 && seconds > 0:
		return count(seconds/60, "minute")
	}
	return count(seconds, "second")
}
