package entity

import "strings"

const (
	suffix = ".fifo"
	// These end the names of built-in dead-letter queues before the suffix.
	deadLetter         = "-dlq"
	transferDeadLetter = "-transferdlq"
)

// PathLengthMax bounds the paths of queues and topics, and SubscriptionLengthMax the names of
// subscriptions, as Service Bus does.
const (
	PathLengthMax         = 260
	SubscriptionLengthMax = 50
)

const subscriptions = "/Subscriptions/"

// Subscription returns the path of a subscription of a topic.
func Subscription(topic, name string) string { return topic + subscriptions + name }

// SplitSubscription is the inverse of Subscription, in any letter case. It reports false if the path is
// not that of a subscription.
func SplitSubscription(path string) (topic, name string, ok bool) {
	end := strings.LastIndexByte(path, '/')
	if at := end + 1 - len(subscriptions); at > 0 && strings.EqualFold(path[at:end+1], subscriptions) {
		return path[:at], path[end+1:], true
	}
	return "", "", false
}

// Valid reports whether a text can be the path of an entity.
func Valid(path string) bool {
	if topic, name, ok := SplitSubscription(path); ok {
		_, _, nested := SplitSubscription(topic)
		return !nested && valid(topic) && valid(name) && len(name) <= SubscriptionLengthMax
	}
	return valid(path)
}

func valid(path string) bool {
	if path == "" || len(path) > PathLengthMax {
		return false
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" {
			return false
		}
	}
	for i := range len(path) {
		if !plain(path[i]) && path[i] != '.' && path[i] != '/' {
			return false
		}
	}
	return true
}

// plain reports whether names of queues may have a character.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// QueueName returns the name of the queue of a valid path.
func QueueName(path string) string {
	var name strings.Builder
	last := len(path) - builtIn(path)
	for i := range len(path) {
		switch c := path[i]; {
		case c == '.':
			name.WriteString("_2E")
		case c == '/':
			name.WriteString("_2F")
		case c == '_' && escaped(path[i:]) != 0:
			name.WriteString("_5F")
		case i == last:
			name.WriteString("_2D")
		default:
			name.WriteByte(c)
		}
	}
	return name.String() + suffix
}

// DeadLetterName returns the name of the dead-letter queue of a valid path.
func DeadLetterName(path string) string {
	return strings.TrimSuffix(QueueName(path), suffix) + deadLetter + suffix
}

// TransferDeadLetterName is DeadLetterName for messages that could not be forwarded.
func TransferDeadLetterName(path string) string {
	return strings.TrimSuffix(QueueName(path), suffix) + transferDeadLetter + suffix
}

// builtIn returns the length of the end of a path that looks like that of a built-in dead-letter queue,
// in any letter case, or 0.
func builtIn(path string) int {
	for _, end := range [2]string{deadLetter, transferDeadLetter} {
		if len(path) >= len(end) && strings.EqualFold(path[len(path)-len(end):], end) {
			return len(end)
		}
	}
	return 0
}

// escaped returns the character whose escape a text begins with, 0 if there is none.
func escaped(text string) byte {
	if len(text) < 3 || text[0] != '_' {
		return 0
	}
	switch text[1:3] {
	case "2D":
		return '-'
	case "2E":
		return '.'
	case "2F":
		return '/'
	case "5F":
		return '_'
	}
	return 0
}

// OfQueue returns the path of the entity whose queue has a name. It reports false if no entity has the
// queue.
func OfQueue(name string) (path string, ok bool) {
	rest, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return "", false
	}
	var text strings.Builder
	for rest != "" {
		if c := escaped(rest); c != 0 {
			text.WriteByte(c)
			rest = rest[3:]
			continue
		}
		text.WriteByte(rest[0])
		rest = rest[1:]
	}
	path = text.String()
	return path, Valid(path) && QueueName(path) == name
}

// Find returns the queue of an entity. exists reports whether a queue exists. list returns the names of
// existing queues behind a name, sorted, none at the end; Find calls it only if the exact name does
// not exist.
func Find(path string, exists func(name string) bool, list func(after string) []string) (name string, ok bool) {
	if !Valid(path) {
		return "", false
	}
	if name = QueueName(path); exists(name) {
		return name, true
	}
	for after := ""; ; {
		names := list(after)
		if len(names) == 0 {
			return "", false
		}
		for _, name := range names {
			if other, ok := OfQueue(name); ok && strings.EqualFold(other, path) {
				return name, true
			}
		}
		after = names[len(names)-1]
	}
}
