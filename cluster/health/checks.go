// Package health holds the table of checks of a cluster, with their thresholds and advice. A
// Finding is one measured value.
package health

// Check compares one measured value with two thresholds.
type Check struct {
	Name  string
	Short string // for help
	// Unit is written after a value, One after the value 1.
	Unit, One string
	// Plain: the value is a rank, and the text of a finding needs no value.
	Plain bool
	// EachNode: every member measures it.
	EachNode bool
	// Below: low values are bad. Newest: only the best value counts.
	Below, Newest bool
	Warn, Crit    float64
	None          string // explains a missing value
	Advice        string // for a level other than OK
}

// Names of the checks.
const (
	Members    = "members"
	Quorum     = "quorum"
	Sends      = "sends"
	Disk       = "disk"
	Memory     = "memory"
	Replicas   = "replicas"
	Clock      = "clock"
	Lag        = "lag"
	Certs      = "certs"
	Backup     = "backup"
	Upgrade    = "upgrade"
	DeadLetter = "dlq"
	Groups     = "groups"
	InFlight   = "inflight"
	Dedup      = "dedup"
	Deliveries = "deliveries"
	Posts      = "posts"
	Quota      = "quota"
	Encryption = "encryption"
	Secrets    = "secrets"
)

// Checks returns all checks, those of the whole cluster first.
func Checks() []Check { return checks }

// Named returns the check with a name.
func Named(name string) (Check, bool) {
	for _, c := range checks {
		if c.Name == name {
			return c, true
		}
	}
	return Check{}, false
}

// Level compares a value with thresholds.
func (c Check) Level(value, warn, crit float64) Level {
	beyond := func(mark float64) bool { return value > mark }
	if c.Below {
		beyond = func(mark float64) bool { return value < mark }
	}
	switch {
	case beyond(crit):
		return Critical
	case beyond(warn):
		return Warning
	default:
		return OK
	}
}

