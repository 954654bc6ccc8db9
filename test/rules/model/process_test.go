package model

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// digestsFlag makes TestOtherProcess act as the other process.
var digestsFlag = flag.Bool("digests", false, "only print a digest of each history")

// digestMark begins the lines with which the other process reports its digests.
const digestMark = "digest of history"

// TestOtherProcess runs the same histories in this process and in another one, with another order
// of maps and another number of processors (T5 of faults.md 7.1). Every answer and the last
// snapshot must have the same bytes.
func TestOtherProcess(t *testing.T) {
	seeds, commands := uint64(*seedsFlag), *commandsFlag
	if everyCommandChecked {
		seeds = min(seeds, 3) // checking every command is expensive
	}
	if *digestsFlag {
		for seed := uint64(1); seed <= seeds; seed++ {
			fmt.Println(digestMark, seed, historyDigest(t, seed, commands))
		}
		return
	}
	own := os.Args[0]
	other := exec.CommandContext(t.Context(), own, "-test.run", "^TestOtherProcess$", "-digests",
		"-seeds", fmt.Sprint(seeds), "-commands", fmt.Sprint(commands))
	other.Env = append(os.Environ(), "GOMAXPROCS=7", "GOGC=25")
	var printed bytes.Buffer
	other.Stdout, other.Stderr = &printed, &printed
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	here := make(map[string]string)
	for seed := uint64(1); seed <= seeds; seed++ {
		here[fmt.Sprint(seed)] = historyDigest(t, seed, commands)
	}
	if err := other.Wait(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, printed.Bytes())
	}
	compared := 0
	for lines := bufio.NewScanner(&printed); lines.Scan(); {
		rest, found := strings.CutPrefix(lines.Text(), digestMark+" ")
		if !found {
			continue
		}
		seed, digest, _ := strings.Cut(rest, " ")
		if compared++; here[seed] != digest {
			t.Errorf("seed %s: digest %s here, %s in the other process", seed, here[seed], digest)
		}
	}
	if uint64(compared) != seeds {
		t.Errorf("the other process told %d of %d digests", compared, seeds)
	}
}

// historyDigest runs one history on the plain twin and returns a hash of the answers, of state
// hashes in between, and of the snapshot at the end.
func historyDigest(t *testing.T, seed uint64, commands int) string {
	t.Helper()
	plain := &digestTwin{plainTwin: plainTwin{b: queue.New()}, sum: fnv.New128a()}
	if _, d := generate(newWorld(seed, []twin{plain}), seed, commands); d != nil {
		t.Fatalf("seed %d: %v", seed, d)
	}
	state, err := snapshotBytes(plain.b, snapshot.Position{})
	if err != nil {
		t.Fatal(err)
	}
	plain.sum.Write(state)
	return hex.EncodeToString(plain.sum.Sum(nil))
}

// digestTwin is a plain twin that hashes its answers.
type digestTwin struct {
	plainTwin
	sum    hash.Hash
	answer []byte // encoded; the buffer is reused
}

func (d *digestTwin) apply(step int, at queue.Timestamp, cmd queue.Command) (queue.Result, *queue.Error) {
	result, refusal := d.plainTwin.apply(step, at, cmd)
	encoded, err := codec.AppendResponse(d.answer[:0], codec.Response{Result: result, Err: refusal})
	if err != nil {
		panic(err) // caught and reported with its step
	}
	d.answer = encoded
	d.sum.Write(encoded)
	if step%checkEvery == 0 {
		state := d.b.StateHash()
		d.sum.Write(state[:])
	}
	return result, refusal
}
