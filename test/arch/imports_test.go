package arch

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// In these rules a path that begins with ~/ is a package of this module, a path includes the
// packages below it, and std is the standard library.
const (
	own = "~/"
	std = "std"
)

var (
	raft = []string{
		"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb", "github.com/hashicorp/raft-wal",
	}
	memberlist = []string{"github.com/hashicorp/memberlist"}
	aws        = []string{"github.com/aws"}
	telemetry  = []string{"go.opentelemetry.io"}
	terminalUI = []string{"charm.land", "github.com/charmbracelet"}
	// domain lists the packages that give the same results on every node: no clock, no input or
	// output, no goroutines. encoding/json is missing, because the texts it accepts change between
	// versions of Go. siphash is the keyed hash for identifiers and the state hash.
	domain = []string{
		"bytes", "cmp", "crypto/md5", "crypto/sha256", "encoding/binary", "encoding/hex",
		"errors", "fmt", "iter", "maps", "math", "math/bits", "slices", "strconv", "strings", "unicode/utf8",
		"github.com/tidwall/btree", "github.com/dchest/siphash",
	}
)

// packageRule is one row of the table of packages.
type packageRule struct {
	path  string
	only  []string // if set, the only packages that may be imported
	never []string
	but   []string // exceptions from never
	users []string // if set, the only packages of this module that import it
}

