package server

import "log/slog"

const (
	// adminConnectionsMax bounds the connections of probes and scrapers.
	adminConnectionsMax = 1000
	// reservedFilesMax is how many file descriptors are kept from clients: the
	// log must be able to open its next segment, snapshots their file and other
	// nodes their connections, however many clients there are. Where the limit
	// is low a quarter of it must do.
	reservedFilesMax = 1024
	reservedFilesMin = 64
)

// connectionLimits divides the file descriptors of the process, 0 for no limit,
// between the node and the connections of its two HTTP ports.
func connectionLimits(files uint64, wanted int) (clients, admin int) {
	if files == 0 {
		return wanted, adminConnectionsMax
	}
	reserved := max(reservedFilesMin, min(reservedFilesMax, files/4))
	admins := max(1, min(adminConnectionsMax, files/8))
	left := int64(min(files, 1<<40)) - int64(reserved) - int64(admins)
	return int(max(1, min(int64(wanted), left))), int(admins)
}

// limitConnections is connectionLimits for this process. It says so if clients
// get fewer than the settings say.
func limitConnections(files uint64, wanted int, log *slog.Logger) (clients, admin int) {
	clients, admin = connectionLimits(files, wanted)
	if clients < wanted {
		log.Warn("fewer client connections than max-connections are accepted, because the process may open too few files",
			"max_connections", wanted, "accepted", clients, "open_files_limit", files,
			"advice", "raise the limit of open files (ulimit -n, LimitNOFILE) or lower max-connections")
	}
	return clients, admin
}
