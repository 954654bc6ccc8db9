package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// arnsName is the file in the data directory with the account and region in the ARNs of this
// node. The replicated state does not contain them. If they changed, the ARNs in redrive policies
// and in clients would name nothing.
const arnsName = "arns.json"

type arnsRecord struct {
	Account string `json:"account"`
	Region  string `json:"region"`
}

// checkARNs refuses settings that change the ARNs of the queues in an existing data directory.
func checkARNs(cfg Config) error {
	path := filepath.Join(cfg.Node.DataDir, arnsName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var given arnsRecord
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if given == (arnsRecord{cfg.API.Account, cfg.API.Region}) {
		return nil
	}
	return exit.New(exit.Config,
		fmt.Errorf("the queues in %s have ARNs of account %s in %s, not of account %s in %s", cfg.Node.DataDir, given.Account, given.Region,
			cfg.API.Account, cfg.API.Region),
		fmt.Sprintf("start it with --account %s --region %s. To change them for good, delete %s on every node, and set the redrive "+
			"policies of the queues again", given.Account, given.Region, path))
}

// keepARNs records account and region at the first start.
func keepARNs(cfg Config) error {
	path := filepath.Join(cfg.Node.DataDir, arnsName)
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.Marshal(arnsRecord{cfg.API.Account, cfg.API.Region})
	if err != nil {
		return err
	}
	return atomicfile.Replace(path, append(text, '\n'), 0o600)
}
