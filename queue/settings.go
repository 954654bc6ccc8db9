package queue

// Names of cluster settings: values every node must agree on. The leader
// proposes them with SetClusterSetting.
const (
	// SettingClusterID identifies the cluster; set once.
	SettingClusterID = "cluster-id"
	// SettingReceiptKey is the key of identifiers, handles and the state
	// hash: 32 lower-case hex digits, set once.
	SettingReceiptKey = "receipt-key"
	// SettingMinimumWindow is the lower bound in seconds of
	// DeduplicationWindowSeconds and ReceiveAttemptWindowSeconds, 1..20.
	SettingMinimumWindow = "minimum-window-seconds"
	// SettingAWSCooldowns is "true" if DeleteQueue and PurgeQueue have the
	// 60-second cool-offs of AWS.
	SettingAWSCooldowns = "aws-cooldowns"
)
