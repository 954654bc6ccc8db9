"""Stands for the name service and the list of trusted authorities of a machine, for every Python program here:
FRONT is the address of seriatim.example.net, and AUTHORITY the certificate of its authority."""

import os
import socket

import certifi

NAME = "seriatim.example.net"
host, _, port = os.environ["FRONT"].rpartition(":")
resolve = socket.getaddrinfo


def getaddrinfo(name, service, *arguments, **named):
    return resolve(host, int(port), *arguments, **named) if name == NAME else resolve(name, service, *arguments, **named)


socket.getaddrinfo = getaddrinfo
certifi.where = lambda: os.environ["AUTHORITY"]
