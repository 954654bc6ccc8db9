package client

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// A backup begins with one of these texts. The command refuses other files early.
const (
	backupMagic    = "seriatim"
	encryptedMagic = "SRTMSEAL"
)

func backupRestoreCommand(o *options) *cobra.Command {
	var report, secretsKey string
	var without bool
	c := &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup into a fresh cluster", Args: arguments.Exactly("FILE"),
		Long: "Restore a backup from a file, or with - from standard input, into a fresh cluster. " +
			"The cluster must have formed with all its nodes and hold no queue and no topic.\n\n" +
			"Messages, order and deduplication windows are as in the backup. The cluster refuses older receipt handles, so " +
			"messages in flight come back when their visibility timeout ends. " +
			"Sequence numbers continue far above those of the backup.\n\n" +
			"The backup contains the secrets of access keys in sealed form. Only members of the cluster at the time of the backup " +
			"can open them. " +
			"If the backup is encrypted, every node with the encryption key file can, too. For other nodes, name the file " +
			"secrets.key from the " +
			"data directory of such a member with --secrets-key. With --without-access-keys this cluster keeps its own access keys.",
		Example: "  seriatim backup verify nightly.backup && seriatim backup restore nightly.backup\n" +
			"  seriatim backup restore nightly.backup --secrets-key n1-secrets.key\n" +
			"  seriatim backup restore nightly.backup --without-access-keys\n" +
			"  aws s3 cp s3://backups/orders.backup - | seriatim backup restore -",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			show, err := p.progress(report)
			if err != nil {
				return err
			}
			if secretsKey != "" && without {
				return exit.New(exit.Usage, errors.New("--secrets-key and --without-access-keys exclude each other"),
					"use the first to restore the access keys of the backup, the second to leave them out")
			}
			secrets, err := readSecretsKey(secretsKey)
			if err != nil {
				return err
			}
			backup, size, err := openBackup(args[0], arguments.Input(cmd))
			if err != nil {
				return err
			}
			defer backup.Close() //nolint:errcheck // it is only read
			done, err := w.restoreBackup(cmd.Context(), backup, size, secrets, without, show)
			if err != nil {
				return err
			}
			return p.print(done, func() table {
				return table{rows: [][]string{
					{"Queues", strconv.FormatUint(done.Queues, 10)},
					{"Messages", strconv.FormatUint(done.Messages, 10)},
					{"Deduplication ids", strconv.FormatUint(done.IDs, 10)},
					{"Index of the backup", strconv.FormatUint(done.BackupIndex, 10)},
					{"Index", strconv.FormatUint(done.Index, 10)},
					{"Log time", clockTime(decimal(done.LogTimeMs))},
					{"State hash of the backup", done.BackupHash},
					{"State hash", done.StateHash},
					{"Epoch", strconv.FormatUint(uint64(done.Epoch), 10)},
				}}
			})
		}),
	}
	c.Flags().StringVar(&report, "progress", progress.Auto, progress.Help)
	c.Flags().StringVar(&secretsKey, "secrets-key", "", "file secrets.key of a node that was a member when the backup was made")
	c.Flags().BoolVar(&without, "without-access-keys", false, "leave the access keys of the backup out")
	complete(c, "progress", progress.Forms...)
	return c
}

// secretsKeyBytesMax bounds the size of a file secrets.key.
const secretsKeyBytesMax = 4 << 10

// readSecretsKey reads a file secrets.key, nothing if no file is named.
func readSecretsKey(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	content, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, exit.New(exit.NotFound, fmt.Errorf("--secrets-key: %w", err), "")
	case err != nil:
		return nil, fmt.Errorf("--secrets-key: %w", err)
	case len(content) == 0 || len(content) > secretsKeyBytesMax:
		return nil, exit.New(exit.Usage, fmt.Errorf("%s is not the file secrets.key of a node", name),
			"it is in the data directory of each node")
	}
	return content, nil
}

// openBackup opens a backup file or standard input. size is -1 if it is unknown.
func openBackup(name string, stdin io.Reader) (backup io.ReadCloser, size int64, err error) {
	size = -1
	file := io.NopCloser(stdin)
	if name != standardStream {
		opened, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, exit.New(exit.NotFound, err, "")
		}
		if err != nil {
			return nil, 0, err
		}
		info, err := opened.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, opened.Close())
		}
		file, size = opened, info.Size()
	}
	buffered := bufio.NewReaderSize(file, 64<<10)
	start, err := buffered.Peek(len(backupMagic))
	if err != nil || string(start) != backupMagic && string(start) != encryptedMagic {
		err := exit.New(exit.Usage, fmt.Errorf("%s is not a backup", name), "seriatim backup create writes one")
		return nil, 0, errors.Join(err, file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{buffered, file}, size, nil
}

// restoreBackup uploads a backup and waits until all of it is restored.
func (w *wire) restoreBackup(ctx context.Context, backup io.Reader, size int64, secretsKey []byte, withoutAccessKeys bool,
	show *progress.Bar) (cluster.Restored, error) {
	response, err := w.stream(ctx, false, func(base string) (*http.Request, error) {
		target := base + "/v1/restore"
		if withoutAccessKeys {
			target += "?without-access-keys=true"
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, io.NopCloser(show.Reading(backup, size)))
		if err != nil {
			return nil, err
		}
		request.ContentLength = size
		request.Header.Set("Content-Type", "application/vnd.seriatim.backup")
		if len(secretsKey) > 0 {
			request.Header.Set("X-Seriatim-Secrets-Key", base64.StdEncoding.EncodeToString(secretsKey))
		}
		// The server can refuse before the client sends the backup.
		request.Header.Set("Expect", "100-continue")
		return request, nil
	}, 0)
	show.End()
	if err != nil {
		return cluster.Restored{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return cluster.Restored{}, w.refused(response)
	}
	var done cluster.Restored
	if err := json.NewDecoder(io.LimitReader(response.Body, answerBytesMax)).Decode(&done); err != nil {
		return cluster.Restored{}, exit.New(exit.Unavailable, fmt.Errorf("unreadable answer: %w", err),
			"seriatim queue list shows whether the restore succeeded")
	}
	return done, nil
}
