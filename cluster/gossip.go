package cluster

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
)

// gossipMember is what a node tells all others about itself. As gossip
// metadata it must stay below 512 bytes.
type gossipMember struct {
	NodeID    string `json:"i"`
	Name      string `json:"n"`
	ClusterID string `json:"c,omitempty"` // joined or promised
	Peer      string `json:"p"`           // host:port of the peer listener; an empty host means the gossip host
	Boot      uint64 `json:"b"`
	Expect    int    `json:"e,omitempty"`
	HasState  bool   `json:"s,omitempty"` // has a log, a snapshot or a term
	Version   string `json:"v,omitempty"`
	Format    uint32 `json:"f,omitempty"` // highest format version it can read

	Disk    diskLevel `json:"d,omitempty"`
	Drained bool      `json:"l,omitempty"` // it wants to be left alone
	Joining bool      `json:"j,omitempty"` // it has a cluster to join and is no member yet

	alive bool
}

// gossip finds the other nodes and hears where they are. What it says is a hint
// for dialing and for founding a cluster, never a vote. Safe for concurrent use.
type gossip struct {
	cfg    Config
	nodeID string
	self   func() gossipMember // as it is now
	book   *addressBook
	wanted func() int // how many live nodes there should be
	logger *slog.Logger
	list   *memberlist.Memberlist

	// announcing asks run to tell the others about this node again. Capacity
	// one: a request that waits stands for all that follow.
	announcing chan struct{}
	disk       atomic.Uint32 // a diskLevel, of this node
	drained    atomic.Bool   // this node
	clocks     *clockGuard   // set before use by open
	looked     chan struct{} // closed when every address to join answered or was tried lookTries times

	mu      sync.Mutex
	members map[string]gossipMember // by node id, without this node
	// clusters are the ids of all clusters this node has heard of since it was
	// started: one whose nodes are silent now is still another cluster.
	clusters []string
	changed  chan struct{}
}

// Nodes find each other by a full exchange when they start, and full exchanges
// follow often. Single news may take a little longer: their interval costs each
// idle node a wakeup of its processor every time.
const (
	gossipInterval      = 500 * time.Millisecond
	gossipPushPull      = 10 * time.Second
	gossipStreamTimeout = 3 * time.Second
	// gossipAnnounce is how long the library waits until news is on its way. It
	// holds from the first moment on; news that comes meanwhile must not wait.
	gossipAnnounce = time.Millisecond
	gossipLeave    = 300 * time.Millisecond
	joinPauseMin   = 100 * time.Millisecond
	joinPauseMax   = 5 * time.Second
	// lookTries is how often an address is tried before nobody is taken to be
	// there, clustersMax how many clusters are remembered.
	lookTries   = 3
	clustersMax = 8
)

func newGossip(cfg Config, nodeID string, self func() gossipMember, book *addressBook, wanted func() int) *gossip {
	return &gossip{
		cfg:        cfg,
		nodeID:     nodeID,
		self:       self,
		book:       book,
		wanted:     wanted,
		logger:     cfg.Logger.With("component", "gossip"),
		announcing: make(chan struct{}, 1),
		looked:     make(chan struct{}),
		members:    map[string]gossipMember{},
		changed:    make(chan struct{}),
	}
}

