package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// headerList holds the headers that a signature covers.
type headerList struct {
	text      string   // the value of SignedHeaders
	names     []string // in lower case and in order
	canonical []string // the same names as the keys of an http.Header
}

func newHeaderList(names []string) *headerList {
	l := &headerList{text: strings.Join(names, ";"), names: names}
	for _, name := range names {
		l.canonical = append(l.canonical, http.CanonicalHeaderKey(name))
	}
	return l
}

// covers reports whether the list has a header, by its name in lower case.
func (l *headerList) covers(name string) bool {
	_, found := slices.BinarySearch(l.names, name)
	return found
}

// headerListsMax bounds the cached lists. A client has one for each protocol and kind of request.
const headerListsMax = 256

// headerLists caches the lists of accepted requests, because clients repeat them. Safe for concurrent use.
type headerLists struct {
	mu   sync.RWMutex
	kept map[string]*headerList
}

// read parses the value of SignedHeaders.
func (l *headerLists) read(text string) (*headerList, error) {
	l.mu.RLock()
	found := l.kept[text]
	l.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	names := strings.Split(text, ";")
	if len(names) > signedHeadersMax {
		return nil, incomplete("SignedHeaders names too many headers.")
	}
	for i, name := range names {
		if name == "" || name != strings.ToLower(name) || i > 0 && name <= names[i-1] {
			return nil, incomplete("SignedHeaders must name headers in lower case, each once, in order.")
		}
	}
	return newHeaderList(names), nil
}

// keep caches a list. Call it for accepted requests only, as for signing keys.
func (l *headerLists) keep(list *headerList) {
	l.mu.RLock()
	kept := l.kept[list.text] != nil
	l.mu.RUnlock()
	if kept {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil || len(l.kept) >= headerListsMax {
		l.kept = make(map[string]*headerList)
	}
	own := strings.Clone(list.text) // drops the text of the request
	l.kept[own] = newHeaderList(strings.Split(own, ";"))
}
