package peernet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Every connection between nodes begins with a handshake, because an address does not identify a
// node: after a restart, a node of another cluster may have it.
//
//	hello:  "SRTM" version kind formats(u8 x 2) group(u32) {length(u16) bytes} x 3: cluster, from, to
//	answer: "SRTM" version verdict formats(u8 x 2) {length(u16) bytes}: reason, empty if welcome
//
// After a welcome, all messages are in frames (package frame).
const (
	handshakeMagic   = "SRTM"
	handshakeVersion = 1
	handshakeHead    = 8
	handshakeTextMax = 1024
)

// Kind is the purpose of a connection, a field of the handshake.
type Kind uint8

// Kinds of connections. Their numbers are part of the protocol between nodes and are never reused.
const (
	KindBootstrap       Kind = 1 // bootstrap of a cluster
	KindMembership      Kind = 2 // joins and changes of the members
	KindFailureDetector Kind = 3 // questions about the leader
	KindConsensus       Kind = 4 // messages of the consensus library
	KindInstall         Kind = 5 // parts of a snapshot
	KindTerms           Kind = 6 // the newest term that a voter knows
	KindForward         Kind = 7 // requests of clients for the leader
	KindRestore         Kind = 8 // a backup for the leader
	KindBodies          Kind = 9 // the body of a message, to repair a damaged one
)

// framed reports whether the protocol of a kind writes frames itself. A checkedStream carries the
// content of the others.
func (k Kind) framed() bool { return k == KindConsensus || k == KindForward || k == KindInstall }

var kindNames = [...]string{
	KindBootstrap: "bootstrap", KindMembership: "membership", KindFailureDetector: "failure detector", KindConsensus: "consensus",
	KindInstall: "install", KindTerms: "terms", KindForward: "forward", KindRestore: "restore", KindBodies: "bodies",
}

// String returns the kind in words, for logs.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Verdicts of the node that was dialed.
const (
	verdictWelcome = 0
	verdictRefused = 1
	verdictFormats = 2 // refused: no common format
	verdictEnded   = 3 // refused: the dialing node's cluster was recovered under another id
)

// hello is the first message of the dialing node.
type hello struct {
	kind    Kind
	group   uint32
	cluster string // empty in a bootstrap
	from    string // node ids
	to      string
	formats FormatRange
}

// FormatRange is a range of format versions of commands and snapshots. lowest is the version in
// force, which never falls; highest is the newest that the program can read. Zero: unknown.
type FormatRange struct{ lowest, highest uint8 }

// NewFormatRange returns a range that includes both ends. Versions above 255 count as 255.
func NewFormatRange(lowest, highest uint32) FormatRange {
	return FormatRange{uint8(min(lowest, math.MaxUint8)), uint8(min(highest, math.MaxUint8))}
}

// overlaps reports whether two nodes have a common format.
func (f FormatRange) overlaps(other FormatRange) bool {
	return f.highest == 0 || other.highest == 0 || f.lowest <= other.highest && other.lowest <= f.highest
}

// outdated reports whether this node's program is too old for the other node.
func (f FormatRange) outdated(other FormatRange) bool {
	return !f.overlaps(other) && f.highest < other.lowest
}

// String returns the range in words.
func (f FormatRange) String() string {
	switch {
	case f.highest == 0:
		return "unknown formats"
	case f.lowest == f.highest:
		return fmt.Sprintf("format version %d", f.highest)
	}
	return fmt.Sprintf("format versions %d to %d", f.lowest, f.highest)
}

// ErrFormats reports a connection between programs without a common format version: one of them
// needs an upgrade.
var ErrFormats = errors.New("the two programs have no format in common")

// ErrRefused reports a dial that the other node refused. The wrapping error has the reason.
var ErrRefused = errors.New("connection refused by the other node")

// ErrEnded reports a dial by a node whose cluster lost a majority and was recovered without it,
// under another id.
var ErrEnded = errors.New("the cluster of this node has ended")

func (h hello) write(w io.Writer) error {
	message := append(make([]byte, 0, 128), handshakeMagic...)
	message = append(message, handshakeVersion, byte(h.kind), h.formats.lowest, h.formats.highest)
	message = binary.BigEndian.AppendUint32(message, h.group)
	for _, text := range []string{h.cluster, h.from, h.to} {
		message = appendText(message, text)
	}
	_, err := w.Write(message)
	return err
}

func readHello(r io.Reader) (hello, error) {
	kind, formats, err := readHandshakeHead(r)
	if err != nil {
		return hello{}, err
	}
	h := hello{kind: Kind(kind), formats: formats}
	if err := binary.Read(r, binary.BigEndian, &h.group); err != nil {
		return hello{}, err
	}
	for _, text := range []*string{&h.cluster, &h.from, &h.to} {
		if *text, err = readText(r); err != nil {
			return hello{}, err
		}
	}
	return h, nil
}

// answerHello sends the verdict to the dialing node. Without an objection, it is a welcome.
func answerHello(w io.Writer, objection error, formats FormatRange) error {
	verdict, reason := byte(verdictWelcome), ""
	if objection != nil {
		verdict, reason = verdictRefused, objection.Error()
	}
	switch {
	case errors.Is(objection, ErrFormats):
		verdict = verdictFormats
	case errors.Is(objection, ErrEnded):
		verdict = verdictEnded
	}
	message := append(make([]byte, 0, 64), handshakeMagic...)
	message = append(message, handshakeVersion, verdict, formats.lowest, formats.highest)
	_, err := w.Write(appendText(message, reason))
	return err
}

// readAnswer reads the verdict. It returns the formats of the other node.
func readAnswer(r io.Reader) (FormatRange, error) {
	verdict, formats, err := readHandshakeHead(r)
	if err != nil {
		return FormatRange{}, err
	}
	reason, err := readText(r)
	if err != nil {
		return FormatRange{}, err
	}
	switch verdict {
	case verdictWelcome:
		return formats, nil
	case verdictFormats:
		return formats, fmt.Errorf("%w: %w: %s", ErrRefused, ErrFormats, reason)
	case verdictEnded:
		return formats, fmt.Errorf("%w: %w: %s", ErrRefused, ErrEnded, reason)
	}
	return formats, fmt.Errorf("%w: %s", ErrRefused, reason)
}

// readHandshakeHead checks magic and version. It returns the next byte, the kind or the verdict,
// and the sender's formats.
func readHandshakeHead(r io.Reader) (byte, FormatRange, error) {
	var head [handshakeHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, FormatRange{}, err
	}
	if string(head[:4]) != handshakeMagic {
		return 0, FormatRange{}, errors.New("the other end is not a node of this program")
	}
	if head[4] != handshakeVersion {
		return 0, FormatRange{}, fmt.Errorf("the other end speaks version %d of the handshake, this node version %d", head[4],
			handshakeVersion)
	}
	return head[5], FormatRange{head[6], head[7]}, nil
}

func appendText(message []byte, text string) []byte {
	text = text[:min(len(text), handshakeTextMax)]
	message = binary.BigEndian.AppendUint16(message, uint16(len(text)))
	return append(message, text...)
}

func readText(r io.Reader) (string, error) {
	var length uint16
	if err := binary.Read(r, binary.BigEndian, &length); err != nil {
		return "", err
	}
	if length > handshakeTextMax {
		return "", fmt.Errorf("a handshake field of %d bytes", length)
	}
	text := make([]byte, length)
	_, err := io.ReadFull(r, text)
	return string(text), err
}
