package network

import (
	"fmt"
	"slices"
	"time"
)

// Client is the host name of the test process.
const Client = "client"

// Class is a kind of traffic.
type Class uint8

// The classes. Nodes use one port for several purposes. The handshake of a connection distinguishes
// Raft and Forward; the rest is Peer.
const (
	Other   Class = iota // no known port
	API                  // the queue API
	Admin                // health, status, metrics, administration
	Peer                 // all other traffic between nodes, such as joining
	Raft                 // the consensus
	Forward              // requests passed on to the leader
	Gossip               // membership, TCP and UDP
	classes
)

func (c Class) String() string {
	return [classes]string{"other", "api", "admin", "peer", "raft", "forward", "gossip"}[min(c, classes-1)]
}

// Link describes the faults of one direction between two hosts. The zero value has none.
type Link struct {
	Cut       bool          // nothing passes
	HalfOpen  bool          // connections never seem to end: FIN and RST are dropped
	Reset     float64       // part of the TCP segments with content that reset their connection instead
	Loss      float64       // part of the frames that is lost
	Duplicate float64       // part that arrives twice
	Corrupt   float64       // part with a wrong byte, which the receiver's kernel detects
	Garble    float64       // part with a wrong byte and a correct checksum, which only the program can detect
	Delay     time.Duration // of each frame
	Jitter    time.Duration // random additional delay, which changes the order of frames
	Rate      int           // bits per second, 0: no limit
	Flap      time.Duration // cut in every second period of this length
}

// with returns the combination of two faults.
func (l Link) with(o Link) Link {
	either := func(a, b float64) float64 { return 1 - (1-a)*(1-b) }
	l.Cut = l.Cut || o.Cut
	l.HalfOpen = l.HalfOpen || o.HalfOpen
	l.Reset = either(l.Reset, o.Reset)
	l.Loss = either(l.Loss, o.Loss)
	l.Duplicate = either(l.Duplicate, o.Duplicate)
	l.Corrupt = either(l.Corrupt, o.Corrupt)
	l.Garble = either(l.Garble, o.Garble)
	l.Delay += o.Delay
	l.Jitter += o.Jitter
	if l.Rate == 0 || o.Rate != 0 && o.Rate < l.Rate {
		l.Rate = o.Rate
	}
	l.Flap = max(l.Flap, o.Flap)
	return l
}

// Rule applies faults to a part of the traffic.
type Rule struct {
	From    []string // hosts; none: all but Client
	To      []string // hosts; none: all but Client
	Classes []Class  // none: all
	Link    Link
}

func (r Rule) meets(from, to string, class Class) bool {
	among := func(list []string, host string) bool {
		return slices.Contains(list, host) || len(list) == 0 && host != Client
	}
	return from != to && among(r.From, from) && among(r.To, to) && (len(r.Classes) == 0 || slices.Contains(r.Classes, class))
}

// Policy has the rules of a switch. If several rules match, all of them apply. The zero value is a
// sound network.
type Policy struct {
	Name  string
	Rules []Rule
}

// And returns a policy with the faults of both.
func (p Policy) And(o Policy) Policy {
	switch {
	case len(o.Rules) == 0:
		return p
	case len(p.Rules) == 0:
		return o
	}
	return Policy{Name: p.Name + " and " + o.Name, Rules: slices.Concat(p.Rules, o.Rules)}
}

// Only returns the policy restricted to some classes of traffic. Isolate("n1").Only(Gossip) does
// not affect the consensus.
func (p Policy) Only(classes ...Class) Policy {
	out := Policy{Name: fmt.Sprintf("%s, %v only", p.Name, classes)}
	for _, r := range p.Rules {
		r.Classes = classes
		out.Rules = append(out.Rules, r)
	}
	return out
}

// Link returns the faults of one direction.
func (p Policy) Link(from, to string, class Class) Link {
	var l Link
	for _, r := range p.Rules {
		if r.meets(from, to, class) {
			l = l.with(r.Link)
		}
	}
	return l
}

// cut returns a pair of rules that cut both directions between two sets of hosts.
func cut(a, b []string) []Rule {
	return []Rule{{From: a, To: b, Link: Link{Cut: true}}, {From: b, To: a, Link: Link{Cut: true}}}
}

// Heal returns a policy without faults.
func Heal() Policy { return Policy{Name: "heal"} }

// Isolate cuts a node from all other nodes. Clients still reach it, which is worse than if they did
// not, since it may answer.
func Isolate(node string) Policy {
	return Policy{Name: "isolate " + node, Rules: cut([]string{node}, nil)}
}

// Unplug cuts a node from the other nodes and from the clients.
func Unplug(node string) Policy {
	p := Isolate(node)
	return Policy{Name: "unplug " + node, Rules: append(p.Rules, cut([]string{node}, []string{Client})...)}
}

// Unserved cuts a node from the clients only.
func Unserved(node string) Policy {
	return Policy{Name: "no clients at " + node, Rules: cut([]string{node}, []string{Client})}
}

