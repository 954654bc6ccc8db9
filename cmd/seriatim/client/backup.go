package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// created describes a finished backup; its JSON is a contract.
type created struct {
	File      string  `json:"file"`
	Index     uint64  `json:"index"`
	LogTimeMs int64   `json:"logTimeMs"`
	StateHash string  `json:"stateHash"`
	ClusterID string  `json:"clusterId"`
	Bytes     int64   `json:"bytes"`
	Seconds   float64 `json:"seconds"`
}

func backupCommand(o *options) *cobra.Command {
	return group("backup", "Back up a running cluster, restore into a fresh one",
		"Back up a running cluster, restore into a fresh one.\n\n"+
			"A backup holds the whole state at one moment: queues, messages, deduplication windows, settings. Any node can make it "+
			"while the cluster works.",
		backupCreateCommand(o), backupRestoreCommand(o))
}

func backupCreateCommand(o *options) *cobra.Command {
	var file, report string
	var force bool
	c := &cobra.Command{
		Use: "create --file FILE", Short: "Write a backup of the cluster to a file or a pipe", Args: arguments.None,
		Long: "Write a backup of the cluster to a file, or with --file - to standard output.\n\n" +
			"The backup holds everything acknowledged before the command. A file gets its name only when it is complete and on disk.\n\n" +
			"To send a backup to an object store, pipe it to the store's tool. Set pipefail, so that your shell reports an " +
			"incomplete backup, " +
			"and delete the stored part in that case. The description of the backup then goes to standard error.",
		Example: "  seriatim backup create --file orders.backup\n" +
			"  seriatim backup create --admin 10.0.0.2:9325 --file nightly.backup --force -o json\n" +
			"  set -o pipefail; seriatim backup create --file - | aws s3 cp - s3://backups/orders.backup\n" +
			"  set -o pipefail; seriatim backup create --file - | rclone rcat store:backups/orders.backup",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			if file == "" {
				return exit.New(exit.Usage, errors.New("--file is missing"),
					"name the file to write, --file FILE, or --file - for standard output")
			}
			show, err := p.progress(report)
			if err != nil {
				return err
			}
			var done created
			if file == standardStream {
				done, err = w.pipeBackup(cmd.Context(), cmd.OutOrStdout(), show)
				p.out = p.words // standard output is the backup
			} else {
				done, err = w.saveBackup(cmd.Context(), file, force, show)
			}
			if err != nil {
				return err
			}
			return p.print(done, func() table {
				return table{rows: [][]string{
					{"File", done.File},
					{"Cluster", done.ClusterID},
					{"Index", strconv.FormatUint(done.Index, 10)},
					{"Log time", clockTime(decimal(done.LogTimeMs))},
					{"State hash", done.StateHash},
					{"Bytes", decimal(done.Bytes)},
					{"Seconds", fmt.Sprintf("%.1f", done.Seconds)},
				}}
			})
		}),
	}
	f := c.Flags()
	f.StringVar(&file, "file", "", "file to write; - for standard output")
	f.BoolVar(&force, "force", false, "replace the file if it exists")
	f.StringVar(&report, "progress", progress.Auto, progress.Help)
	complete(c, "progress", progress.Forms...)
	return c
}

// standardStream names standard input or output in place of a file.
const standardStream = "-"

// pipeBackup writes a backup to standard output.
func (w *wire) pipeBackup(ctx context.Context, out io.Writer, show *progress.Bar) (created, error) {
	if output.IsTerminal(out) {
		return created{}, exit.New(exit.Usage, errors.New("standard output is a terminal"), "send the backup to a file or a pipe")
	}
	begun := time.Now()
	done, err := w.download(ctx, out, show)
	done.File, done.Seconds = standardStream, time.Since(begun).Seconds()
	return done, err
}

