package network

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lineName is the end of a host's line that the host sees.
const lineName = "eth0"

// Lab is a set of hosts on one switch. The test process is another host on it, Client, and its
// connections pass the switch. Safe for concurrent use.
type Lab struct {
	options Options
	fabric  *fabric
	hub     *namespace
	dir     string // of the file with the names, empty if there is none

	mu        sync.Mutex
	line      string // of the test process
	policy    Policy
	ports     []*port
	hosts     map[string]*Host
	addresses map[netip.Addr]*port
	next      netip.Addr
	closed    bool
}

// Host is a host of a lab.
type Host struct {
	Name string

	lab       *Lab
	namespace *namespace
	mu        sync.Mutex
	address   netip.Addr
}

// New creates a lab with these hosts and a network without faults. It fails if the kernel permits
// no network namespaces or packet sockets.
func New(o Options, hosts ...string) (*Lab, error) {
	l := &Lab{
		options: o, fabric: &fabric{classifier: newClassifier(o.Ports), seed: o.Seed, begin: time.Now()},
		hosts: map[string]*Host{}, addresses: map[netip.Addr]*port{},
	}
	err := l.wire()
	for _, host := range hosts {
		if err == nil {
			_, err = l.Add(host)
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// wire creates the switch and connects the test process.
func (l *Lab) wire() error {
	l.fabric.table.Store(newTable(Policy{}, nil, nil))
	hub, err := newNamespace("")
	if err != nil {
		return err
	}
	l.hub = hub
	if l.options.Names {
		if l.dir, err = os.MkdirTemp("", "seriatim-hosts-"); err != nil {
			return fmt.Errorf("make a file for names: %w", err)
		}
		if err := os.WriteFile(l.hostsFile(), nil, 0o644); err != nil {
			return fmt.Errorf("make a file for names: %w", err)
		}
	}
	// Use the first number that no other lab uses.
	for n := range labsMax {
		name := fmt.Sprintf("st%d", n)
		mac := hardwareAddress(hostKind, 0)
		err = makePair(name, mac, "h0", hardwareAddress(switchKind, 0), hub.net.Fd())
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return err
		}
		l.line = name
		client, first := subnet(n)
		l.next = first
		if err := errors.Join(plainFrames(name), setUp(name), addAddress(name, client)); err != nil {
			return err
		}
		return l.attach(Client, client.Addr())
	}
	return err
}

// Add adds a host.
func (l *Lab) Add(name string) (*Host, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hosts[name] != nil || name == Client {
		return nil, fmt.Errorf("there is a host %s already", name)
	}
	namespace, err := newNamespace(l.hostsFile())
	if err != nil {
		return nil, err
	}
	h := &Host{Name: name, lab: l, namespace: namespace}
	l.hosts[name] = h
	number := len(l.ports)
	err = l.hub.do(func() error {
		return makePair(fmt.Sprintf("h%d", number), hardwareAddress(switchKind, number), lineName, hardwareAddress(hostKind, number),
			namespace.net.Fd())
	})
	if err != nil {
		return nil, err
	}
	if err := namespace.do(func() error { return errors.Join(plainFrames(lineName), setUp(lineName)) }); err != nil {
		return nil, err
	}
	address, err := h.take()
	if err != nil {
		return nil, err
	}
	return h, l.attach(name, address)
}

// attach connects the line of a host to the switch.
func (l *Lab) attach(host string, address netip.Addr) error {
	var p *port
	link := fmt.Sprintf("h%d", len(l.ports))
	err := l.hub.do(func() (err error) {
		if err = setUp(link); err == nil {
			p, err = openPort(l.fabric, host, len(l.ports), link)
		}
		return err
	})
	if err != nil {
		return err
	}
	l.ports = append(l.ports, p)
	l.addresses[address] = p
	l.publish()
	go p.read()
	return nil
}

// publish gives the switch a new table with the present state of the lab.
func (l *Lab) publish() {
	addresses := make(map[netip.Addr]*port, len(l.addresses))
	maps.Copy(addresses, l.addresses)
	l.fabric.table.Store(newTable(l.policy, slices.Clone(l.ports), addresses))
}

// take assigns the next address to the host.
func (h *Host) take() (netip.Addr, error) {
	l := h.lab
	if l.next.As4()[3] == 255 {
		return netip.Addr{}, errors.New("no address is left in the lab")
	}
	address := l.next
	l.next = address.Next()
	err := h.namespace.do(func() error { return addAddress(lineName, netip.PrefixFrom(address, subnetBits)) })
	if err != nil {
		return netip.Addr{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.address = address
	return address, nil
}

// Host returns the host with that name, or nil.
func (l *Lab) Host(name string) *Host {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts[name]
}

// Move gives a host a new address that no host had before. The old one then belongs to no host.
func (h *Host) Move() (netip.Addr, error) {
	l := h.lab
	l.mu.Lock()
	defer l.mu.Unlock()
	old := h.Address()
	if err := h.namespace.do(func() error { return removeAddress(lineName, netip.PrefixFrom(old, subnetBits)) }); err != nil {
		return netip.Addr{}, err
	}
	address, err := h.take()
	if err != nil {
		return netip.Addr{}, err
	}
	l.addresses[address] = l.addresses[old]
	delete(l.addresses, old)
	l.publish()
	return address, nil
}

// Address is that of the host.
func (h *Host) Address() netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.address
}

// Start starts a program on the host. It is killed when the lab is closed or this process ends.
func (h *Host) Start(cmd *exec.Cmd) error { return h.namespace.start(cmd) }

// Do calls f in the network of the host. Sockets that f opens belong to this network, if f opens
// them in the same goroutine.
func (h *Host) Do(f func() error) error { return h.namespace.do(f) }

// Resolve makes the names of these hosts, and no others, known to all hosts. The lab must have been
// created with Names.
func (l *Lab) Resolve(names ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" {
		return errors.New("the lab was made without names")
	}
	var text strings.Builder
	text.WriteString("127.0.0.1 localhost\n")
	for _, name := range names {
		h := l.hosts[name]
		if h == nil {
			return fmt.Errorf("there is no host %s", name)
		}
		fmt.Fprintf(&text, "%s %s\n", h.Address(), name)
	}
	// Write the file in place, because the hosts have it mounted.
	if err := os.WriteFile(l.hostsFile(), []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("make names known: %w", err)
	}
	return nil
}

func (l *Lab) hostsFile() string {
	if l.dir == "" {
		return ""
	}
	return filepath.Join(l.dir, "hosts")
}

// SetPolicy changes the policy of the switch for all following frames. Frames that are delayed
// already are still delivered.
func (l *Lab) SetPolicy(p Policy) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name := range l.hosts {
		names = append(names, name)
	}
	if err := checkNames(p, names); err != nil {
		return err
	}
	l.policy = p
	l.publish()
	return nil
}

// Policy returns the policy of the switch.
func (l *Lab) Policy() Policy { return l.fabric.table.Load().policy }

// Traffic returns the counts of the switch so far.
func (l *Lab) Traffic() Traffic {
	t := Traffic{}
	ports := l.fabric.table.Load().ports
	for _, from := range ports {
		from.mu.Lock()
		for to, line := range from.lines {
			var counts [classes]Counts
			for class := range line.counts {
				counts[class] = line.counts[class].counts()
			}
			t[Direction{from.host, ports[to].host}] = counts
		}
		from.mu.Unlock()
	}
	return t
}

// Close ends the programs on the hosts and removes the network.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var failed []error
	for _, h := range l.hosts {
		h.namespace.close()
	}
	for _, p := range l.ports {
		failed = append(failed, p.close())
	}
	if l.line != "" {
		failed = append(failed, removeLink(l.line))
	}
	if l.hub != nil {
		l.hub.close()
	}
	if l.dir != "" {
		failed = append(failed, os.RemoveAll(l.dir))
	}
	return errors.Join(failed...)
}