// Halves cuts two sets of nodes from each other.
func Halves(a, b []string) Policy {
	return Policy{Name: fmt.Sprintf("halves %v %v", a, b), Rules: cut(a, b)}
}

// Bridge cuts two sets of nodes from each other, but not from a further node.
func Bridge(node string, a, b []string) Policy {
	return Policy{Name: fmt.Sprintf("bridge %s between %v %v", node, a, b), Rules: cut(a, b)}
}

// Ring lets each node see only its two neighbours, in the given order. With five nodes each sees a
// majority, and no two see the same one. With three nodes it cuts the first from the last, which
// makes a chain.
func Ring(nodes ...string) Policy {
	p := Policy{Name: fmt.Sprintf("ring %v", nodes)}
	for i, a := range nodes {
		for j := i + 2; j < len(nodes); j++ {
			if i == 0 && j == len(nodes)-1 && len(nodes) > 3 {
				continue
			}
			p.Rules = append(p.Rules, cut([]string{a}, []string{nodes[j]})...)
		}
	}
	return p
}

// OneWay cuts one direction between two hosts.
func OneWay(from, to string) Policy {
	return Policy{Name: from + " unheard at " + to, Rules: []Rule{{From: []string{from}, To: []string{to}, Link: Link{Cut: true}}}}
}

// Deaf makes a node receive nothing from the other nodes, which still hear it.
func Deaf(node string) Policy {
	return Policy{Name: node + " deaf", Rules: []Rule{{To: []string{node}, Link: Link{Cut: true}}}}
}

// Mute makes a node send nothing to the other nodes, which it still hears.
func Mute(node string) Policy {
	return Policy{Name: node + " mute", Rules: []Rule{{From: []string{node}, Link: Link{Cut: true}}}}
}

// LeaderToOneFollower cuts a leader from all followers except the first one. The followers see one
// another.
func LeaderToOneFollower(leader string, followers ...string) Policy {
	p := Policy{Name: fmt.Sprintf("%s sees %s only", leader, followers[0])}
	if len(followers) > 1 {
		p.Rules = cut([]string{leader}, followers[1:])
	}
	return p
}

// all returns a policy for the traffic between one node and the others, or between all nodes if
// node is empty.
func all(name, node string, l Link) Policy {
	if node == "" {
		return Policy{Name: name, Rules: []Rule{{Link: l}}}
	}
	one := []string{node}
	return Policy{Name: name + " at " + node, Rules: []Rule{{From: one, Link: l}, {To: one, Link: l}}}
}

// Flapping cuts the lines of a node, or of all nodes if none is named, during every second period.
func Flapping(node string, period time.Duration) Policy {
	return all(fmt.Sprintf("flapping every %v", period), node, Link{Flap: period})
}

// Slow limits each line of a node, or of all nodes, to this many bits per second.
func Slow(node string, rate int) Policy {
	return all(fmt.Sprintf("%d bit/s", rate), node, Link{Rate: rate})
}

// Lossy drops a part of the frames to and from a node, or of all nodes.
func Lossy(node string, part float64) Policy {
	return all(fmt.Sprintf("loss %g", part), node, Link{Loss: part})
}

// Delayed delays the frames to and from a node, or of all nodes. Jitter changes their order.
func Delayed(node string, delay, jitter time.Duration) Policy {
	return all(fmt.Sprintf("delay %v jitter %v", delay, jitter), node, Link{Delay: delay, Jitter: jitter})
}

// Duplicating sends a part of the frames to and from a node, or of all nodes, twice.
func Duplicating(node string, part float64) Policy {
	return all(fmt.Sprintf("duplicates %g", part), node, Link{Duplicate: part})
}

// Corrupting alters a part of the frames to and from a node, or of all nodes, so that the kernel
// drops them.
func Corrupting(node string, part float64) Policy {
	return all(fmt.Sprintf("corrupt %g", part), node, Link{Corrupt: part})
}

// Garbling alters a part of the frames to and from a node, or of all nodes, so that only the
// programs can detect it.
func Garbling(node string, part float64) Policy {
	return all(fmt.Sprintf("garbled %g", part), node, Link{Garble: part})
}

// HalfOpen hides the ends of connections to and from a node, or of all nodes.
func HalfOpen(node string) Policy { return all("half-open", node, Link{HalfOpen: true}) }

// Resetting resets a part of the connections between a node, or all nodes, and the clients in the
// middle of a request or an answer.
func Resetting(node string, part float64) Policy {
	var nodes []string
	name := fmt.Sprintf("resets %g", part)
	if node != "" {
		nodes = []string{node}
		name += " at " + node
	}
	l := Link{Reset: part}
	return Policy{Name: name, Rules: []Rule{{From: nodes, To: []string{Client}, Link: l}, {From: []string{Client}, To: nodes, Link: l}}}
}
