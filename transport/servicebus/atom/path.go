package atom

import "strings"

// kind is the kind of resource that a path names.
type kind uint8

const (
	entityKind        kind = iota // a queue or a topic
	namespaceKind                 // /$namespaceinfo
	queuesKind                    // /$Resources/queues
	topicsKind                    // /$Resources/topics
	subscriptionsKind             // a list of subscriptions
	subscriptionKind
	rulesKind // a list of rules
	ruleKind
	unknownKind
)

// parsePath returns the kind of a path, and the path without slashes around it. Letter case does not
// count.
func parsePath(urlPath string) (of kind, path string) {
	path = strings.Trim(urlPath, "/")
	switch strings.ToLower(path) {
	case "$namespaceinfo":
		return namespaceKind, path
	case "$resources/queues":
		return queuesKind, path
	case "$resources/topics":
		return topicsKind, path
	}
	if path == "" || path[0] == '$' {
		return unknownKind, path
	}
	segments := strings.Split(path, "/")
	under := func(i int, name string) bool { return i > 0 && strings.EqualFold(segments[i], name) }
	switch last := len(segments) - 1; {
	case under(last, "subscriptions"):
		return subscriptionsKind, path
	case under(last, "rules") && under(last-2, "subscriptions"):
		return rulesKind, path
	case under(last-1, "subscriptions"):
		return subscriptionKind, path
	case under(last-1, "rules") && under(last-3, "subscriptions"):
		return ruleKind, path
	}
	return entityKind, path
}