// packageRules has a row for every package outside test. A row covers only the package that it
// names.
var packageRules = []packageRule{
	{path: "queue", only: append([]string{"~/queue/access", "~/queue/arn", "~/queue/attributes", "~/queue/message",
		"~/queue/deduplication", "~/queue/filter", "~/queue/identifier", "~/queue/limits", "~/queue/logtime", "~/queue/notification",
		"~/queue/outbox", "~/queue/packedmap", "~/queue/lettercase", "~/queue/policy", "~/queue/property", "~/queue/refusal",
		"~/queue/rendition", "~/queue/rules", "~/queue/invariant",
		"~/queue/session", "~/queue/statehash", "~/queue/topic"}, domain...)},
	{path: "queue/access", only: append([]string{"~/queue/limits", "~/queue/logtime", "~/queue/policy", "~/queue/refusal",
		"~/queue/statehash", "encoding/hex"}, domain...)},
	{path: "queue/arn", only: domain},
	{path: "queue/attributes", only: []string{
		"~/queue/message", "~/queue/deduplication", "~/queue/filter", "~/queue/limits", "~/queue/logtime", "~/queue/policy",
		"~/queue/refusal",
		"slices", "strconv", "strings", "unicode/utf8",
	}},
	{path: "queue/message", only: []string{"~/queue/limits", "~/queue/logtime", "~/queue/refusal", "~/queue/statehash",
		"errors", "slices", "strconv", "strings", "unicode/utf8"}},
	{path: "queue/deduplication", only: []string{"~/queue/limits", "~/queue/logtime", "~/queue/statehash", "crypto/sha256",
		"encoding/binary", "encoding/hex", "slices", "github.com/tidwall/btree"}},
	{path: "queue/explain", only: append([]string{"~/queue", "~/queue/attributes", "~/queue/limits", "cmp", "fmt"},
		domain...),
		users: []string{"transport/grpc"}},
	{path: "queue/filter", only: append([]string{"~/queue/jsontext", "~/queue/lettercase"}, domain...)},
	{path: "queue/identifier", only: []string{"~/queue/statehash", "encoding/binary", "encoding/hex", "strconv"}},
	{path: "queue/invariant", only: []string{}},
	{path: "queue/jsontext", only: append([]string{"unicode/utf16"}, domain...),
		users: []string{"queue/policy", "queue/filter", "queue/notification", "transport/auth/iam", "transport/awswire"}},
	{path: "queue/lettercase", only: []string{"strings", "unicode/utf8"},
		users: []string{"queue", "queue/filter", "queue/property", "queue/rules"}},
	{path: "queue/limits", only: []string{}},
	{path: "queue/logtime", only: []string{}},
	{path: "queue/notification", only: []string{
		"~/queue/message", "~/queue/identifier", "~/queue/jsontext", "~/queue/limits", "~/queue/logtime",
		"~/queue/property", "~/queue/rendition", "encoding/base64", "fmt", "strings", "unicode/utf8",
	}},
	{path: "queue/outbox", only: []string{
		"~/queue/access", "~/queue/logtime", "~/queue/statehash", "~/queue/topic", "fmt", "slices", "github.com/tidwall/btree",
	}, users: []string{"queue"}},
	{path: "queue/packedmap", only: []string{"encoding/binary", "math/bits", "slices", "github.com/tidwall/btree"},
		users: []string{"queue"}},
	{path: "queue/policy", only: append([]string{"~/queue/arn", "~/queue/jsontext", "~/queue/limits", "~/queue/logtime"}, domain...)},
	{path: "queue/property", only: append([]string{"~/queue/lettercase", "~/queue/logtime", "math/big"}, domain...)},
	{path: "queue/rendition", only: append([]string{"~/queue/message", "~/queue/property", "encoding/base64"}, domain...)},
	{path: "queue/refusal", only: []string{"unicode/utf8"}},
	{path: "queue/refusal/refusaltest", only: []string{"~/queue/refusal", "testing"}, users: []string{}},
	{path: "queue/rules", only: append([]string{"~/queue/lettercase", "~/queue/logtime", "~/queue/property", "~/queue/statehash",
		"unicode", // for expressions that are not yet in canonical form
	}, domain...)},
	{path: "queue/session", only: []string{"~/queue/logtime", "~/queue/statehash", "github.com/tidwall/btree"}},
	{path: "queue/statehash", only: []string{"~/queue/logtime", "encoding/binary", "math/bits", "github.com/dchest/siphash"}},
	{path: "queue/topic", only: []string{
		"~/queue/access", "~/queue/attributes", "~/queue/message", "~/queue/deduplication", "~/queue/identifier", "~/queue/limits",
		"~/queue/logtime", "~/queue/notification", "~/queue/rules", "~/queue/statehash",
		"fmt", "slices", "github.com/tidwall/btree",
	}, users: []string{"queue", "queue/outbox"}},
	{path: "fsm", only: append([]string{
		"~/queue", "~/fsm/codec", "~/fsm/format", "~/fsm/snapshot", "io", "runtime/debug", "sync", "sync/atomic",
		"github.com/cespare/xxhash/v2", "github.com/hashicorp/raft",
	}, domain...)},
	{path: "fsm/codec", only: append([]string{
		"~/queue", "~/queue/access", "~/queue/attributes", "~/queue/policy", "~/fsm/format", "~/fsm/wire", "reflect",
		"google.golang.org/protobuf/encoding/protowire",
		"unsafe", // texts are parts of the entry, which was a copy of each message
	}, domain...), users: []string{
		"fsm", "cluster", "cluster/clustertest", "cluster/consensus", "cluster/forward", "cluster/leader", "cluster/membership",
		"cluster/offline", "cluster/route",
		"cmd/seriatim/server", "test/oracle/logcheck",
	}},
	{path: "fsm/format", only: []string{"errors", "hash/crc32"}, users: []string{
		"fsm", "fsm/codec", "fsm/snapshot", "fsm/wire", "cluster", "cluster/audit", "cluster/clustertest", "cluster/consensus",
		"cluster/leader",
	}},
	{path: "fsm/fsmpb", users: []string{}},
	{path: "fsm/fsmtest", only: []string{std, "~/queue", "~/queue/message", "~/queue/refusal", "github.com/google/go-cmp/cmp",
		"pgregory.net/rapid"}, users: []string{}},
	{path: "fsm/snapshot", only: append([]string{
		"~/queue", "~/queue/access", "~/queue/message", "~/queue/limits", "~/queue/notification", "~/fsm/format", "~/fsm/wire", "io",
	}, domain...), users: []string{"fsm", "cluster", "cluster/audit", "cluster/clustertest", "cluster/leader", "cluster/offline",
		"cluster/recovery"}},
	{path: "fsm/wire", only: append([]string{
		"~/queue", "~/queue/access", "~/queue/attributes", "~/queue/message", "~/queue/deduplication", "~/queue/filter",
		"~/queue/identifier", "~/queue/logtime", "~/queue/notification", "~/queue/policy", "~/queue/refusal", "~/queue/rules",
		"~/queue/session",
		"~/fsm/format", "google.golang.org/protobuf/encoding/protowire",
		"unsafe", // texts are parts of the entry, which was a copy of each message
	}, domain...), users: []string{"fsm/codec", "fsm/snapshot"}},
	{path: "cluster", never: slices.Concat([]string{"~/transport", "net/http"}, aws)},
	{path: "cluster/audit", only: []string{
		std, "~/queue", "~/fsm", "~/cluster/consensus", "~/cluster/environment", "~/cluster/leader", "~/cluster/peerpb",
		"~/cluster/storage", "~/cluster/wakeup",
	}, users: []string{"cluster"}},
	{path: "cluster/consensus", only: []string{
		std, "~/fsm", "~/cluster/consensus/wire", "~/cluster/environment", "~/cluster/fault", "~/cluster/histogram", "~/cluster/peernet",
		"~/cluster/peernet/frame", "~/cluster/storage", "~/cluster/wakeup",
		"github.com/hashicorp/raft", "github.com/hashicorp/go-hclog",
	}, users: []string{"cluster", "cluster/audit", "cluster/membership", "cluster/offline", "cluster/recovery", "cluster/route"}},
	{path: "cluster/consensus/wire", only: []string{std, "~/cluster/peernet/frame", "github.com/hashicorp/raft"},
		users: []string{"cluster/consensus"}},
	{path: "cluster/discovery", only: []string{std, "~/cluster/environment", "~/cluster/hostlimit", "~/cluster/wakeup",
		"github.com/hashicorp/memberlist"}},
	{path: "cluster/sealing", only: []string{std, "~/cluster/fault", "~/cluster/storage", "~/cluster/storage/encryption",
		"~/cluster/wakeup", "~/queue", "~/queue/access", "~/queue/limits", "~/queue/refusal"},
		users: []string{"cluster", "cluster/membership"}},
	{path: "cluster/membership", only: []string{
		std, "~/queue", "~/fsm", "~/cluster/consensus", "~/cluster/discovery", "~/cluster/environment", "~/cluster/fault",
		"~/cluster/health", "~/cluster/holders",
		"~/cluster/leader", "~/cluster/peernet", "~/cluster/sealing", "~/cluster/storage", "~/cluster/wakeup",
	}, users: []string{"cluster"}},
	{path: "cluster/recovery", only: []string{
		std, "~/queue", "~/fsm", "~/cluster/consensus", "~/cluster/fault", "~/cluster/forward", "~/cluster/leader", "~/cluster/peernet",
		"~/cluster/storage", "~/cluster/wakeup",
	}, users: []string{"cluster"}},
	{path: "cluster/route", only: []string{
		std, "~/queue", "~/fsm", "~/cluster/consensus", "~/cluster/fault", "~/cluster/forward", "~/cluster/holders", "~/cluster/leader",
		"~/cluster/rendezvous", "~/cluster/storage/bodies",
	}, users: []string{"cluster"}},
	{path: "cluster/scrub", only: []string{std, "~/cluster/environment", "~/cluster/peernet", "~/cluster/storage/bodies",
		"~/cluster/wakeup", "~/queue", "~/queue/message"}, users: []string{"cluster"}},
	{path: "cluster/election", only: []string{std, "~/cluster/environment", "~/cluster/peernet", "~/cluster/wakeup"},
		users: []string{"cluster"}},
	{path: "cluster/environment", only: []string{std, "golang.org/x/sys/unix"}},
	{path: "cluster/forward", only: []string{
		std, "~/queue", "~/fsm/codec", "~/cluster/fault", "~/cluster/leader", "~/cluster/peernet/frame", "~/cluster/peerpb",
		"~/cluster/wakeup",
		"google.golang.org/protobuf/proto",
	}, users: []string{"cluster", "cluster/recovery", "cluster/route"}},
	{path: "cluster/leader", only: []string{std, "~/queue", "~/fsm", "~/cluster/environment", "~/cluster/fault", "~/cluster/histogram",
		"~/cluster/rendezvous", "~/cluster/wakeup"},
		users: []string{"cluster", "cluster/audit", "cluster/forward", "cluster/membership", "cluster/recovery", "cluster/route"}},
	{path: "cluster/clustertest", only: []string{std, "~/queue", "~/fsm", "~/cluster/fault", "go.uber.org/goleak"},
		users: []string{"cluster/peernet/peernettest"}},
	{path: "cluster/clustertest/freeport", only: []string{std}, users: []string{"test/kit/harness"}},
	{path: "cluster/fault", only: []string{"errors"}},
	{path: "cluster/histogram", only: []string{std}},
	{path: "cluster/rendezvous", only: []string{std}, users: []string{"cluster/leader", "cluster/route", "transport/http1"}},
	{path: "cluster/wakeup", only: []string{std}},
	{path: "cluster/offline", only: []string{
		std, "~/queue", "~/fsm", "~/cluster/consensus", "~/cluster/environment", "~/cluster/fault", "~/cluster/storage",
	}, never: []string{"net"}, users: []string{"cmd/seriatim/offline"}},
	{path: "cluster/storage", never: []string{"~/queue", "~/cluster/peerpb", "net"}},
	{path: "cluster/storage/bodies", only: []string{
		std, "~/fsm", "~/queue/message", "~/cluster/fault", "~/cluster/storage", "~/cluster/wakeup", "golang.org/x/sys/unix",
	}, never: []string{"net", "~/fsm/snapshot"},
		users: []string{"cluster", "cluster/consensus", "cluster/offline", "cluster/recovery", "cluster/route", "cluster/scrub"}},
	{path: "cluster/storage/encryption", only: []string{std}},
	{path: "cluster/health", only: []string{std},
		users: []string{"cluster", "cluster/health/state", "cluster/membership", "cmd/seriatim/client", "cmd/seriatim/client/diagnose",
			"cmd/seriatim/server"}},
	{path: "cluster/health/state", only: []string{std, "~/cluster/health", "~/queue", "~/queue/access", "~/queue/limits"},
		users: []string{"cluster/membership"}},
	{path: "cluster/holders", only: []string{std, "~/queue"},
		users: []string{"cluster", "cluster/membership", "cluster/route", "transport", "transport/grpc", "transport/ops",
			"transport/service", "transport/servicebus"}},
	{path: "cluster/history", only: []string{std}, users: []string{"cluster"}},
	{path: "cluster/hostlimit", only: []string{std},
		users: []string{"cluster/discovery", "cluster/peernet", "transport/http2", "transport/limits", "transport/unverified"}},
	{path: "cluster/peernet", only: []string{
		std, "~/cluster/environment", "~/cluster/hostlimit", "~/cluster/nodecert", "~/cluster/peernet/frame", "~/cluster/storage",
		"~/cluster/wakeup",
	}},
	{path: "cluster/peernet/frame", only: []string{std}},
	{path: "cluster/nodecert", only: []string{std},
		users: []string{"cluster/peernet", "cmd/seriatim/certificate", "cmd/seriatim/server", "cmd/seriatim/server/files"}},
	{path: "cluster/peernet/peernettest", only: []string{std, "~/cluster/clustertest", "~/cluster/environment", "~/cluster/peernet"},
		users: []string{}},
	{path: "cluster/peerpb", users: []string{"cluster", "cluster/audit", "cluster/forward"}},
	transport(""),
	{path: "transport/budget", only: []string{std}},
	{path: "transport/unverified", only: []string{std, "~/cluster/hostlimit", "~/transport/connections"}},
	{path: "transport/connections", only: []string{std}, never: []string{"net/http"}},
	{path: "transport/limits", only: []string{
		std, "~/cluster/hostlimit", "~/transport/connections", "~/transport/unverified",
	}, never: []string{"net/http"}},
	{path: "transport/amqp", only: []string{std, "~/transport/amqp/wire", "~/transport/budget", "~/transport/http1",
		"~/transport/limits", "~/transport/unverified"}, never: []string{"net/http"}},
	{path: "transport/amqp/amqptest", only: []string{std, "~/transport/amqp/wire"}, users: []string{"test/cluster/failover"}},
	{path: "transport/amqp/wire", only: []string{std}, never: []string{"net", "net/http", "time"}},
	transport("/service", "net/http", "~/transport/awswire", "~/transport/http1", "~/transport/grpc"),
	{path: "transport/http1", only: []string{std, "~/cluster/rendezvous", "~/transport/budget", "~/transport/connections",
		"~/transport/limits", "~/transport/unverified"}},
	{path: "transport/http2", only: []string{
		std, "~/cluster/hostlimit", "~/transport/budget", "~/transport/connections", "~/transport/http1", "~/transport/limits",
		"~/transport/unverified",
		"golang.org/x/net/http/httpguts", "golang.org/x/net/http2", "golang.org/x/net/http2/hpack",
	}, users: []string{"transport"}},
	transport("/aws", append([]string{"~/transport/sqs", "~/transport/sns", "~/transport/grpc", "~/transport/console", "~/transport/ops"},
		aws...)...),
	{path: "transport/awswire", only: []string{std, "~/queue/jsontext"}},
	transport("/auth", append([]string{"~/cluster", "~/transport/sqs", "~/transport/sns"}, aws...)...),
	{path: "transport/auth/gate", only: []string{std, "~/queue/access", "~/transport/auth", "~/transport/auth/iam",
		"~/transport/auth/sas", "~/transport/auth/sigv4", "~/transport/unverified"}, users: []string{"cmd/seriatim/server"}},
	{path: "transport/auth/iam", only: []string{std, "~/queue/access", "~/queue/jsontext"}},
	{path: "transport/auth/rate", only: []string{std, "~/queue/access"}},
	{path: "transport/auth/sas", only: []string{std, "~/transport/auth"}},
	{path: "transport/auth/sigv4", only: []string{std, "~/transport/auth"}},
	transport("/sqs", append([]string{"~/transport/sns", "~/transport/grpc", "~/transport/console"}, aws...)...),
	transport("/sns", append([]string{"~/transport/sqs", "~/transport/grpc", "~/transport/console"}, aws...)...),
	transport("/grpc", "~/transport/sqs", "~/transport/sns", "~/transport/console"),
	{path: "transport/grpc/seriatimpb", users: []string{
		"transport/grpc", "transport/grpc/client", "transport/grpc/ruletext", "transport/console", "cmd/seriatim/bench", "test/faults",
	}},
	{path: "transport/grpc/ruletext", only: []string{std, "~/queue/property", "~/transport/grpc/seriatimpb"}},
	{path: "transport/grpc/client",
		never: slices.Concat([]string{"~/queue", "~/fsm", "~/cluster", "~/cmd", "~/transport/aws", "~/transport/sqs", "~/transport/sns"},
			aws)},
	transport("/servicebus", append([]string{"~/transport/sqs", "~/transport/sns", "~/transport/grpc", "~/transport/console",
		"~/transport/ops", "~/transport/http1"}, aws...)...),
	transport("/servicebus/atom", "~/transport/sqs", "~/transport/sns", "~/transport/grpc", "~/transport/console", "~/transport/ops"),
	{path: "transport/servicebus/atom/document", only: []string{std, "~/queue/property", "~/queue/rules",
		"~/transport/servicebus/description"}, users: []string{"transport/servicebus/atom", "transport/servicebus/atom/client"}},
	{path: "transport/servicebus/atom/client", only: []string{std, "~/queue/rules", "~/transport/auth/sas",
		"~/transport/servicebus/atom/document", "~/transport/servicebus/description"}},
	{path: "transport/servicebus/emulator", only: []string{std, "~/queue/property", "~/queue/rules", "~/transport/servicebus/description",
		"~/transport/servicebus/entity"}},
	{path: "transport/servicebus/description", only: []string{"~/queue/attributes", "~/queue/deduplication", "~/queue/policy",
		"~/transport/servicebus/entity", "~/queue/rules", "errors", "math", "net/url", "slices", "strconv", "strings"}},
	{path: "transport/servicebus/entity", only: []string{"strings"}},
	{path: "transport/servicebus/entity/lookup", only: []string{"strings", "~/queue", "~/queue/access", "~/queue/limits",
		"~/transport/servicebus/entity"}},
	{path: "transport/push", only: []string{std}},
	transport("/tracing", "~/cluster", "~/transport/aws", "~/transport/sqs", "~/transport/sns", "~/transport/grpc", "~/transport/ops"),
	{path: "transport/tracing/tracingtest",
		only: []string{std, "go.opentelemetry.io/proto/otlp/collector/trace/v1", "go.opentelemetry.io/proto/otlp/common/v1",
			"go.opentelemetry.io/proto/otlp/trace/v1", "google.golang.org/protobuf/proto"}, users: []string{}},
	transport("/console", "~/transport/sqs", "~/transport/sns"),
	{path: "transport/ops/exposition", only: []string{std}, users: []string{"transport/ops"}},
	{path: "transport/ops/document", only: []string{"~/cluster"}},
	{path: "transport/ops/records", only: []string{std}, never: []string{"net/http"}},
	transport("/ops", "~/transport/sqs", "~/transport/sns", "~/transport/console"),
	{path: "cmd/seriatim", only: []string{std, "~/cmd/seriatim", "github.com/spf13/cobra",
		"github.com/spf13/cobra/doc", "golang.org/x/crypto/x509roots/fallback"}},
	{path: "cmd/seriatim/exit", only: []string{std}},
	{path: "cmd/seriatim/atomicfile", only: []string{std}},
	{path: "cmd/seriatim/owntoken", only: []string{std, "~/cmd/seriatim/atomicfile"},
		users: []string{"cmd/seriatim/client", "cmd/seriatim/server"}},
	{path: "cmd/seriatim/arguments", only: []string{std, "~/cmd/seriatim/exit", "github.com/spf13/cobra", "github.com/spf13/pflag"}},
	{path: "cmd/seriatim/plural", only: []string{"fmt"}},
	{path: "cmd/seriatim/certificate", only: []string{
		std, "~/cluster/nodecert", "~/cmd/seriatim/arguments", "~/cmd/seriatim/atomicfile", "~/cmd/seriatim/exit", "~/transport/auth",
		"github.com/spf13/cobra",
	}},
	{path: "cmd/seriatim/server", never: terminalUI},
	{path: "cmd/seriatim/server/files", only: []string{
		std, "~/cluster", "~/cluster/nodecert", "~/cmd/seriatim/atomicfile", "~/queue", "~/transport/auth", "~/transport/ops",
	}, users: []string{"cmd/seriatim/server"}},
	{path: "cmd/seriatim/offline", never: []string{"~/fsm/wire", "~/transport", "net"}},
	{path: "cmd/seriatim/client", never: []string{"~/queue", "~/cluster", "~/fsm", "~/transport", "google.golang.org/grpc"}, but: []string{
		"~/cluster", "~/cluster/health", "~/transport/ops/document", "~/transport/grpc/client", "~/transport/grpc/ruletext",
		"~/queue/attributes", "~/queue/filter", "~/transport/aws", "~/transport/sqs", "~/transport/sns",
		// for completion: their tables list attributes and actions; the filter tests messages
	}},
	{path: "cmd/seriatim/client/output", only: []string{std, "gopkg.in/yaml.v3"},
		users: []string{"cmd/seriatim/client", "cmd/seriatim/client/progress", "cmd/seriatim/client/top", "cmd/seriatim/offline"}},
	{path: "cmd/seriatim/client/contexts", only: []string{std, "~/cmd/seriatim/atomicfile", "gopkg.in/ini.v1", "gopkg.in/yaml.v3"},
		users: []string{"cmd/seriatim/client"}},
	{path: "docs/reference", only: []string{std}, users: []string{"cmd/seriatim/client"}},
	{path: "cmd/seriatim/client/native", only: []string{
		std, "~/cmd/seriatim/exit", "~/transport/grpc/client", "google.golang.org/grpc",
		"google.golang.org/grpc/backoff", "google.golang.org/grpc/codes", "google.golang.org/grpc/keepalive",
		"google.golang.org/grpc/metadata", "google.golang.org/grpc/status",
	}, users: []string{"cmd/seriatim/client", "cmd/seriatim/client/definitions", "cmd/seriatim/client/migrate",
		"cmd/seriatim/client/top", "cmd/seriatim/client/transfer"}},
	{path: "cmd/seriatim/client/progress", only: []string{
		std, "~/cmd/seriatim/client/output", "~/cmd/seriatim/exit", "github.com/charmbracelet/x/term",
	}, users: []string{"cmd/seriatim/client"}},
	{path: "cmd/seriatim/client/top", only: []string{
		std, "~/cluster", "~/cmd/seriatim/arguments", "~/cmd/seriatim/client/native", "~/cmd/seriatim/client/output", "~/cmd/seriatim/exit",
		"~/cmd/seriatim/plural", "~/transport/grpc/client", "~/transport/ops/document", "github.com/spf13/cobra",
		"charm.land/bubbletea/v2", "github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/term",
	}, users: []string{"cmd/seriatim/client"}},
	{path: "cmd/seriatim/client/transfer", only: []string{
		std, "~/cmd/seriatim/atomicfile", "~/cmd/seriatim/client/native", "~/cmd/seriatim/exit", "~/transport/grpc/client",
		"google.golang.org/grpc/codes",
	}, users: []string{"cmd/seriatim/client", "cmd/seriatim/client/migrate"}},
	{path: "cmd/seriatim/client/definitions", only: []string{
		std, "~/cmd/seriatim/client/native", "~/cmd/seriatim/exit", "~/queue/attributes", "~/transport/grpc/client",
		"~/transport/grpc/ruletext", "~/transport/ops/document", "golang.org/x/sync/errgroup", "gopkg.in/yaml.v3",
	}, users: []string{"cmd/seriatim/client", "cmd/seriatim/client/migrate"}},
	{path: "cmd/seriatim/client/migrate", only: []string{
		std, "~/cmd/seriatim/client/definitions", "~/cmd/seriatim/client/native", "~/cmd/seriatim/client/transfer", "~/cmd/seriatim/exit",
		"~/queue/attributes", "~/queue/property", "~/queue/rules", "~/transport/auth/sigv4", "~/transport/grpc/client",
		"~/transport/grpc/ruletext", "~/transport/servicebus/atom/client", "~/transport/servicebus/description",
		"~/transport/servicebus/emulator", "~/transport/servicebus/entity",
		"golang.org/x/sync/errgroup",
	}, users: []string{"cmd/seriatim/client"}},
	{path: "cmd/seriatim/client/diagnose", only: []string{std, "~/cluster/health", "~/cmd/seriatim/plural"},
		users: []string{"cmd/seriatim/client"}},
	{path: "cmd/seriatim/bench", only: []string{
		std, "~/cmd/seriatim/exit", "~/cmd/seriatim/plural", "~/transport/auth/sigv4", "~/transport/grpc/client",
		"~/transport/grpc/seriatimpb",
		"google.golang.org/grpc/codes", "google.golang.org/grpc/status",
	}, users: []string{"cmd/seriatim/client"}},
}