var checks = []Check{
	{
		Name: Members, Short: "Whether all members answer and are ready", Unit: "(0 ready, 1 ready soon or drained, 2 not ready)",
		Plain: true, EachNode: true, Warn: 0, Crit: 1,
		None: "no member is known",
		Advice: "start the node if it is down; its log gives the reason if it is not ready. " +
			"'seriatim cluster uncordon NODE' ends a drain. Do not restart another node meanwhile",
	},
	{
		Name: Quorum, Short: "How many more nodes may fail", Unit: "nodes may fail", One: "node may fail", Below: true, Warn: 1, Crit: 0,
		None: "nothing is known about the members",
		Advice: "start the voters that are away; one more than half must reach each other's peer ports. " +
			"Replace a voter whose disk is lost: start it empty, then 'seriatim cluster replace NAME'. " +
			"If no voter is away, add nodes: start each with an empty data directory, --bootstrap-expect 0 and --join. " +
			"If most voters will never come back: 'seriatim cluster force-recover --help'",
	},
	{
		Name: Sends, Short: "Whether sends are refused", Unit: "(0 none, 1 if this node led, 2 refused now)", Plain: true, EachNode: true,
		Warn: 0, Crit: 1,
		None: "no member reports whether it refuses sends",
		Advice: "let consumers catch up, purge messages that you do not need, or give the node more space or memory. " +
			"Receives and deletes still work",
	},
	{
		Name: Disk, Short: "Free space of the data directories", Unit: "% free", One: "% free", EachNode: true, Below: true, Warn: 20,
		Crit:   10,
		None:   "no node reports the size of its disk",
		Advice: "free space or enlarge the disk; below disk-free-refuse sends are refused, below disk-free-resign the node stops leading",
	},
	{
		Name: Memory, Short: "Size of the state in memory, of state-bytes-max", Unit: "% used", One: "% used", EachNode: true, Warn: 80,
		Crit:   95,
		None:   "state-bytes-max is not set",
		Advice: "let consumers catch up, purge what is not needed, or raise state-bytes-max on all nodes if the machines have the memory",
	},
	{
		Name: Replicas, Short: "Whether replicas differ, or bodies of messages are damaged",
		Unit: "(0 sound, 1 repaired, 2 differs or damaged)", Plain: true, EachNode: true, Warn: 0, Crit: 1,
		None: "no member reports the state of its replica",
		Advice: "keep the data directories and make a backup from each node. " +
			"The logs name the index and hashes of differing replicas, or the file of a damaged body. Check the disk's error counters",
	},
	{
		Name: Clock, Short: "How far clocks are apart", Unit: "seconds apart", One: "second apart", EachNode: true, Warn: 1, Crit: 10,
		None:   "no node knows of others",
		Advice: "check that both machines set their clocks by NTP; beyond clock-skew-max a node does not lead",
	},
	{
		Name: Lag, Short: "How far members are behind the leader", Unit: "entries behind", One: "entry behind", Warn: 1000, Crit: 100_000,
		None:   "the leader has no followers, or is not known",
		Advice: "wait if the member was just started; otherwise check its disk, processor and network",
	},
	{
		Name: Secrets, Short: "Whether all members open the secrets of access keys", Unit: "(0 open, 2 not)", Plain: true, EachNode: true,
		Warn: 0, Crit: 1,
		None: "no secret of an access key is sealed",
		Advice: "start a member that opens them: it sends the others the sealing key. " +
			"If none does, stop a member, restore a kept copy of its secrets.key and start it. " +
			"Without a copy, revoke all access keys and make new ones",
	},
	{
		Name: Certs, Short: "Days until the first certificate ends", Unit: "days left", One: "day left", EachNode: true, Below: true,
		Warn: 14, Crit: 3,
		None:   "no port has a certificate",
		Advice: "replace the certificate with one of the same authority; a running server reads the files again",
	},
	{
		Name: Encryption, Short: "Whether encryption-key-file is set and something is still in clear text",
		Unit: "(0 nothing, 1 something)", Plain: true, EachNode: true, Warn: 0, Crit: 1,
		None: "encryption-key-file is not set on any member",
		Advice: "wait: the next snapshots and deletes remove the clear text. Replace the nodes one by one to encrypt everything at once. " +
			"'seriatim encryption-key status' lists the nodes and keys",
	},
	{
		Name: Backup, Short: "Hours since the newest backup", Unit: "hours old", One: "hour old", EachNode: true, Newest: true, Warn: 26,
		Crit:   50,
		None:   "no backup is known",
		Advice: "run 'seriatim backup create', and check that the daily backup job still runs",
	},
	{
		Name: Upgrade, Short: "Whether an upgrade is to be finalized", Unit: "(0 finalized, 1 not finalized)", Plain: true, Warn: 0,
		Crit: 1,
		None: "the format version is not known",
		Advice: "install the same program on all nodes, then run 'seriatim upgrade finalize'; 'seriatim upgrade " +
			"status' shows what each node can read",
	},
	{
		Name: DeadLetter, Short: "Messages in dead-letter queues", Unit: "messages", One: "message", Warn: 0, Crit: 1000,
		None:   "no RedrivePolicy names a queue",
		Advice: "'seriatim msg peek QUEUE' shows the messages; mend their receivers, then 'seriatim dlq redrive QUEUE' moves them back",
	},
	{
		Name: Groups, Short: "Minutes that the first message of a group has been with receivers", Unit: "minutes blocked",
		One: "minute blocked", Warn: 15, Crit: 12 * 60,
		None: "no group is blocked",
		Advice: "'seriatim group explain QUEUE GROUP' shows the reason. " +
			"Restart the receiver that hangs, or release the group with 'seriatim group release QUEUE GROUP'",
	},
	{
		Name: InFlight, Short: "Messages in flight, of how many a queue may have", Unit: "% used", One: "% used", Warn: 80, Crit: 99.9,
		None: "no queue has messages in flight",
		Advice: "delete messages that are done, and lower the visibility timeout so that lost ones return sooner; " +
			"at the limit a queue delivers nothing more",
	},
	{
		Name: Dedup, Short: "Deduplication ids remembered, of MaxDeduplicationEntries", Unit: "% used", One: "% used", Warn: 80, Crit: 99.9,
		None: "no queue limits its deduplication ids",
		Advice: "raise MaxDeduplicationEntries or shorten the window; at the limit a queue refuses sends with " +
			"OverLimit. 'seriatim dedup stats QUEUE' has the figures",
	},
	{
		Name: Deliveries, Short: "Messages that topics lost within an hour, because a subscribed queue could not take them",
		Unit: "messages lost", One: "message lost", EachNode: true, Warn: 0, Crit: 0,
		None: "no delivery was lost",
		Advice: "the subscribed queue is deleted, full or forbids it: create it again or remove the subscription. " +
			"A RedrivePolicy of the subscription keeps such messages",
	},
	{
		Name: Posts, Short: "Deliveries over HTTP that wait after a failed attempt", Unit: "deliveries wait", One: "delivery waits",
		Warn: 0, Crit: 1000,
		None: "no delivery over HTTP waits",
		Advice: "check that the subscriber answers in time with a status of 2xx, or remove the subscription. " +
			"A RedrivePolicy of the subscription keeps the messages",
	},
	{
		Name: Quota, Short: "Usage of account quotas", Unit: "% used", One: "% used", Warn: 80, Crit: 99.9,
		None:   "no account has a quota",
		Advice: "'seriatim account show ACCOUNT' shows the usage; 'seriatim account quota' changes the quota",
	},
}