// saveBackup downloads into a temporary file beside the target, and renames it when it is
// complete and on disk.
func (w *wire) saveBackup(ctx context.Context, file string, force bool, show *progress.Bar) (done created, err error) {
	if _, err := os.Lstat(file); err == nil && !force {
		return done, exit.New(exit.Conflict, fmt.Errorf("%s exists", file), "choose another name, or replace it with --force")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.part")
	if err != nil {
		return done, fmt.Errorf("cannot write %s: %w", file, withoutPath(err))
	}
	defer func() {
		if err != nil {
			_ = errors.Join(part.Close(), os.Remove(part.Name())) // the first error matters
		}
	}()
	begun := time.Now()
	if done, err = w.download(ctx, part, show); err != nil {
		return done, err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return done, fmt.Errorf("cannot write %s: %w", file, withoutPath(err))
	}
	if err := os.Rename(part.Name(), file); err != nil {
		return done, fmt.Errorf("cannot write %s: %w", file, withoutPath(err))
	}
	done.File, done.Seconds = file, time.Since(begun).Seconds()
	return done, syncDirectory(filepath.Dir(file))
}

// unfinished returns the error of a backup that broke off or that you interrupted.
func unfinished(ctx context.Context, err error) error {
	code := exit.Failed
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	return exit.New(code, err, takeAgain)
}

const takeAgain = "take it again; the command removed the file, and the output of a pipe is not a backup"

// withoutPath leaves out the name of the temporary file, which the user does not know.
func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return failed.Err
	}
	return err
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// download copies a backup, and compares its length and checksum with the trailer of the answer.
func (w *wire) download(ctx context.Context, to io.Writer, show *progress.Bar) (created, error) {
	response, err := w.stream(ctx, true, func(base string) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/backup", nil)
	}, w.timeout)
	if err != nil {
		return created{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return created{}, w.refused(response)
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	count, err := io.Copy(io.MultiWriter(to, sum), show.Reading(response.Body, response.ContentLength))
	show.End()
	if err != nil {
		return created{}, unfinished(ctx,
			fmt.Errorf("the backup broke off after %s: %w", plural.Count(count, "byte", "bytes"), withoutPath(err)))
	}
	size, checksum := response.Trailer.Get("X-Seriatim-Backup-Bytes"), response.Trailer.Get("X-Seriatim-Backup-Crc32c")
	if size != decimal(count) || checksum != fmt.Sprintf("%08x", sum.Sum32()) {
		return created{}, exit.New(exit.Failed,
			fmt.Errorf("%s with checksum %08x arrived, the server sent %q with %q", plural.Count(count, "byte", "bytes"), sum.Sum32(),
				size, checksum),
			takeAgain)
	}
	done := created{Bytes: count, StateHash: response.Header.Get("X-Seriatim-State-Hash"),
		ClusterID: response.Header.Get("X-Seriatim-Cluster-Id")}
	var numbers [2]error
	done.Index, numbers[0] = strconv.ParseUint(response.Header.Get("X-Seriatim-Index"), 10, 64)
	done.LogTimeMs, numbers[1] = strconv.ParseInt(response.Header.Get("X-Seriatim-Log-Time"), 10, 64)
	return done, errors.Join(numbers[:]...)
}

// stream sends a request with a large body or answer to one node after another until one answers. first
// bounds the time until the answer begins, zero for no bound; the rest of the exchange has no limit.
func (w *wire) stream(ctx context.Context, repeatable bool, build func(base string) (*http.Request, error),
	first time.Duration) (answered *http.Response, err error) {
	transport := w.http.Transport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.ExpectContinueTimeout, transport.DisableKeepAlives = first, w.timeout, true
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	err = w.inTurn(ctx, repeatable, func(base string, _ bool) (int, bool, error) {
		response, sent, err := w.roundTrip(ctx, client, func() (*http.Request, error) { return build(base) })
		if err == nil && response.StatusCode == http.StatusServiceUnavailable {
			response, err = kept(response)
		}
		if err != nil {
			return 0, sent, err
		}
		answered = response
		return response.StatusCode, sent, nil
	})
	return answered, err
}

// kept reads an answer into memory, so that its connection can end.
func kept(response *http.Response) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	err = errors.Join(err, response.Body.Close())
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, err
}

// refused turns an answer other than 200 into an error.
func (w *wire) refused(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	base := response.Request.URL.Scheme + "://" + response.Request.URL.Host
	if err != nil {
		return unanswered(base, err, false)
	}
	got := answer{status: response.StatusCode, header: response.Header, body: text, from: base}
	e := adminRefusal(got)
	switch got.status {
	case http.StatusConflict:
		return exit.New(exit.Conflict, e, "start new nodes with empty data directories and restore into those")
	case http.StatusUnprocessableEntity:
		return exit.New(exit.Failed, e, "seriatim backup verify FILE shows the damage; take another backup")
	}
	return e
}
