// Package containers builds the image of deploy/container and runs three containers of it on
// a private network: they form a cluster, lose a member, and get it back under another
// address.
//
// It needs root, podman and buildah, and runs only when it is asked to, with the build context
// that make image-files makes: make test-containers. Otherwise it is skipped and says so.
// Everything is in mount and network namespaces of its own and ends with the test. It refuses
// to know the product: what the program says is all it sees.
package containers
