package network

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// The requests below are those of rtnetlink(7), in the machine's byte order. They affect the
// network of the calling thread.

// vethPeer is the attribute of a new pair that describes its other end
// (VETH_INFO_PEER of linux/veth.h).
const vethPeer = 1

// attribute returns a netlink attribute: length, type, and content, padded to a multiple of four
// bytes.
func attribute(kind uint16, content []byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(content)))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = append(out, content...)
	return append(out, make([]byte, -len(out)&3)...)
}

func text(s string) []byte { return append([]byte(s), 0) }

func number(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// linkHead is a struct ifinfomsg.
func linkHead(index int, flags, change uint32) []byte {
	return join([]byte{unix.AF_UNSPEC, 0, 0, 0}, number(uint32(index)), number(flags), number(change))
}

// makePair creates a pair of linked interfaces, one in this network and one in the network of the
// descriptor there.
func makePair(here string, hereMAC net.HardwareAddr, there string, thereMAC net.HardwareAddr, network uintptr) error {
	peer := join(
		linkHead(0, 0, 0),
		attribute(unix.IFLA_IFNAME, text(there)),
		attribute(unix.IFLA_ADDRESS, thereMAC),
		attribute(unix.IFLA_NET_NS_FD, number(uint32(network))),
	)
	err := request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, join(
		linkHead(0, 0, 0),
		attribute(unix.IFLA_IFNAME, text(here)),
		attribute(unix.IFLA_ADDRESS, hereMAC),
		attribute(unix.IFLA_LINKINFO, join(
			attribute(unix.IFLA_INFO_KIND, []byte("veth")),
			attribute(unix.IFLA_INFO_DATA, attribute(vethPeer, peer)),
		)),
	))
	if err != nil {
		return fmt.Errorf("make the link %s: %w", here, err)
	}
	return nil
}

// setUp brings an interface up.
func setUp(name string) error {
	index, err := indexOf(name)
	if err == nil {
		err = request(unix.RTM_NEWLINK, 0, linkHead(index, unix.IFF_UP, unix.IFF_UP))
	}
	if err != nil {
		return fmt.Errorf("set %s up: %w", name, err)
	}
	return nil
}

func removeLink(name string) error {
	index, err := indexOf(name)
	if err == nil {
		err = request(unix.RTM_DELLINK, 0, linkHead(index, 0, 0))
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// addAddress and removeAddress give an interface an IPv4 address with its subnet.
func addAddress(name string, address netip.Prefix) error {
	return changeAddress(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, name, address)
}

func removeAddress(name string, address netip.Prefix) error {
	return changeAddress(unix.RTM_DELADDR, 0, name, address)
}

func changeAddress(kind, flags uint16, name string, address netip.Prefix) error {
	index, err := indexOf(name)
	if err == nil {
		ip := address.Addr().AsSlice()
		// A struct ifaddrmsg: family, length of the prefix, flags, scope, index.
		err = request(kind, flags, join(
			[]byte{unix.AF_INET, byte(address.Bits()), 0, unix.RT_SCOPE_UNIVERSE}, number(uint32(index)),
			attribute(unix.IFA_LOCAL, ip), attribute(unix.IFA_ADDRESS, ip),
		))
	}
	if err != nil {
		return fmt.Errorf("change the address of %s to %s: %w", name, address, err)
	}
	return nil
}

func indexOf(name string) (int, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	return i.Index, nil
}

// request sends one request and waits for the kernel's answer.
func request(kind, flags uint16, body []byte) error {
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	head := number(uint32(unix.SizeofNlMsghdr + len(body)))
	head = binary.NativeEndian.AppendUint16(head, kind)
	head = binary.NativeEndian.AppendUint16(head, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	head = append(head, make([]byte, 8)...) // number of the request, sender
	if err := unix.Sendto(socket, append(head, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, unix.Getpagesize())
	n, _, err := unix.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("netlink answered %d bytes that are no acknowledgement", n)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
