package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/hostlimit"
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Member describes a node to the others. As gossip metadata, it must stay below 512 bytes.
type Member struct {
	NodeID    string `json:"i"`
	Name      string `json:"n"`
	ClusterID string `json:"c,omitempty"` // joined or pledged
	Peer      string `json:"p"`           // host:port of the peer listener; an empty host means the gossip host
	Boot      uint64 `json:"b"`
	Expect    int    `json:"e,omitempty"`
	HasState  bool   `json:"s,omitempty"` // has a log, a snapshot or a term
	Version   string `json:"v,omitempty"`
	Format    uint32 `json:"f,omitempty"` // highest format version it can read

	Disk    uint8 `json:"d,omitempty"` // use of its disk, as counted by package cluster
	Drained bool  `json:"l,omitempty"`
	Joining bool  `json:"j,omitempty"` // is about to join a cluster and no member yet

	Encrypts bool `json:"k,omitempty"` // encrypts its files

	Alive bool `json:"-"` // according to gossip
}

// Gossip finds the other nodes and their addresses. Its results are hints for dialing and
// bootstrap, never votes. Safe for concurrent use.
type Gossip struct {
	options Options
	logger  *slog.Logger
	list    *memberlist.Memberlist

	announcing wakeup.Signal // makes Run announce this node again
	disk       atomic.Uint32 // use of this node's disk
	drained    atomic.Bool   // this node is drained
	refused    *hostlimit.Refusals
	rate       *packetLimit
	looked     chan struct{} // closed when every address to join answered or failed LookTries times

	mu      sync.Mutex
	members map[string]Member // by node id, without this node
	// clusters are the ids of all clusters seen since the start, even if none of their nodes is
	// alive now.
	clusters []string
	changed  wakeup.Broadcast // of members
}

// Nodes exchange all descriptions at their start, and often again. Single updates spread more
// slowly, because each interval wakes the processor of every idle node.
const (
	gossipInterval      = 500 * time.Millisecond
	gossipPushPull      = 10 * time.Second
	gossipStreamTimeout = 3 * time.Second
	// gossipAnnounce bounds the library's wait for the delivery of an update. It is short so that
	// the next update need not wait.
	gossipAnnounce = time.Millisecond
	gossipLeave    = 300 * time.Millisecond
	joinPauseMin   = 100 * time.Millisecond
	joinPauseMax   = 5 * time.Second
	// LookTries bounds the attempts to reach an address to join, clustersMax the clusters to
	// remember.
	LookTries   = 3
	clustersMax = 8
)

// Options configure Gossip.
type Options struct {
	NodeID    string
	Bind      string   // host:port, TCP and UDP
	Advertise string   // host:port for the others; empty: the bound one
	Join      []string // addresses of other nodes
	Key       []byte   // 16, 24 or 32 bytes; none: clear text

	Self   func() Member // returns the current description of this node
	Wanted func() int    // returns the target number of live nodes
	Heard  func(nodeID, address string, boot uint64)
	Clocks *Clocks // receives the clocks of the others; may be nil

	Network   environment.Network // nil: the machine's
	Monotonic func() time.Duration
	Logger    *slog.Logger
}

// New returns a Gossip for Open to start.
func New(options Options) *Gossip {
	return &Gossip{
		options:    options,
		logger:     options.Logger.With("component", "gossip"),
		announcing: wakeup.NewSignal(),
		looked:     make(chan struct{}),
		refused:    newRefusals(options.Logger, options.Monotonic),
		rate:       newPacketLimit(options.Monotonic),
		members:    map[string]Member{},
	}
}

