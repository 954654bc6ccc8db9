package wire

// Constructors of primitive types (specification 1.6).
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	codeByte       = 0x51
	codeSmallUint  = 0x52
	codeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBoolean    = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	codeUint       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeChar       = 0x73
	codeDecimal32  = 0x74
	codeUlong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeDecimal64  = 0x84
	codeDecimal128 = 0x94
	codeUUID       = 0x98
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeSymbol32   = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)

// Kind is an AMQP type.
type Kind uint8

// The types. Several constructors may encode the same type.
const (
	Invalid Kind = iota
	Null
	Boolean
	Ubyte
	Ushort
	Uint
	Ulong
	Byte
	Short
	Int
	Long
	Float
	Double
	Decimal32
	Decimal64
	Decimal128
	Char
	Timestamp
	UUID
	Binary
	String
	Symbol
	List
	Map
	Array
	Described
)

var kinds = [256]Kind{
	codeDescribed: Described, codeNull: Null,
	codeTrue: Boolean, codeFalse: Boolean, codeBoolean: Boolean,
	codeUbyte: Ubyte, codeUshort: Ushort,
	codeUint: Uint, codeSmallUint: Uint, codeUint0: Uint,
	codeUlong: Ulong, codeSmallUlong: Ulong, codeUlong0: Ulong,
	codeByte: Byte, codeShort: Short, codeInt: Int, codeSmallInt: Int, codeLong: Long, codeSmallLong: Long,
	codeFloat: Float, codeDouble: Double,
	codeDecimal32: Decimal32, codeDecimal64: Decimal64, codeDecimal128: Decimal128,
	codeChar: Char, codeTimestamp: Timestamp, codeUUID: UUID,
	codeBinary8: Binary, codeBinary32: Binary, codeString8: String, codeString32: String,
	codeSymbol8: Symbol, codeSymbol32: Symbol,
	codeList0: List, codeList8: List, codeList32: List, codeMap8: Map, codeMap32: Map,
	codeArray8: Array, codeArray32: Array,
}

// Descriptors of performatives, SASL frames, message sections, delivery states and termini.
const (
	CodeOpen        = 0x10
	CodeBegin       = 0x11
	CodeAttach      = 0x12
	CodeFlow        = 0x13
	CodeTransfer    = 0x14
	CodeDisposition = 0x15
	CodeDetach      = 0x16
	CodeEnd         = 0x17
	CodeClose       = 0x18
	CodeError       = 0x1d

	CodeReceived = 0x23
	CodeAccepted = 0x24
	CodeRejected = 0x25
	CodeReleased = 0x26
	CodeModified = 0x27

	CodeSource = 0x28
	CodeTarget = 0x29

	CodeCoordinator        = 0x30
	CodeDeclare            = 0x31
	CodeDischarge          = 0x32
	CodeDeclared           = 0x33
	CodeTransactionalState = 0x34

	CodeSASLMechanisms = 0x40
	CodeSASLInit       = 0x41
	CodeSASLChallenge  = 0x42
	CodeSASLResponse   = 0x43
	CodeSASLOutcome    = 0x44

	CodeHeader                = 0x70
	CodeDeliveryAnnotations   = 0x71
	CodeMessageAnnotations    = 0x72
	CodeProperties            = 0x73
	CodeApplicationProperties = 0x74
	CodeData                  = 0x75
	CodeSequence              = 0x76
	CodeValue                 = 0x77
	CodeFooter                = 0x78
)

// codes maps the symbolic descriptors, which mean the same as the numeric ones.
var codes = map[string]uint64{
	"amqp:open:list": CodeOpen, "amqp:begin:list": CodeBegin, "amqp:attach:list": CodeAttach, "amqp:flow:list": CodeFlow,
	"amqp:transfer:list": CodeTransfer, "amqp:disposition:list": CodeDisposition, "amqp:detach:list": CodeDetach,
	"amqp:end:list": CodeEnd, "amqp:close:list": CodeClose, "amqp:error:list": CodeError,
	"amqp:received:list": CodeReceived, "amqp:accepted:list": CodeAccepted, "amqp:rejected:list": CodeRejected,
	"amqp:released:list": CodeReleased, "amqp:modified:list": CodeModified,
	"amqp:source:list": CodeSource, "amqp:target:list": CodeTarget, "amqp:coordinator:list": CodeCoordinator,
	"amqp:declare:list": CodeDeclare, "amqp:discharge:list": CodeDischarge, "amqp:declared:list": CodeDeclared,
	"amqp:transactional-state:list": CodeTransactionalState,
	"amqp:sasl-mechanisms:list":     CodeSASLMechanisms, "amqp:sasl-init:list": CodeSASLInit,
	"amqp:sasl-challenge:list": CodeSASLChallenge, "amqp:sasl-response:list": CodeSASLResponse,
	"amqp:sasl-outcome:list": CodeSASLOutcome,
	"amqp:header:list":       CodeHeader, "amqp:delivery-annotations:map": CodeDeliveryAnnotations,
	"amqp:message-annotations:map": CodeMessageAnnotations, "amqp:properties:list": CodeProperties,
	"amqp:application-properties:map": CodeApplicationProperties, "amqp:data:binary": CodeData,
	"amqp:amqp-sequence:list": CodeSequence, "amqp:amqp-value:*": CodeValue, "amqp:footer:map": CodeFooter,
}
