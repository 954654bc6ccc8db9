package server

import "log/slog"

const (
	// adminConnectionsMax bounds the connections of probes and scrapers.
	adminConnectionsMax = 1000
	// reservedFilesMax is the number of file descriptors that clients cannot use. The node needs
	// them for segments of the log, snapshots and connections to other nodes. With a low limit
	// the node reserves a quarter.
	reservedFilesMax = 1024
	reservedFilesMin = 64
)

// connectionLimits divides the file descriptors of the process between the node and the
// connections of its two HTTP ports. files is 0 if there is no limit.
func connectionLimits(files uint64, wanted int) (clients, admin int) {
	if files == 0 {
		return wanted, adminConnectionsMax
	}
	reserved := max(reservedFilesMin, min(reservedFilesMax, files/4))
	admins := max(1, min(adminConnectionsMax, files/8))
	left := int64(min(files, 1<<40)) - int64(reserved) - int64(admins)
	return int(max(1, min(int64(wanted), left))), int(admins)
}

// limitConnections returns connectionLimits and logs a warning if clients get fewer connections
// than the settings permit.
func limitConnections(files uint64, wanted int, log *slog.Logger) (clients, admin int) {
	clients, admin = connectionLimits(files, wanted)
	if clients < wanted {
		log.Warn("fewer client connections than max-connections are accepted, because the process may open too few files",
			"max_connections", wanted, "accepted", clients, "open_files_limit", files,
			"advice", "raise the limit of open files (ulimit -n, LimitNOFILE) or lower max-connections")
	}
	return clients, admin
}