// libraryUsers are the packages that may import a library. Packages below test need no permission.
var libraryUsers = []struct{ library, users []string }{
	{raft, []string{"cluster/consensus", "cluster/consensus/wire", "cluster/storage", "fsm"}},
	{memberlist, []string{"cluster/discovery"}},
	{telemetry, []string{"transport/tracing", "transport/tracing/tracingtest"}},
}

// transport returns the rule for a package of the transport layer, which must not import the state
// machine.
func transport(under string, never ...string) packageRule {
	return packageRule{
		path:  "transport" + under,
		never: append(never, "~/fsm"),
	}
}

// layers lists the layers from low to high: a package imports only its own layer and lower ones.
var layers = []string{"queue", "fsm", "cluster", "transport", "cmd", "test"}

func layer(folder string) int {
	top, _, _ := strings.Cut(folder, "/")
	return slices.Index(layers, top)
}

// covers reports whether a pattern includes an imported path.
func covers(pattern, imported string) bool {
	if pattern == std {
		first, _, _ := strings.Cut(imported, "/")
		return !strings.Contains(first, ".")
	}
	if rest, ok := strings.CutPrefix(pattern, own); ok {
		pattern = modulePath + "/" + rest
	}
	return imported == pattern || strings.HasPrefix(imported, pattern+"/")
}

