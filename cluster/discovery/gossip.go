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
	"github.com/seriatimq/seriatim/cluster/wakeup"
)

// Member is what a node tells all others about itself. As gossip
// metadata it must stay below 512 bytes.
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

	Disk    uint8 `json:"d,omitempty"` // how full its disk is, as package cluster counts
	Drained bool  `json:"l,omitempty"` // it is drained
	Joining bool  `json:"j,omitempty"` // it has a cluster to join and is no member yet

	Encrypts bool `json:"k,omitempty"` // what it writes to its disk is encrypted

	Alive bool `json:"-"` // as far as gossip can tell
}

// Gossip finds the other nodes and hears where they are. What it says is a hint
// for dialing and for the bootstrap, never a vote. Safe for concurrent use.
type Gossip struct {
	options Options
	logger  *slog.Logger
	list    *memberlist.Memberlist

	announcing wakeup.Signal // Run is to tell the others about this node again
	disk       atomic.Uint32 // how full the disk of this node is
	drained    atomic.Bool   // this node
	refusals   refusals
	rate       *packetLimit
	looked     chan struct{} // closed when every address to join answered or was tried LookTries times

	mu      sync.Mutex
	members map[string]Member // by node id, without this node
	// clusters are the ids of all clusters this node has heard of since its start. A
	// cluster counts even if none of its nodes is alive now.
	clusters []string
	changed  wakeup.Broadcast // of the view
}

// Nodes find each other by a full exchange when they start, and full exchanges follow
// often. Single updates may take a little longer: each interval wakes the processor of
// every idle node.
const (
	gossipInterval      = 500 * time.Millisecond
	gossipPushPull      = 10 * time.Second
	gossipStreamTimeout = 3 * time.Second
	// gossipAnnounce is how long the library waits until an update is sent. It is
	// short, so that the next update need not wait.
	gossipAnnounce = time.Millisecond
	gossipLeave    = 300 * time.Millisecond
	joinPauseMin   = 100 * time.Millisecond
	joinPauseMax   = 5 * time.Second
	// LookTries is how often an address to join is tried before it counts as
	// unreachable, clustersMax how many clusters are remembered.
	LookTries   = 3
	clustersMax = 8
)

// Options are what gossip needs to know of this node.
type Options struct {
	NodeID    string
	Bind      string   // host:port, TCP and UDP
	Advertise string   // host:port the others gossip with; empty: the bound one
	Join      []string // addresses to find the others by
	Key       []byte   // 16, 24 or 32 bytes; none: clear text

	Self   func() Member // this node as it is now
	Wanted func() int    // how many live nodes there should be
	Heard  func(nodeID, address string, boot uint64)
	Clocks *Clocks // told of the clocks of the others; nil: nobody is

	Network   environment.Network // default the machine's
	Monotonic func() time.Duration
	Logger    *slog.Logger
}

// New returns gossip that is not open yet.
func New(options Options) *Gossip {
	return &Gossip{
		options:    options,
		logger:     options.Logger.With("component", "gossip"),
		announcing: wakeup.NewSignal(),
		looked:     make(chan struct{}),
		rate:       newPacketLimit(options.Monotonic),
		members:    map[string]Member{},
	}
}

// Open binds the gossip port.
func (g *Gossip) Open(ctx context.Context) error {
	settings := memberlist.DefaultLANConfig()
	// A name belongs to one start of one node: a node that comes back with
	// another address is then not in conflict with what the others remember.
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
	settings.Logger = newLogger(ctx, g.options.Logger, g.options.Monotonic, &g.refusals)
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

// portTries is how often a free port is looked for that is free for TCP and for UDP.
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
	return newBoundedTransport(bound, g.rate, &g.refusals, settings.Logger.Printf), nil
}

// splitAddress takes host:port apart; an empty host means all addresses.
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

// resolveIP turns a host name into an address, because gossip advertises only
// those.
func resolveIP(ctx context.Context, host string) (string, error) {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return "", fmt.Errorf("the advertised gossip address: %w", err)
	}
	return addresses[0].IP.String(), nil
}

