// Package containers builds the image of deploy/container and runs three containers of it on a
// private network: they form a cluster, lose a member, and get it back under another address.
//
// It needs root, podman and buildah, and the build context of make image-files: run make
// test-containers. Otherwise it is skipped. Its mount and network namespaces end with the test.
package containers