func coversAny(patterns []string, imported string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, imported) })
}

// listed reports whether a list of permitted imports includes a path. A package of another module,
// or a single one of the standard library, does not include the packages below it: math does not
// permit math/rand.
func listed(permitted []string, imported string) bool {
	return slices.ContainsFunc(permitted, func(p string) bool {
		return p == imported || (p == std || strings.HasPrefix(p, own)) && covers(p, imported)
	})
}

// importProblems checks the imports of one package without its tests.
func importProblems(folder string, imported []string) []string {
	var problems []string
	refuse := func(path, why string) {
		problems = append(problems, fmt.Sprintf("%s imports %s: %s", folder, path, why))
	}
	i := slices.IndexFunc(packageRules, func(r packageRule) bool { return r.path == folder })
	if i < 0 && layer(folder) != layer("test") {
		return []string{folder + " has no row in packageRules: say there what it must never import"}
	}
	for _, path := range imported {
		for _, l := range libraryUsers {
			if layer(folder) != layer("test") && coversAny(l.library, path) && !slices.Contains(l.users, folder) {
				refuse(path, "only "+strings.Join(l.users, ", ")+" may")
			}
		}
		if inside, ok := strings.CutPrefix(path, modulePath+"/"); ok {
			if layer(inside) > layer(folder) {
				refuse(path, "dependencies point from cmd over transport, cluster and fsm to queue")
			}
			u := slices.IndexFunc(packageRules, func(r packageRule) bool { return r.path == inside })
			if u >= 0 && packageRules[u].users != nil && !slices.Contains(packageRules[u].users, folder) {
				refuse(path, "only "+strings.Join(packageRules[u].users, ", ")+" may")
			}
		}
		if i < 0 {
			continue
		}
		rule := packageRules[i]
		if rule.only != nil && !listed(rule.only, path) {
			refuse(path, "it is not on the list of what this package may import")
		}
		if coversAny(rule.never, path) &&
			!slices.ContainsFunc(rule.but, func(p string) bool { return path == modulePath+"/"+strings.TrimPrefix(p, own) }) {
			refuse(path, "this package must never")
		}
	}
	return problems
}

