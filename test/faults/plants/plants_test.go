package plants

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheEditedProductBuilds compiles the edited product.
func TestTheEditedProductBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the product")
	}
	root := filepath.Join("..", "..", "..")
	overlay, err := Write(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// With the flags of make build, most packages are in the build cache.
	build := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-tags", "hashicorpmetrics grpcnotrace faults", "-o",
		filepath.Join(t.TempDir(), "server"), "./cmd/seriatim")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
