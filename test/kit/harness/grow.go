package harness

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/cluster/clustertest/freeport"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
)

// addressFlags are the flags that name a port of the node, in the order in which ports are
// assigned.
var addressFlags = []string{"--client-addr", "--admin-addr", "--peer-addr", "--gossip-addr"}

// flag returns the value of a flag of the node, empty if it has none.
func (n *Node) flag(name string) string {
	if i := slices.Index(n.args, name); i >= 0 && i+1 < len(n.args) {
		return n.args[i+1]
	}
	return ""
}

func (n *Node) setFlag(name, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	args := slices.Clone(n.args)
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		args[i+1] = value
	} else {
		args = append(args, name, value)
	}
	n.args = args
}

// Spare returns a further node that is not started yet: it does not begin a cluster, and knows the
// gossip addresses of the cluster's nodes. It is not in Nodes, and the caller ends it.
func (c *Cluster) Spare(name string) (*Node, error) {
	first := c.Nodes[0]
	data := filepath.Join(filepath.Dir(first.DataDir), name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	n := &Node{
		Name: name, DataDir: data, binary: first.binary, args: slices.Clone(first.args),
		logPath: filepath.Join(filepath.Dir(first.DataDir), name+".log"), spawner: c.spawner, env: first.env,
		network: first.network, named: first.named,
	}
	n.setFlag("--node-name", name)
	n.setFlag("--data-dir", data)
	n.setFlag("--bootstrap-expect", "0")
	n.setFlag("--join", c.gossip())
	return n, n.readdress()
}

func (c *Cluster) gossip() string {
	var addresses []string
	for _, n := range c.Nodes {
		address := n.flag("--gossip-addr")
		if _, port, err := net.SplitHostPort(address); err == nil && n.named {
			address = net.JoinHostPort(n.Name, port)
		}
		addresses = append(addresses, address)
	}
	return strings.Join(addresses, ",")
}

// place assigns addresses to nodes that never ran.
func (c *Cluster) place() error {
	for _, n := range c.Nodes {
		if err := n.readdress(); err != nil {
			return err
		}
	}
	return nil
}

// readdress assigns addresses to the node that it never had.
func (n *Node) readdress() error {
	if n.network == nil {
		return n.bindLoopback()
	}
	if n.host != nil {
		address, err := n.host.Move()
		if err == nil {
			n.bind(address.String(), labPorts())
		}
		return err
	}
	// The lab may have been created with this host.
	host := n.network.Host(n.Name)
	if host == nil {
		var err error
		if host, err = n.network.Add(n.Name); err != nil {
			return err
		}
	}
	n.host = host
	n.bind(host.Address().String(), labPorts())
	return nil
}

// labPorts are the same on every host of a lab, in the order of addressFlags.
func labPorts() []int {
	p := network.NodePorts()
	return []int{int(p.API), int(p.Admin), int(p.Peer), int(p.Gossip)}
}

// bindLoopback assigns free ports of this machine to the node.
func (n *Node) bindLoopback() error {
	first, err := freeport.Take(len(addressFlags))
	if err == nil {
		n.bind("127.0.0.1", []int{first, first + 1, first + 2, first + 3})
	}
	return err
}

func (n *Node) bind(ip string, ports []int) {
	for i, flag := range addressFlags {
		n.setFlag(flag, fmt.Sprintf("%s:%d", ip, ports[i]))
	}
	n.Client, n.Admin = n.flag("--client-addr"), n.flag("--admin-addr")
}

// Readdress assigns other addresses to all nodes, which must be stopped, as happens when pods
// restart.
func (c *Cluster) Readdress() error {
	for _, n := range c.Nodes {
		if err := n.readdress(); err != nil {
			return err
		}
	}
	gossip := c.gossip()
	for _, n := range c.Nodes {
		n.setFlag("--join", gossip)
	}
	return nil
}

// Gossip returns the value of --join for a node that knows these nodes.
func (c *Cluster) Gossip() string { return c.gossip() }

// Use sets the binary for the next starts of the node.
func (n *Node) Use(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binary = binary
}

// Wipe empties the data directory of a stopped node.
func (n *Node) Wipe() error {
	if n.Running() {
		return fmt.Errorf("wipe %s: it runs", n.Name)
	}
	if err := os.RemoveAll(n.DataDir); err != nil {
		return fmt.Errorf("wipe %s: %w", n.Name, err)
	}
	return nil
}

// Prepare returns a cluster whose nodes are not started.
func Prepare(o Options) (*Cluster, error) { return prepare(o) }
