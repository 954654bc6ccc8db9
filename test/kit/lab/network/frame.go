package network

import (
	"encoding/binary"
	"net/netip"
)

// A frame from the kernel begins with a struct virtio_net_hdr in the machine's byte order. It tells
// what the sender's kernel left to the network card, usually the checksum.
const (
	offloadHead     = 10
	offloadChecksum = 1 // flag: the checksum is still to be completed
	ethernetHead    = 14
	ipHead          = 20
	tcpHead         = 20
	udpHead         = 8
	arpSize         = 28

	etherIPv4 = 0x0800
	etherARP  = 0x0806
	protoTCP  = 6
	protoUDP  = 17

	tcpFIN = 1
	tcpSYN = 2
	tcpRST = 4
	tcpACK = 16
)

// packet is an IPv4 packet in a frame, with the offsets of its parts in the frame. Ports are 0 in a
// fragment or another protocol.
type packet struct {
	frame    []byte // without the virtio header
	segment  int    // where TCP or UDP begins, 0 if neither
	content  int    // where the content of TCP or UDP begins
	protocol byte
	from, to netip.AddrPort
}

// parse reads a frame. It is no IPv4 packet if the result is false.
func parse(frame []byte) (packet, bool) {
	if len(frame) < ethernetHead+ipHead || binary.BigEndian.Uint16(frame[12:]) != etherIPv4 {
		return packet{}, false
	}
	ip := frame[ethernetHead:]
	head, length := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if ip[0]>>4 != 4 || head < ipHead || length < head || length > len(ip) {
		return packet{}, false
	}
	p := packet{frame: frame[:ethernetHead+length], protocol: ip[9]}
	source, _ := netip.AddrFromSlice(ip[12:16])
	target, _ := netip.AddrFromSlice(ip[16:20])
	p.from, p.to = netip.AddrPortFrom(source, 0), netip.AddrPortFrom(target, 0)
	segment := ethernetHead + head
	later := binary.BigEndian.Uint16(ip[6:])&0x1fff != 0 // a fragment other than the first
	body := p.frame[segment:]
	switch {
	case later:
		return p, true
	case p.protocol == protoTCP && len(body) >= tcpHead:
		p.content = segment + int(body[12]>>4)*4
	case p.protocol == protoUDP && len(body) >= udpHead:
		p.content = segment + udpHead
	}
	if p.content < segment+udpHead || p.content > len(p.frame) {
		p.content = 0
		return p, true
	}
	p.segment = segment
	p.from = netip.AddrPortFrom(source, binary.BigEndian.Uint16(body))
	p.to = netip.AddrPortFrom(target, binary.BigEndian.Uint16(body[2:]))
	return p, true
}

func (p packet) flags() byte {
	if p.segment == 0 || p.protocol != protoTCP {
		return 0
	}
	return p.frame[p.segment+13]
}

// text returns the content of a segment or datagram.
func (p packet) text() []byte {
	if p.segment == 0 {
		return nil
	}
	return p.frame[p.content:]
}

// sum returns the sum of the Internet checksum (RFC 1071) before its inversion.
func sum(start uint32, bytes []byte) uint16 {
	for ; len(bytes) >= 2; bytes = bytes[2:] {
		start += uint32(binary.BigEndian.Uint16(bytes))
	}
	if len(bytes) == 1 {
		start += uint32(bytes[0]) << 8
	}
	for start > 0xffff {
		start = start>>16 + start&0xffff
	}
	return uint16(start)
}

// complete computes the checksum that the sender's kernel left to the card.
func complete(offload, frame []byte) {
	if offload[0]&offloadChecksum == 0 {
		return
	}
	start := int(binary.NativeEndian.Uint16(offload[6:]))
	field := start + int(binary.NativeEndian.Uint16(offload[8:]))
	if field+2 > len(frame) {
		return
	}
	binary.BigEndian.PutUint16(frame[field:], ^sum(0, frame[start:]))
	clear(offload)
}