// open binds the gossip port.
func (g *gossip) open(ctx context.Context) error {
	settings := memberlist.DefaultLANConfig()
	// A name belongs to one start of one node: a node that comes back with
	// another address is then not in conflict with what the others remember.
	me := g.self()
	settings.Name = me.NodeID + "#" + strconv.FormatUint(me.Boot, 10)
	settings.GossipInterval = gossipInterval
	settings.PushPullInterval = gossipPushPull
	settings.TCPTimeout = gossipStreamTimeout
	settings.SecretKey = g.cfg.GossipKey
	settings.Delegate = (*gossipDelegate)(g)
	settings.Events = (*gossipEvents)(g)
	settings.Alive = (*gossipFilter)(g)
	settings.Ping = (*gossipPings)(g.clocks)
	settings.Logger = newGossipLogger(ctx, g.cfg.Logger, g.cfg.Clock)
	settings.LogOutput = nil
	var err error
	if settings.BindAddr, settings.BindPort, err = splitAddress(g.cfg.GossipAddr); err != nil {
		return err
	}
	settings.AdvertisePort = 0
	if g.cfg.AdvertiseGossip != "" {
		if settings.AdvertiseAddr, settings.AdvertisePort, err = splitAddress(g.cfg.AdvertiseGossip); err != nil {
			return err
		}
		if settings.AdvertiseAddr, err = resolveIP(ctx, settings.AdvertiseAddr); err != nil {
			return err
		}
	}
	if g.cfg.Network != nil {
		if settings.Transport, err = openGossipTransport(ctx, g.cfg.Network, g.cfg.GossipAddr); err != nil {
			return err
		}
	}
	if g.list, err = memberlist.Create(settings); err != nil {
		if settings.Transport != nil {
			err = errors.Join(err, settings.Transport.Shutdown())
		}
		return fmt.Errorf("gossip at %s: %w", g.cfg.GossipAddr, err)
	}
	return nil
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

// boundAddr is where this node gossips.
func (g *gossip) boundAddr() string { return g.list.LocalNode().Address() }

// run looks for the other nodes until ctx ends: at once, and again whenever
// fewer are alive than there should be, at growing intervals.
func (g *gossip) run(ctx context.Context) {
	pause := joinPauseMin
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { g.look(ctx) })
	looked := g.looked
	for {
		seen, wait := g.changes(), pause
		switch {
		case looked != nil: // look does it
		case g.alive() < g.wanted() && len(g.cfg.Join) > 0:
			g.joinAt(g.cfg.Join...)
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

// announce tells the others about this node again, soon.
func (g *gossip) announce() {
	select {
	case g.announcing <- struct{}{}:
	default:
	}
}

// view lists the known nodes without this one, by node id.
func (g *gossip) view() []gossipMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	view := make([]gossipMember, 0, len(g.members))
	for _, member := range g.members {
		view = append(view, member)
	}
	slices.SortFunc(view, func(a, b gossipMember) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return view
}

// changes is closed when the view is another.
func (g *gossip) changes() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// alive counts the live nodes, this one included.
func (g *gossip) alive() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 1
	for _, member := range g.members {
		if member.alive {
			n++
		}
	}
	return n
}

// close leaves, so that the others need not find out, and stops.
func (g *gossip) close() error {
	if err := g.list.Leave(gossipLeave); err != nil {
		g.logger.Debug("left without being heard", "error", err)
	}
	return g.list.Shutdown()
}

// heard takes in what a node said of itself.
func (g *gossip) heard(node *memberlist.Node, alive bool) {
	var member gossipMember
	if err := json.Unmarshal(node.Meta, &member); err != nil || member.NodeID == "" {
		g.logger.Warn("a node that gossips here is not one of ours", "name", node.Name, "address", node.Address())
		return
	}
	if member.NodeID == g.nodeID {
		return
	}
	if host, port, err := net.SplitHostPort(member.Peer); err == nil && host == "" {
		member.Peer = net.JoinHostPort(node.Addr.String(), port)
	}
	member.alive = alive

	g.mu.Lock()
	known, before := g.members[member.NodeID]
	stale := before && (member.Boot < known.Boot || member == known)
	if !stale {
		g.members[member.NodeID] = member
		if member.HasState && member.ClusterID != "" && len(g.clusters) < clustersMax && !slices.Contains(g.clusters, member.ClusterID) {
			g.clusters = append(g.clusters, member.ClusterID)
		}
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.mu.Unlock()
	if stale {
		return
	}
	if alive {
		g.book.note(member.NodeID, member.Peer, member.Boot)
	}
	if !before || known.alive != alive {
		g.logger.Info("heard of a node", "peer", member.NodeID, "address", member.Peer, "alive", alive)
	}
}

// gossipDelegate supplies the metadata of this node.
type gossipDelegate gossip

var _ memberlist.Delegate = (*gossipDelegate)(nil)

// NodeMeta is what the others learn of this node.
func (d *gossipDelegate) NodeMeta(limit int) []byte {
	self := d.self()
	self.Disk, self.Drained = diskLevel(d.disk.Load()), d.drained.Load()
	meta, err := json.Marshal(self)
	if err != nil || len(meta) > limit {
		d.logger.Error("this node cannot describe itself to the others", "bytes", len(meta), "limit", limit, "error", err)
		return nil
	}
	return meta
}

// NotifyMsg takes no messages: gossip carries nothing else.
func (d *gossipDelegate) NotifyMsg([]byte) {}

// GetBroadcasts has none.
func (d *gossipDelegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState has none.
func (d *gossipDelegate) LocalState(bool) []byte { return nil }

// MergeRemoteState expects none.
func (d *gossipDelegate) MergeRemoteState([]byte, bool) {}

// gossipEvents hears of the others. It must not block.
type gossipEvents gossip

var _ memberlist.EventDelegate = (*gossipEvents)(nil)

// NotifyJoin hears of a new or returned node.
func (e *gossipEvents) NotifyJoin(node *memberlist.Node) { (*gossip)(e).heard(node, true) }

// NotifyLeave hears of a node that left or died.
func (e *gossipEvents) NotifyLeave(node *memberlist.Node) { (*gossip)(e).heard(node, false) }

// NotifyUpdate hears of a node with other metadata.
func (e *gossipEvents) NotifyUpdate(node *memberlist.Node) { (*gossip)(e).heard(node, true) }

// gossipFilter keeps out the members of other clusters, so that two clusters
// that hear of each other by mistake stay two. It must not block.
type gossipFilter gossip

var _ memberlist.AliveDelegate = (*gossipFilter)(nil)

// errOtherCluster: a node belongs to another cluster than this one.
var errOtherCluster = errors.New("a node of another cluster")

// NotifyAlive refuses a node of another cluster. One that belongs to none yet
// may stay, and so may everybody while this node belongs to none.
func (f *gossipFilter) NotifyAlive(node *memberlist.Node) error {
	var member gossipMember
	if err := json.Unmarshal(node.Meta, &member); err != nil {
		return nil //nolint:nilerr // heard says what is wrong with it
	}
	own := f.self()
	if !own.HasState || !member.HasState || own.ClusterID == member.ClusterID {
		return nil
	}
	f.mu.Lock()
	delete(f.members, member.NodeID) // it joined the other one after it was seen here
	f.mu.Unlock()
	return errOtherCluster
}
