package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/auth/rate"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/connections"
	"github.com/seriatimq/seriatim/transport/console"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/ops"
	"github.com/seriatimq/seriatim/transport/ops/records"
	"github.com/seriatimq/seriatim/transport/push"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus"
	"github.com/seriatimq/seriatim/transport/servicebus/atom"
	"github.com/seriatimq/seriatim/transport/sns"
	"github.com/seriatimq/seriatim/transport/sqs"
	"github.com/seriatimq/seriatim/transport/tracing"
)

// readyInterval is the pause between two checks whether the node is ready. A check is cheap, and
// the checks end when the node is ready.
const readyInterval = 2 * time.Millisecond

// program is the process around a node.
type program struct {
	version string
	// formatMax overrides the highest format that the node announces; empty: the newest it reads.
	formatMax string
	log       *slog.Logger
	recent    *recentLog // the end of log; nil: not kept
	out       io.Writer  // standard output
	words     io.Writer  // standard error
	exit      func(code int)
}

// parts holds the parts of a running node, in the order of their start.
type parts struct {
	certificates certificates
	audit        *slog.Logger
	auditRecords *records.Ring
	auditClosed  func()
	operators    func(token string) (ops.Operator, bool) // nil: the admin port needs no token
	ownToken     string                                  // file with the node's own token; empty: none

	traces     *tracing.Tracer // nil: none
	node       *cluster.Node
	poster     *push.Poster // of the node
	admin      *ops.Admin
	adminPort  *transport.Server
	endKeys    func() // ends watching the key file; nil: there is none
	sqs        *sqs.Service
	grpc       *grpc.Server
	bus        *servicebus.Server
	clientPort *transport.Server
	amqpPorts  []*transport.Server
	backup     backups
	drains     atomic.Pointer[func(drained bool)] // of the client port; nil before it is open
}

// run runs a node until ctx ends, then stops it. It calls ready when the node answers.
func (p program) run(ctx context.Context, cfg Config, ready func()) error {
	p.log = p.log.With("node", cfg.Node.Name)
	systemd := newNotifySocket(p.log)
	if err := checkOwnPorts(cfg.Listen); err != nil {
		return err
	}
	defer tuneCollector(os.Getenv)()
	running, err := p.start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			p.log.Info("stopped before the node had started")
			return nil
		}
		return diskError(err)
	}
	p.log.Info("started", "version", p.version, "client", cfg.Listen.Client, "admin", cfg.Listen.Admin,
		"peer", cfg.Listen.Peer, "gossip", cfg.Listen.Gossip, "data_dir", cfg.Node.DataDir)
	// systemd waits for READY before it starts other units. A node that waits for the other nodes
	// must not delay them, so it reports that in its status.
	systemd.notify(ctx, "READY=1")
	if awaitNode(ctx, running.node, func(missing error) { systemd.notify(ctx, "STATUS=not ready: "+missing.Error()) }) {
		p.log.Info("ready")
		if cfg.API.Auth {
			p.warnWithoutKeys(ctx, running.node)
		}
		systemd.notify(ctx, "STATUS=ready")
		ready()
	}
	<-ctx.Done()
	systemd.notify(context.WithoutCancel(ctx), "STOPPING=1")
	p.log.Info("stopping", "reason", context.Cause(ctx).Error())
	running.stop(context.WithoutCancel(ctx), cfg.Timing.Shutdown, p.log)
	p.log.Info("stopped")
	return nil
}

// checkOwnPorts returns an error if a port is in use, before the node contacts its cluster.
func checkOwnPorts(listen ListenConfig) error {
	for _, port := range []struct{ network, setting, address string }{
		{"tcp", "client-addr", listen.Client},
		{"tcp", "amqp-addr", listen.AMQP},
		{"tcp", "amqps-addr", listen.AMQPS},
		{"tcp", "admin-addr", listen.Admin},
		{"tcp", "peer-addr", listen.Peer},
		{"tcp", "gossip-addr", listen.Gossip},
		{"udp", "gossip-addr", listen.Gossip},
	} {
		if port.address == "" {
			continue
		}
		err := checkPort(port.network, port.address)
		if errors.Is(err, syscall.EADDRINUSE) {
			return exit.New(exit.Failed, fmt.Errorf("%s: %w", port.setting, err),
				"another process or node uses that port: end it, or choose another address with --"+port.setting)
		}
		if err != nil {
			return exit.New(exit.Usage, fmt.Errorf("%s: %w", port.setting, err), "choose an address of this machine with --"+port.setting)
		}
	}
	return nil
}

