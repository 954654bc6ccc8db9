package awswire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// parametersMax bounds the parameters of one request. The largest batch, ten entries with ten
	// attributes each, needs about 450.
	parametersMax = 4096
	// segmentsMax bounds the dots of a parameter name: those of the deepest name, the type of an
	// attribute of a batch entry of SNS.
	segmentsMax = 8
	// nodesMax bounds the tree of the parameters, and so the elements of all lists. The three
	// parameters of an attribute make five nodes.
	nodesMax = 2 * parametersMax
)

// Form is the tree of the parameters of a Query request: A.1.B=x is node A with child 1, which has child
// B.
type Form struct {
	root  formNode
	nodes int // without the root
}

type formNode struct {
	value    string
	given    bool
	children map[string]*formNode
}

// ParseForm parses application/x-www-form-urlencoded texts: the query string and the body of a request. A
// later value replaces an earlier one.
func ParseForm(texts ...string) (*Form, error) {
	f := &Form{}
	count := 0
	for _, text := range texts {
		for text != "" {
			var pair string
			pair, text, _ = strings.Cut(text, "&")
			if pair == "" {
				continue
			}
			if count++; count > parametersMax {
				return nil, malformedForm("more than " + strconv.Itoa(parametersMax) + " parameters")
			}
			if err := f.add(pair); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

func (f *Form) add(pair string) error {
	name, value, _ := strings.Cut(pair, "=")
	name, err := unescape(name)
	if err != nil {
		return err
	}
	if value, err = unescape(value); err != nil {
		return err
	}
	node := &f.root
	for n := 0; ; n++ {
		if n == segmentsMax {
			return malformedForm("a parameter name with more than " + strconv.Itoa(segmentsMax) + " parts")
		}
		segment, rest, more := strings.Cut(name, ".")
		if node = f.grow(node, segment); f.nodes > nodesMax {
			return malformedForm("parameter names with more than " + strconv.Itoa(nodesMax) + " parts")
		}
		if !more {
			break
		}
		name = rest
	}
	node.value, node.given = value, true
	return nil
}

func unescape(text string) (string, error) {
	if strings.ContainsAny(text, "%+") {
		var err error
		if text, err = url.QueryUnescape(text); err != nil {
			return "", malformedForm("a malformed percent escape")
		}
	}
	if !utf8.ValidString(text) {
		return "", malformedForm("malformed UTF-8")
	}
	return text, nil
}

func (f *Form) grow(n *formNode, name string) *formNode {
	child := n.children[name]
	if child == nil {
		child = &formNode{}
		f.nodes++
		if n.children == nil {
			n.children = make(map[string]*formNode)
		}
		n.children[name] = child
	}
	return child
}

// Value returns a top-level parameter, such as Action or Version.
func (f *Form) Value(name string) (string, bool) { return f.root.text(name) }

func (n *formNode) text(name string) (string, bool) {
	child := n.children[name]
	if child == nil || !child.given {
		return "", false
	}
	return child.value, true
}

// items returns the elements of a list in the order of their indexes, which may have gaps. Old clients
// send a list of one without an index: such an element comes first.
func (n *formNode) items(name string) []*formNode {
	list := n.children[name]
	if list == nil {
		return nil
	}
	type item struct {
		index uint64
		node  *formNode
	}
	items := make([]item, 0, len(list.children)+1)
	unindexed := list.given
	// In any order: items are sorted below.
	for segment, child := range list.children {
		index, err := strconv.ParseUint(segment, 10, 32)
		if err != nil || segment[0] == '+' || (segment[0] == '0' && segment != "0") {
			unindexed = true
			continue
		}
		items = append(items, item{index + 1, child})
	}
	if unindexed {
		items = append(items, item{0, list})
	}
	slices.SortFunc(items, func(a, b item) int {
		if a.index < b.index {
			return -1
		}
		return 1
	})
	out := make([]*formNode, len(items))
	for i, it := range items {
		out[i] = it.node
	}
	return out
}