// nested reports whether a folder belongs to a nested module, whose packages cannot be imported
// here.
func nested(folder string) bool {
	return folder == "test/tools" || strings.HasPrefix(folder, "test/tools/")
}

func TestImports(t *testing.T) {
	imported := map[string]map[string]bool{}
	for _, s := range tree(t) {
		folder := s.folder()
		if nested(folder) {
			continue
		}
		if s.isTest() {
			// Tests may import more, but suites are imported only by suites.
			for _, path := range s.imports() {
				if covers("~/test", path) && layer(folder) != layer("test") {
					t.Errorf("%s imports %s: nothing outside test may", s.path, path)
				}
			}
			continue
		}
		if imported[folder] == nil {
			imported[folder] = map[string]bool{}
		}
		for _, path := range s.imports() {
			imported[folder][path] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(imported)) {
		report(t, importProblems(folder, slices.Sorted(maps.Keys(imported[folder]))))
	}
}

func TestImportRuleFindsViolations(t *testing.T) {
	cases := []struct {
		name    string
		folder  string
		path    string
		problem string
	}{
		{"allowed", "queue", "slices", ""},
		{"a clock in the domain", "queue", "time", "not on the list"},
		{"a list is of packages, not of trees", "queue", "math/rand", "not on the list"},
		{"filter knows no queue", "queue/filter", modulePath + "/queue", "not on the list"},
		{"a notification knows no queue", "queue/notification", modulePath + "/queue", "not on the list"},
		{"JSON is for policies and topics", "fsm", modulePath + "/queue/jsontext",
			"only queue/policy, queue/filter, queue/notification, transport/auth/iam, transport/awswire may"},
		{"files in the state machine", "fsm", "os/exec", "not on the list"},
		{"the log knows no snapshots", "fsm/codec", modulePath + "/fsm/snapshot", "not on the list"},
		{"snapshots know no log", "fsm/snapshot", modulePath + "/fsm/codec", "not on the list"},
		{"the consensus library in an encoding", "fsm/codec", "github.com/hashicorp/raft", "only cluster/consensus"},
		{"forwarding knows no state machine", "cluster/forward", modulePath + "/fsm", "not on the list"},
		{"backwards", "fsm", modulePath + "/cluster", "dependencies point"},
		{"generated code of another", "cluster", modulePath + "/fsm/wire", "only fsm/codec, fsm/snapshot may"},
		{"http in the cluster", "cluster", "net/http/httptest", "must never"},
		{"net alone in the cluster", "cluster", "net", ""},
		{"raft beside consensus", "cluster", "github.com/hashicorp/raft", "only cluster/consensus"},
		{"consensus knows no leader", "cluster/consensus", modulePath + "/cluster/discovery", "not on the list"},
		{"raft above the cluster", "transport/ops", "github.com/hashicorp/raft", "only cluster/consensus"},
		{"raft stores above the cluster", "transport", "github.com/hashicorp/raft-boltdb/v2", "only cluster/consensus"},
		{"state machine above the cluster", "transport/sqs", modulePath + "/fsm", "must never"},
		{"one protocol from another", "transport/sqs", modulePath + "/transport/sns", "must never"},
		{"the wire knows no queue", "transport/awswire", modulePath + "/queue", "not on the list"},
		{"SDK in the product", "transport/sqs", "github.com/aws/smithy-go", "must never"},
		{"main reaches past its subpackages", "cmd/seriatim", modulePath + "/cluster", "not on the list"},
		{"main and its subpackages", "cmd/seriatim", modulePath + "/cmd/seriatim/server", ""},
		{"the client reaches into the server", "cmd/seriatim/client", modulePath + "/transport/ops", "must never"},
		{"the client reaches past the Go client", "cmd/seriatim/client", modulePath + "/transport/grpc", "must never"},
		{"the tool builds on the Go client", "cmd/seriatim/client", modulePath + "/transport/grpc/client", ""},
		{"the tool speaks no gRPC beside the Go client", "cmd/seriatim/client", "google.golang.org/grpc", "must never"},
		{"a suite may import anything", "test/rules/model", modulePath + "/queue", ""},
		{"a product package on a suite", "cluster", modulePath + "/test/kit/harness", "dependencies point"},
		{"a package without a row", "cluster/extra", "fmt", "no row"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := importProblems(c.folder, []string{c.path})
			if c.problem == "" {
				wantProblems(t, got)
				return
			}
			if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.problem) {
				t.Errorf("found %q, want %q", got, c.problem)
			}
		})
	}
}