// start opens the node, then the admin port, then the client port.
func (p program) start(ctx context.Context, cfg Config) (_ *parts, err error) {
	certificates, err := openCertificates(cfg.Listen, p.log)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	nodeConfig, err := p.clusterConfig(cfg, certificates)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	if err := p.checkPeerCertificate(certificates, cfg.Node.Name); err != nil {
		return nil, err
	}
	if cfg.alone() {
		p.log.Info("no other node can reach this one: set peer-cert, peer-key, peer-ca and gossip-key-file before you add nodes")
	}
	hooks, err := newHooks()
	if err != nil {
		return nil, exit.New(exit.Usage, err, "")
	}
	if err := checkARNs(cfg); err != nil {
		return nil, err
	}
	allowed, err := allowedEndpoints(cfg.API)
	if err != nil {
		return nil, err // validate has checked them
	}
	operators, err := openTokens(cfg.Listen, p.log)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	auditRecords := records.NewRing(auditRecordsBytes, time.Now())
	audit, auditClosed, err := openAudit(cfg.Logging, p.log, auditRecords)
	if err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	if cfg.Logging.AuditFile != "" {
		audit = audit.With("node", cfg.Node.Name)
	}
	r := &parts{certificates: certificates, audit: audit, auditRecords: auditRecords, auditClosed: auditClosed, operators: operators,
		poster: push.New(push.Addresses{Allowed: allowed, Own: net.InterfaceAddrs})}
	nodeConfig.Poster, nodeConfig.Limits.Check = r.poster, names(cfg).CheckPolicy
	if r.traces, err = p.openTraces(ctx, cfg); err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	if nodeConfig.FirstKey, err = p.firstKey(cfg); err != nil {
		return nil, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	nodeConfig.OnDrain = func(drained bool) {
		if follow := r.drains.Load(); follow != nil {
			(*follow)(drained)
		}
	}
	r.backup.load(cfg.Node.DataDir, p.log)
	nodeConfig.Measure, nodeConfig.AdminURL = r.findings, adminURL(cfg.Listen.Admin, certificates.admin != nil)
	if r.node, err = cluster.Open(hooks.node(ctx, &nodeConfig), nodeConfig); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.stop(context.WithoutCancel(ctx), cfg.Timing.Shutdown, p.log)
		}
	}()
	if err := p.ownToken(cfg, r); err != nil {
		return nil, err
	}
	if err := keepARNs(cfg); err != nil {
		return nil, fmt.Errorf("record account and region: %w", err)
	}
	if file := cfg.Node.EncryptionKeyFile; file != "" {
		if r.endKeys, err = followKeyFile(context.WithoutCancel(ctx), file, r.node, p.log); err != nil {
			return nil, err
		}
	}
	// Requests continue after the signal that ends ctx, until stop ends them.
	if err := p.serve(context.WithoutCancel(ctx), cfg, hooks, r); err != nil {
		return nil, err
	}
	return r, nil
}

