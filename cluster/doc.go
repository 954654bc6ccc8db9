// Package cluster makes one broker out of several nodes. Its Node opens the parts in the
// packages below, wires them and closes them. It also reports the status of the node.
//
// Package transport calls Submit, BeginReceive and Read on the node that the client reached. A
// command passes through as bytes: its rules are in package queue, its encoding in package fsm.
//
// # Packages below
//
//	audit        detects a replica that differs from the others
//	route        executes the calls of clients at the leader
//	forward      calls carried to another node
//	membership   which nodes are members, which one leads, and upgrades
//	leader       what only a leader does: group commit, waiting receives, read
//	             confirmation, log time, deadlines, move tasks
//	consensus    one replicated log: hashicorp/raft with its stores and transport
//	election     replaces a leader that is gone before the library's timeout
//	discovery    gossip: addresses of the nodes, and the comparison of their clocks
//	peernet      connections between nodes, and questions on them
//	storage      everything on the disk of a node
//	recovery     backs up the state and restores a backup
//	scrub        finds damaged bodies of messages and fetches them from other nodes
//	offline      the data directory of a stopped node: inspect, recover
//	environment  clock, entropy, network and disk space, handed in
//	fault        errors and exit codes that several packages share
//	wakeup       notifying goroutines
//	histogram    histograms
//	holders      which clients of this node received what
//	hostlimit    bounds on the connections and memory of each host
//	health       the checks of a cluster, with thresholds and advice
//	sealing      encrypts the secrets of access keys
//	nodecert     the DNS name in the certificate of a node
//	rendezvous   suspends a waiting call without a goroutine
//
// # Where to look
//
//	a command is routed        route/submit.go, forward/link.go, forward/server.go
//	an entry is written        leader/group_commit.go, consensus/proposal.go,
//	                           storage/log_store.go
//	an entry is applied        consensus/machine.go, then package fsm
//	an answer was lost         route/own_requests.go, route/retry.go
//	a read is confirmed        route/read.go, leader/read_index.go,
//	                           consensus/leadership_proof.go
//	a receive waits            leader/receive.go, leader/waiting_receives.go
//	an election is decided     by the library; package election starts it early,
//	                           through consensus/campaign.go
//	a node begins to lead      followLeadership in node.go, leader/take_over.go
//	a node stops leading       close.go; membership/resign.go, membership/drain.go,
//	                           membership/successor.go
//	a snapshot is taken        consensus/snapshots.go, storage/snapshot_store.go
//	a cluster is bootstrapped  membership/bootstrap.go
//	a member is added          membership/join.go, membership/change.go,
//	                           membership/promotion.go;
//	                           consensus/members.go
//	a removed node stops       membership/removal_check.go
//	sends are refused          pressure.go
//	replicas are compared      package audit
//	a backup is restored       recovery/restore.go, consensus/restore.go, storage/spool.go
//	a majority is given up     offline/recover.go, consensus/recovery.go
//	a format is raised         membership/upgrade.go
//
// # Design
//
// Recovery from a lost majority works on the data directory of a stopped node. It begins an
// epoch and a new cluster id, so that the lost nodes cannot come back into the cluster.
//
// Idle. Every wakeup of an idle process costs some 20 to 30 microseconds of a core
// (measured on a virtual machine). Nearly all wakeups of an idle leader were messages of
// the consensus library: heartbeats, and empty messages that repeat the commit index. So
// the heartbeat timeout, from which the rate of heartbeats follows, is three times the
// usual, followers learn of a commit once (consensus/commit_notifier.go), and package
// election notices a missing leader long before that timeout.
package cluster

//go:generate go run -C ../test/tools ./protogen -fast RequestFrame,Request,Audit,AnswerFrame,Answer -out cluster/peerpb cluster/peer.proto