// foreignTypes finds types of the given packages in the API of a package: in signatures, exported
// fields, and methods. It does not look into types of other packages.
func foreignTypes(p *types.Package, patterns []string, others ...types.Type) []string {
	var problems []string
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		seen := map[types.Type]bool{}
		for _, other := range others {
			seen[other] = true
		}
		if path := foreign(o.Type(), patterns, seen); path != "" {
			problems = append(problems, fmt.Sprintf("%s.%s shows a type of %s", p.Path(), name, path))
		}
	}
	return problems
}

// foreign returns the first package among patterns whose types t uses.
func foreign(t types.Type, patterns []string, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	var parts []types.Type
	switch u := t.(type) {
	case *types.Named:
		if p := u.Obj().Pkg(); p != nil {
			if coversAny(patterns, p.Path()) {
				return p.Path()
			}
			if !strings.HasPrefix(p.Path(), modulePath) {
				return "" // types of other modules may use whatever they like
			}
		}
		for m := range u.Methods() {
			if m.Exported() {
				parts = append(parts, m.Type())
			}
		}
		parts = append(parts, u.Underlying())
	case *types.Alias:
		parts = append(parts, types.Unalias(u))
	case *types.Pointer:
		parts = append(parts, u.Elem())
	case *types.Slice:
		parts = append(parts, u.Elem())
	case *types.Array:
		parts = append(parts, u.Elem())
	case *types.Chan:
		parts = append(parts, u.Elem())
	case *types.Map:
		parts = append(parts, u.Key(), u.Elem())
	case *types.Signature:
		for v := range u.Params().Variables() {
			parts = append(parts, v.Type())
		}
		for v := range u.Results().Variables() {
			parts = append(parts, v.Type())
		}
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				parts = append(parts, f.Type())
			}
		}
	case *types.Interface:
		for m := range u.Methods() {
			parts = append(parts, m.Type())
		}
	}
	for _, part := range parts {
		if path := foreign(part, patterns, seen); path != "" {
			return path
		}
	}
	return ""
}