// Open binds the gossip port.
func (g *Gossip) Open(ctx context.Context) error {
	settings := memberlist.DefaultLANConfig()
	// A name belongs to one start of one node: a node that returns with another address then does
	// not conflict with its old entry.
	me := g.options.Self()
	settings.Name = me.NodeID + "#" + strconv.FormatUint(me.Boot, 10)
	settings.GossipInterval = gossipInterval
	settings.PushPullInterval = gossipPushPull
	settings.TCPTimeout = gossipStreamTimeout
	settings.SecretKey = g.options.Key
	settings.Delegate = (*delegate)(g)
	settings.Events = (*events)(g)
	settings.Alive = (*filter)(g)
	if g.options.Clocks != nil {
		settings.Ping = (*pings)(g.options.Clocks)
	}
	settings.Logger = newLogger(ctx, g.options.Logger, g.options.Monotonic, g.refused)
	settings.LogOutput = nil
	var err error
	if settings.BindAddr, settings.BindPort, err = splitAddress(g.options.Bind); err != nil {
		return err
	}
	settings.AdvertisePort = 0
	if g.options.Advertise != "" {
		if settings.AdvertiseAddr, settings.AdvertisePort, err = splitAddress(g.options.Advertise); err != nil {
			return err
		}
		if settings.AdvertiseAddr, err = resolveIP(ctx, settings.AdvertiseAddr); err != nil {
			return err
		}
	}
	if g.options.Network != nil {
		settings.Transport, err = openTransport(ctx, g.options.Network, g.options.Bind)
	} else {
		settings.Transport, err = g.openMachine(settings)
	}
	if err != nil {
		return err
	}
	if g.list, err = memberlist.Create(settings); err != nil {
		return fmt.Errorf("gossip at %s: %w", g.options.Bind, errors.Join(err, settings.Transport.Shutdown()))
	}
	return nil
}

// portTries bounds the search for a port that is free for both TCP and UDP.
const portTries = 10

// openMachine binds the port on the machine's network.
func (g *Gossip) openMachine(settings *memberlist.Config) (memberlist.Transport, error) {
	var bound *memberlist.NetTransport
	var err error
	for try := range portTries {
		if try > 0 && settings.BindPort != 0 {
			break
		}
		if bound, err = memberlist.NewNetTransport(&memberlist.NetTransportConfig{
			BindAddrs: []string{settings.BindAddr}, BindPort: settings.BindPort, Logger: settings.Logger,
		}); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("gossip at %s: %w", g.options.Bind, err)
	}
	if settings.BindPort == 0 {
		settings.BindPort = bound.GetAutoBindPort()
		settings.AdvertisePort = settings.BindPort
	}
	return newBoundedTransport(bound, g.rate, g.refused), nil
}

// splitAddress splits host:port. An empty host means all addresses.
func splitAddress(address string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	if host == "" {
		host = net.IPv4zero.String()
	}
	port, err = net.LookupPort("tcp", service)
	return host, port, err
}

// resolveIP resolves a host name, because gossip advertises only IP addresses.
func resolveIP(ctx context.Context, host string) (string, error) {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", fmt.Errorf("the advertised gossip address: %w", err)
	}
	return addresses[0].IP.String(), nil
}

// Run looks for the other nodes until ctx ends: at once, and at growing intervals while fewer are
// alive than Options.Wanted.
func (g *Gossip) Run(ctx context.Context) {
	pause := joinPauseMin
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { g.look(ctx) })
	looked := g.looked
	for {
		seen, wait := g.Changes(), pause
		switch {
		case looked != nil: // look contacts the addresses
		case g.alive() < g.options.Wanted() && len(g.options.Join) > 0:
			g.Join(g.options.Join...)
		default:
			pause = joinPauseMin
			wait = joinPauseMax // membership may change without a change in gossip
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-looked:
			looked = nil
		case <-g.announcing:
			_ = g.list.UpdateNode(gossipAnnounce) // an error means that delivery takes longer
		case <-seen:
			// The number of live nodes changed: look at once, and often again.
			pause = joinPauseMin
		case <-timer.C:
			pause = min(2*pause, joinPauseMax)
		}
		timer.Stop()
	}
}

// SetDisk sets the use of this node's disk for the next announcement.
func (g *Gossip) SetDisk(level uint8) { g.disk.Store(uint32(level)) }

// SetDrained sets whether this node is drained, for the next announcement.
func (g *Gossip) SetDrained(drained bool) { g.drained.Store(drained) }

// HasLooked returns a channel that is closed when every address to join was tried.
func (g *Gossip) HasLooked() <-chan struct{} { return g.looked }

// Announce makes Run announce this node again.
func (g *Gossip) Announce() { g.announcing.Notify() }

// View returns the other known nodes, by node id.
func (g *Gossip) View() []Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	view := make([]Member, 0, len(g.members))
	for _, member := range g.members {
		view = append(view, member)
	}
	slices.SortFunc(view, func(a, b Member) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return view
}

