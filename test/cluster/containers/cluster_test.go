package containers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// imageBytesMax bounds the size of an unpacked image. A compressed one has about a third.
const imageBytesMax = 25 << 20

// TestContainers checks that the image is small and does not run as root, that three containers
// form a cluster, and that a lost one returns under another address with all acknowledged messages.
func TestContainers(t *testing.T) {
	e := newEngine(t)
	if reenter(t) {
		return
	}
	e.must("buildah", "bud", "--isolation", "chroot", "--tag", image, "--file", "../../../deploy/container/Dockerfile", *imageFiles)
	e.checkImage()
	e.must("podman", "network", "create", "--subnet", "10.89.77.0/24", "--internal", "--disable-dns", "nodes")
	// As in the compose file.
	e.must("podman", "volume", "create", "secrets")
	e.once([]string{"--network", "none", "--volume", "secrets:/var/lib/seriatim"}, "cert", "bundle", "--dir", "/var/lib/seriatim")
	settings := map[string]string{
		"SERIATIM_BOOTSTRAP_EXPECT": "3", "SERIATIM_JOIN": "10.89.77.11:9327,10.89.77.12:9327,10.89.77.13:9327",
		"SERIATIM_CLIENT_ADDR": ":9324", "SERIATIM_ADMIN_ADDR": ":9325", "SERIATIM_PEER_ADDR": ":9326", "SERIATIM_GOSSIP_ADDR": ":9327",
		"SERIATIM_GOSSIP_KEY_FILE": "/etc/seriatim/gossip/gossip.key", "SERIATIM_PEER_CA": "/etc/seriatim/nodes/ca.crt",
		"SERIATIM_PEER_CERT": "/etc/seriatim/nodes/tls.crt", "SERIATIM_PEER_KEY": "/etc/seriatim/nodes/tls.key",
		"SERIATIM_ADMIN_TOKENS_FILE": "/etc/seriatim/admin/admin-tokens", "SERIATIM_FIRST_KEY_FILE": "/etc/seriatim/first-key",
		"SERIATIM_ADMIN": "127.0.0.1:9325",
	}
	// The tool in the containers signs with the first key.
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		text, err := os.ReadFile(filepath.Join(e.dir, "volumes", "secrets", "_data", "first-key", name))
		harness.Must(t, err)
		settings[name] = string(text)
	}
	for i, name := range []string{"n1", "n2", "n3"} {
		e.start(name, "10.89.77.1"+string(rune('1'+i)), settings)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		e.await(name, "check", "ready")
	}
	status := []string{"cluster", "status", "--admin-token-file", "/etc/seriatim/admin/admin.token"}
	e.await("n1", status...)
	e.await("n1", "queue", "create", "orders.fifo")
	e.await("n2", "msg", "send", "orders.fifo", "first", "--group", "g", "--deduplication-id", "1")
	e.lose("n3")
	e.await("n1", "msg", "send", "orders.fifo", "second", "--group", "g", "--deduplication-id", "2")
	e.start("n3", "10.89.77.23", settings)
	e.await("n3", "check", "ready")
	if out := e.await("n1", status...); !strings.Contains(out, "10.89.77.23:9326") || strings.Contains(out, "10.89.77.13:") {
		t.Errorf("the cluster is\n%s", out)
	}
	if out := e.await("n3", "msg", "receive", "orders.fifo", "--max", "10"); !strings.Contains(out, "first") ||
		!strings.Contains(out, "second") || strings.Index(out, "first") > strings.Index(out, "second") {
		t.Errorf("received was\n%s", out)
	}
}

// checkImage looks at size, user and files.
func (e *engine) checkImage() {
	e.t.Helper()
	var images []struct {
		Size   int64
		Config struct {
			User       string
			Entrypoint []string
		}
	}
	if err := json.Unmarshal([]byte(e.must("podman", "image", "inspect", image)), &images); err != nil || len(images) != 1 {
		e.t.Fatalf("%v: %+v", err, images)
	}
	if c := images[0].Config; c.User != "10001:10001" || len(c.Entrypoint) != 1 {
		e.t.Errorf("it runs %q as %q", c.Entrypoint, c.User)
	}
	packed := filepath.Join(e.dir, "packed")
	e.must("buildah", "push", image, "dir:"+packed)
	files, err := os.ReadDir(packed)
	harness.Must(e.t, err)
	size := int64(0)
	for _, file := range files {
		info, err := file.Info()
		harness.Must(e.t, err)
		size += info.Size()
	}
	e.t.Logf("the image has %.1f MB to pull, %.1f MB unpacked", float64(size)/1e6, float64(images[0].Size)/1e6)
	if size > images[0].Size || images[0].Size > imageBytesMax {
		e.t.Errorf("the image has %d bytes to pull, %d unpacked, which may be %d", size, images[0].Size, imageBytesMax)
	}
}
