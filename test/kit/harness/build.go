package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// BinaryVariable names the environment variable that holds the path of a
// binary to test, for instance the one that make build left in bin.
const BinaryVariable = "SERIATIM_BINARY"

// Build builds the binary in dir and returns its path. If the environment names a binary, Build
// returns that one.
func Build(ctx context.Context, dir string) (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("resolve %s: %w", BinaryVariable, err)
		}
		if _, err := os.Stat(abs); err != nil {
			return "", fmt.Errorf("%s: %w", BinaryVariable, err)
		}
		return abs, nil
	}
	return build(ctx, filepath.Join(dir, "seriatim"), "")
}

// WithBinary sets binary to the path of a server and runs the tests of a package. A TestMain exits
// with its result.
func WithBinary(binary *string, run func() int) int {
	dir, err := os.MkdirTemp("", "seriatim-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if *binary, err = Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// BuildNext builds a binary that acts as the next version: it claims to read one format version
// more than this one.
func BuildNext(ctx context.Context, dir string, format uint32) (string, error) {
	return build(ctx, filepath.Join(dir, "seriatim-next"), fmt.Sprintf("-X main.version=next -X main.formatMax=%d", format))
}

func build(ctx context.Context, path, linker string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "hashicorpmetrics grpcnotrace", "-ldflags", linker, "-o", path,
		"./cmd/seriatim")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}

// moduleRoot is the nearest folder above the working directory with a go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod above the working directory")
		}
		dir = parent
	}
}