// check computes the checksum of a TCP segment or UDP datagram.
func (p packet) check() {
	field := p.segment + 16
	if p.protocol == protoUDP {
		field = p.segment + 6
	}
	binary.BigEndian.PutUint16(p.frame[field:], 0)
	body := p.frame[p.segment:]
	pseudo := uint32(p.protocol) + uint32(len(body)) + uint32(sum(0, p.frame[ethernetHead+12:ethernetHead+20]))
	binary.BigEndian.PutUint16(p.frame[field:], ^sum(pseudo, body))
}

// spoil changes one byte after the IP header and leaves the checksum as it was.
func (p packet) spoil(offload []byte, place uint64) {
	complete(offload, p.frame)
	from := ethernetHead + ipHead
	if p.segment != 0 {
		from = p.segment
	}
	if span := len(p.frame) - from; span > 0 {
		p.frame[from+int(place%uint64(span))] ^= 1 << (place >> 32 % 8)
	}
}

// garble changes one byte of the content and corrects the checksum. Without content it does
// nothing.
func (p packet) garble(offload []byte, place uint64) bool {
	text := p.text()
	if len(text) == 0 {
		return false
	}
	clear(offload)
	text[place%uint64(len(text))] ^= 1 << (place >> 32 % 8)
	p.check()
	return true
}

// reset returns a frame that resets the connection of a segment: for the segment's receiver, or for
// its sender if the segment is reversed. A virtio header precedes it.
func (p packet) reset(back bool) []byte {
	out := make([]byte, offloadHead+ethernetHead+ipHead+tcpHead)
	frame := out[offloadHead:]
	ip, tcp := frame[ethernetHead:], frame[ethernetHead+ipHead:]
	old := p.frame[p.segment:]
	copy(frame, p.frame[:ethernetHead])
	copy(ip, p.frame[ethernetHead:ethernetHead+ipHead])
	copy(tcp, old[:4])
	copy(tcp[4:8], old[4:8]) // the sequence number that the receiver expects
	if back {
		copy(frame, p.frame[6:12])
		copy(frame[6:], p.frame[:6])
		copy(ip[12:16], p.frame[ethernetHead+16:])
		copy(ip[16:20], p.frame[ethernetHead+12:])
		copy(tcp, old[2:4])
		copy(tcp[2:], old[:2])
		copy(tcp[4:8], old[8:12])
	}
	ip[0] = 4<<4 | ipHead/4
	binary.BigEndian.PutUint16(ip[2:], ipHead+tcpHead)
	binary.BigEndian.PutUint16(ip[6:], 0)
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], ^sum(0, ip[:ipHead]))
	tcp[12] = tcpHead / 4 << 4
	tcp[13] = tcpRST
	packet{frame: frame, segment: ethernetHead + ipHead, protocol: protoTCP}.check()
	return out
}

// asks reports whether a frame is an ARP request, and for which IPv4 address.
func asks(frame []byte) (netip.Addr, bool) {
	if len(frame) < ethernetHead+arpSize || binary.BigEndian.Uint16(frame[12:]) != etherARP {
		return netip.Addr{}, false
	}
	arp := frame[ethernetHead:]
	target, _ := netip.AddrFromSlice(arp[24:28])
	return target, binary.BigEndian.Uint16(arp[6:]) == 1
}

// answer returns the ARP reply of a host, after a virtio header.
func answer(question []byte, mac []byte) []byte {
	out := make([]byte, offloadHead+ethernetHead+arpSize)
	frame := out[offloadHead:]
	copy(frame, question[6:12])
	copy(frame[6:], mac)
	copy(frame[12:], question[12:ethernetHead+6])
	asked, arp := question[ethernetHead:], frame[ethernetHead:]
	arp[7] = 2
	copy(arp[8:], mac)
	copy(arp[14:], asked[24:28])
	copy(arp[18:], asked[8:18])
	return out
}