// Changes returns a channel that is closed at the next change of View.
func (g *Gossip) Changes() <-chan struct{} { return g.changed.Changed() }

// alive counts the live nodes, including this one.
func (g *Gossip) alive() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 1
	for _, member := range g.members {
		if member.Alive {
			n++
		}
	}
	return n
}

// Close announces that this node leaves, and stops gossip.
func (g *Gossip) Close() error {
	if err := g.list.Leave(gossipLeave); err != nil {
		g.logger.Debug("announcing the departure failed", "error", err)
	}
	return g.list.Shutdown()
}

// update updates the view with a node's description of itself.
func (g *Gossip) update(node *memberlist.Node, alive bool) {
	var member Member
	if err := json.Unmarshal(node.Meta, &member); err != nil || member.NodeID == "" {
		g.logger.Warn("a node of another program sends gossip", "name", node.Name, "address", node.Address())
		return
	}
	if member.NodeID == g.options.NodeID {
		return
	}
	g.rate.knows(node.Addr)
	if host, port, err := net.SplitHostPort(member.Peer); err == nil && host == "" {
		member.Peer = net.JoinHostPort(node.Addr.String(), port)
	}
	member.Alive = alive

	g.mu.Lock()
	known, before := g.members[member.NodeID]
	stale := before && (member.Boot < known.Boot || member == known)
	if !stale {
		g.members[member.NodeID] = member
		if member.HasState && member.ClusterID != "" && len(g.clusters) < clustersMax && !slices.Contains(g.clusters, member.ClusterID) {
			g.clusters = append(g.clusters, member.ClusterID)
		}
		g.changed.Notify()
	}
	g.mu.Unlock()
	if stale {
		return
	}
	if alive {
		g.options.Heard(member.NodeID, member.Peer, member.Boot)
	}
	if !before || known.Alive != alive {
		g.logger.Info("heard of a node", "peer", member.NodeID, "address", member.Peer, "alive", alive)
	}
}

// delegate supplies the metadata of this node.
type delegate Gossip

var _ memberlist.Delegate = (*delegate)(nil)

// NodeMeta returns this node's description.
func (d *delegate) NodeMeta(limit int) []byte {
	self := d.options.Self()
	self.Disk, self.Drained = uint8(d.disk.Load()), d.drained.Load()
	meta, err := json.Marshal(self)
	if err != nil || len(meta) > limit {
		d.logger.Error("the description of this node is too long for gossip", "bytes", len(meta), "limit", limit, "error", err)
		return nil
	}
	return meta
}

// NotifyMsg implements memberlist.Delegate: gossip carries nothing but descriptions.
func (d *delegate) NotifyMsg([]byte) {}

// GetBroadcasts implements memberlist.Delegate.
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState implements memberlist.Delegate.
func (d *delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState implements memberlist.Delegate.
func (d *delegate) MergeRemoteState([]byte, bool) {}

// events follows the other nodes. It must not block.
type events Gossip

var _ memberlist.EventDelegate = (*events)(nil)

// NotifyJoin adds a new or returned node.
func (e *events) NotifyJoin(node *memberlist.Node) { (*Gossip)(e).update(node, true) }

// NotifyLeave records that a node left or died.
func (e *events) NotifyLeave(node *memberlist.Node) { (*Gossip)(e).update(node, false) }

// NotifyUpdate records a node's new description.
func (e *events) NotifyUpdate(node *memberlist.Node) { (*Gossip)(e).update(node, true) }

// filter refuses the members of other clusters, so that two clusters do not merge by mistake. It
// must not block.
type filter Gossip

var _ memberlist.AliveDelegate = (*filter)(nil)

var errOtherCluster = errors.New("a node of another cluster")

// NotifyAlive refuses a node of another cluster, once both nodes belong to one.
func (f *filter) NotifyAlive(node *memberlist.Node) error {
	var member Member
	if err := json.Unmarshal(node.Meta, &member); err != nil {
		return nil //nolint:nilerr // update logs the error
	}
	own := f.options.Self()
	if !own.HasState || !member.HasState || own.ClusterID == member.ClusterID {
		return nil
	}
	f.mu.Lock()
	delete(f.members, member.NodeID) // it joined the other cluster after its first message
	f.mu.Unlock()
	return errOtherCluster
}