func TestClusterShowsNoRaftType(t *testing.T) {
	checked, libraries := typeCheck(t, "cluster", "cluster/consensus"), slices.Concat(raft, memberlist)
	report(t, foreignTypes(checked["cluster"].types, libraries))
	// The exception is the state machine of a group, which uses the library's entries.
	consensus := checked["cluster/consensus"].types
	i := slices.IndexFunc(consensus.Imports(), func(p *types.Package) bool { return p.Path() == modulePath+"/fsm" })
	machine := consensus.Imports()[i].Scope().Lookup("FSM").Type()
	report(t, foreignTypes(consensus, libraries, machine))
	if len(foreignTypes(consensus, libraries)) == 0 {
		t.Error("the state machine shows no type of the library: it need not be left out")
	}
}

func TestForeignTypesFindsViolations(t *testing.T) {
	p := checkedSnippet(t, `package queue

import "io"

type Hidden struct{ r io.Reader }
type Shown struct{ R []io.Reader }
type hidden struct{ R io.Reader }
func Result() (map[string]io.Reader, error) { return nil, nil }
func (h *Hidden) method(io.Reader) {}
func (h *Shown) Method(int) {}
type Through interface{ M(hidden) }
`)
	wantProblems(t, foreignTypes(p.types, []string{"io"}), "Result", "Shown", "Through")
	wantProblems(t, foreignTypes(p.types, []string{"io"}, p.types.Scope().Lookup("Shown").Type()), "Result", "Through")
}