// serve opens the admin port, then the client port.
func (p program) serve(requests context.Context, cfg Config, hooks hooks, r *parts) (err error) {
	clientsMax, adminMax := limitConnections(openFilesLimit(), cfg.Limits.Connections, p.log)
	names := names(cfg)
	r.sqs = sqs.New(requests, sqs.Options{Node: r.node, Names: names, Random: rand.Reader})
	memory := budget.New(int64(cfg.Limits.RequestBytes)) // of requests and answers on the client port
	access := p.access(r.node, cfg.API)
	apis := []*aws.API{r.sqs.API(), sns.API()}
	limiter := rate.New(r.node.Access, time.Now)
	backend := service.Backend{Node: r.node, Authorizer: access.authorizer, Rate: limiter, Names: names}
	services := atom.New(atom.Options{Backend: backend, Verifier: access.tokens, Logger: p.log}).Wrap(
		aws.NewHandler(aws.Options{Backend: backend, Verifier: access.signatures, Logger: p.log}, apis...))
	open := connections.New(time.Now)
	var clients, operators atomic.Pointer[transport.Server] // the ports, once they are open
	r.admin = ops.New(ops.Options{
		Node: r.node, Version: p.version, QueueSeries: cfg.Limits.MetricQueues, Profiles: cfg.Listen.Profiles,
		Now: time.Now, Logger: p.log, Audit: r.audit, Debug: p.debug(cfg), CertificatesEnd: r.certificates.expiries,
		Tokens:   ops.Tokens{Find: r.operators, OwnFile: r.ownToken},
		Policies: &ops.Policies{Decide: access.gate.Simulate, Names: names, Permissions: aws.Permissions(apis...), Enforced: cfg.API.Auth},
		Account:  cfg.API.Account, Random: rand.Reader, RequestsRefused: limiter.Refused, Spans: r.spans,
		LastBackup: r.backup.at(), OnBackup: func(at time.Time) { r.backup.keep(cfg.Node.DataDir, at, p.log) },
		Open: open, AuditRecords: r.auditRecords, LogRecords: p.logRecords(), LogLevel: p.logLevel(),
		Settings: func() []ops.NodeSetting { return nodeSettings(cfg) },
		Connections: func() (ofClients, ofOperators transport.Connections) {
			return counts(&clients, clientsMax), counts(&operators, adminMax)
		},
	})
	calls := &service.Calls{
		Logger: p.log, Audit: r.audit, Observer: r.admin.Requests(), Tracer: r.tracer(), Random: rand.Reader, Now: time.Now,
		Sample: new(service.Sample), Refusals: new(service.RefusalSample),
	}
	r.grpc = grpc.New(requests, grpc.Options{
		Node: r.node, Verifier: access.signatures, Authorizer: access.authorizer, Rate: limiter, Names: names, Budget: memory, Calls: calls,
		Random: rand.Reader, Now: time.Now, Logger: p.log,
	})
	r.bus = servicebus.New(requests, servicebus.Options{
		Node: r.node, Tokens: access.tokens, Authorizer: access.authorizer, Rate: limiter, Names: names, Calls: calls, Random: rand.Reader,
		Now: time.Now, Logger: p.log,
	})
	console.New(console.Options{
		Node: r.node, Admin: r.admin, Native: r.grpc, Tokens: ops.Tokens{Find: r.operators, OwnFile: r.ownToken}, Names: names,
		ClientURL: clientURL(cfg.Listen.Client, r.certificates.client != nil), Enforced: cfg.API.Auth, Version: p.version,
		Audit: r.audit, Logger: p.log, Now: time.Now, Random: rand.Reader,
	}).Mount(r.admin)
	r.adminPort, err = transport.Listen(requests, transport.Config{
		Addr: cfg.Listen.Admin, TLS: r.certificates.admin.Server(), ConnectionsMax: adminMax,
		Handler: origins(cfg.Listen, cfg.Listen.Admin).Wrap(hooks.operators(r.admin, r.node)), Now: time.Now, NetHTTP: true, Logger: p.log,
		Opened: func(c net.Conn) *connections.Connection { return open.Opened("admin", c) },
	})
	if err != nil {
		return fmt.Errorf("admin port: %w", err)
	}
	operators.Store(r.adminPort)
	pages := origins(cfg.Listen, cfg.Listen.Client)
	self, _ := r.node.Leader()
	clientConfig := transport.Config{
		Addr: cfg.Listen.Client, TLS: r.certificates.client.Server(),
		ConnectionsMax: clientsMax, PerAddress: cfg.Limits.PerAddress, StreamsMax: cfg.Limits.Streams, Budget: memory,
		Handler: transport.Recorded(calls, pages.Wrap(hooks.clients(services))), GRPC: pages.Wrap(hooks.clients(r.grpc)),
		AMQP: r.bus, ContainerID: self, OnShutdown: r.drain, Logger: p.log, Now: time.Now,
		Opened: func(c net.Conn) *connections.Connection { return open.Opened(service.PortName, c) },
	}
	if r.clientPort, err = transport.Listen(requests, clientConfig); err != nil {
		return fmt.Errorf("client port: %w", err)
	}
	if err := r.listenAMQP(requests, cfg.Listen, clientConfig); err != nil {
		return err
	}
	clients.Store(r.clientPort)
	r.onDrain(requests)
	return nil
}