// Run looks for the other nodes until ctx ends: at once, and again whenever
// fewer are alive than there should be, at growing intervals.
func (g *Gossip) Run(ctx context.Context) {
	pause := joinPauseMin
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { g.look(ctx) })
	looked := g.looked
	for {
		seen, wait := g.Changes(), pause
		switch {
		case looked != nil: // look does it
		case g.alive() < g.options.Wanted() && len(g.options.Join) > 0:
			g.joinAt(g.options.Join...)
		default:
			pause = joinPauseMin
			wait = joinPauseMax // membership may change without news from gossip
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-looked:
			looked = nil
		case <-g.announcing:
			_ = g.list.UpdateNode(gossipAnnounce) // an error says that the news is not on its way yet
		case <-seen:
			// Fewer or more are alive: look at once, and often again.
			pause = joinPauseMin
		case <-timer.C:
			pause = min(2*pause, joinPauseMax)
		}
		timer.Stop()
	}
}

// SetDisk says how full the disk of this node is, with the next announcement.
func (g *Gossip) SetDisk(level uint8) { g.disk.Store(uint32(level)) }

// SetDrained says whether this node is drained, with the next announcement.
func (g *Gossip) SetDrained(drained bool) { g.drained.Store(drained) }

// HasLooked is closed when every address to join was tried once.
func (g *Gossip) HasLooked() <-chan struct{} { return g.looked }

// Join exchanges all that is known with the nodes at these addresses (host:port), and
// reports whether one of them answered.
func (g *Gossip) Join(addresses ...string) bool { return g.joinAt(addresses...) }

// Announce tells the others about this node again, soon.
func (g *Gossip) Announce() { g.announcing.Notify() }

// View lists the known nodes without this one, by node id.
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

// Changes is closed at the next change of what gossip knows about the nodes.
func (g *Gossip) Changes() <-chan struct{} { return g.changed.Changed() }

// alive counts the live nodes, this one included.
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

// Close tells the others that this node leaves, and stops gossip.
func (g *Gossip) Close() error {
	if err := g.list.Leave(gossipLeave); err != nil {
		g.logger.Debug("left without being heard", "error", err)
	}
	return g.list.Shutdown()
}

// heard updates the view with what a node says of itself.
func (g *Gossip) heard(node *memberlist.Node, alive bool) {
	var member Member
	if err := json.Unmarshal(node.Meta, &member); err != nil || member.NodeID == "" {
		g.logger.Warn("a node that gossips here is not one of ours", "name", node.Name, "address", node.Address())
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

// NodeMeta is what the others learn of this node.
func (d *delegate) NodeMeta(limit int) []byte {
	self := d.options.Self()
	self.Disk, self.Drained = uint8(d.disk.Load()), d.drained.Load()
	meta, err := json.Marshal(self)
	if err != nil || len(meta) > limit {
		d.logger.Error("this node cannot describe itself to the others", "bytes", len(meta), "limit", limit, "error", err)
		return nil
	}
	return meta
}

// NotifyMsg takes no messages: gossip carries nothing else.
func (d *delegate) NotifyMsg([]byte) {}

// GetBroadcasts has none.
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState has none.
func (d *delegate) LocalState(bool) []byte { return nil }

// MergeRemoteState expects none.
func (d *delegate) MergeRemoteState([]byte, bool) {}

// events is told of the other nodes. It must not block.
type events Gossip

var _ memberlist.EventDelegate = (*events)(nil)

// NotifyJoin hears of a new or returned node.
func (e *events) NotifyJoin(node *memberlist.Node) { (*Gossip)(e).heard(node, true) }

// NotifyLeave hears of a node that left or died.
func (e *events) NotifyLeave(node *memberlist.Node) { (*Gossip)(e).heard(node, false) }

// NotifyUpdate hears of a node with other metadata.
func (e *events) NotifyUpdate(node *memberlist.Node) { (*Gossip)(e).heard(node, true) }

// filter refuses the members of other clusters, so that two clusters that hear of each
// other by mistake do not merge. It must not block.
type filter Gossip

var _ memberlist.AliveDelegate = (*filter)(nil)

// errOtherCluster: a node belongs to another cluster than this one.
var errOtherCluster = errors.New("a node of another cluster")

// NotifyAlive refuses a node of another cluster. One that belongs to none yet
// may stay, and so may everybody while this node belongs to none.
func (f *filter) NotifyAlive(node *memberlist.Node) error {
	var member Member
	if err := json.Unmarshal(node.Meta, &member); err != nil {
		return nil //nolint:nilerr // heard says what is wrong with it
	}
	own := f.options.Self()
	if !own.HasState || !member.HasState || own.ClusterID == member.ClusterID {
		return nil
	}
	f.mu.Lock()
	delete(f.members, member.NodeID) // it joined the other one after it was seen here
	f.mu.Unlock()
	return errOtherCluster
}
