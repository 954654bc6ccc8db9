package fsmtest

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden bytes that are missing or differ")

// Golden reads a golden file. With -update it writes the file first.
func Golden(tb testing.TB, path string, now []byte) []byte {
	tb.Helper()
	if *update {
		if err := os.WriteFile(path, now, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return want
}

// GoldenFrames reads the frames in a folder of golden commands.
func GoldenFrames(tb testing.TB, folder string) [][]byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.golden"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no golden commands: %v", err)
	}
	var frames [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			_, digits, _ := strings.Cut(line, " ")
			if frame, err := hex.DecodeString(digits); err == nil && len(frame) > 0 {
				frames = append(frames, frame)
			}
		}
	}
	return frames
}