// counts counts the connections of a port, which may not be open yet.
func counts(port *atomic.Pointer[transport.Server], limit int) transport.Connections {
	if open := port.Load(); open != nil {
		return open.Connections()
	}
	return transport.Connections{Connections: limits.Connections{Limit: limit}}
}

// logRecords returns the newest records of the log, nil if they are not kept.
func (p program) logRecords() *records.Ring {
	if p.recent == nil {
		return nil
	}
	return p.recent.records
}

// logLevel returns the level of the log, nil if it is fixed.
func (p program) logLevel() *slog.LevelVar {
	if p.recent == nil {
		return nil
	}
	return &p.recent.level
}

// debug returns the documents of the admin port that only the process can write.
func (p program) debug(cfg Config) map[string]func(io.Writer) error {
	shown := map[string]func(io.Writer) error{"config": func(out io.Writer) error { return printConfig(out, cfg) }}
	if p.recent != nil {
		shown["log"] = p.recent.writeTo
	}
	return shown
}

// origins returns the origins of web pages that may call a port.
func origins(listen ListenConfig, port string) transport.Origins {
	return transport.Origins{Allowed: listen.AllowOrigin, Loopback: transport.LoopbackAddress(port)}
}

// stop ends the parts in the reverse order of their start. The admin port is last, because it
// reports that the node is not ready. stop abandons parts that do not end within limit. That is
// safe: everything acknowledged is on disk.
func (r *parts) stop(ctx context.Context, limit time.Duration, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if r.admin != nil {
		r.admin.Stop()
	}
	if r.clientPort != nil {
		// Requests that wait for a leader get half of the time. The other half is for the
		// transfer of leadership.
		ending, over := context.WithTimeout(ctx, limit/2)
		if err := r.endClients(ending); err != nil {
			log.Warn("a port for clients did not stop cleanly", "error", err)
		}
		over()
	}
	if r.endKeys != nil {
		r.endKeys()
	}
	if err := r.node.Close(ctx); err != nil {
		log.Warn("the node did not stop cleanly", "error", err)
	}
	r.endTraces(ctx)
	r.poster.Close()
	if r.adminPort != nil {
		if err := r.adminPort.Shutdown(ctx); err != nil {
			log.Warn("the admin port did not stop cleanly", "error", err)
		}
	}
	r.auditClosed()
}

// awaitNode waits until the node is ready, and returns false if ctx ends before. It calls notify
// whenever the reason changes.
func awaitNode(ctx context.Context, node *cluster.Node, notify func(missing error)) bool {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	last := ""
	for {
		missing := node.Ready()
		if missing == nil {
			return true
		}
		if text := missing.Error(); text != last {
			last = text
			notify(missing)
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// fatal ends the process because continuing could break a guarantee. The error goes to the log
// and to standard error, which a supervisor keeps.
func (p program) fatal(code cluster.ExitCode, err error) {
	p.log.Error("the node must not continue and ends", "exit_code", int(code), "error", err)
	fmt.Fprintf(p.words, "seriatim: the node must not continue (exit code %d): %v\n", code, err) //nolint:errcheck // cannot be reported
	p.exit(int(code))
}
