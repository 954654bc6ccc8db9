package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Commands returns the subcommands that run nodes. formatMax overrides the highest format of
// commands and snapshots that the server announces; empty: the newest one that it reads.
func Commands(version, formatMax string) []*cobra.Command {
	return []*cobra.Command{serverCommand(version, formatMax), devCommand(version)}
}

func serverCommand(version, formatMax string) *cobra.Command {
	var file string
	var printOnly, supervised bool
	c := &cobra.Command{
		Use: "server", Short: "Run one node of a cluster",
		Long: "Run one node of a cluster.\n\n" +
			"You can also set every flag as an environment variable (--data-dir as SERIATIM_DATA_DIR) and as a key of a YAML\n" +
			"file (data-dir: /srv/seriatim). Precedence: flags, environment, file, defaults.\n" +
			"Unknown keys and unknown SERIATIM_ variables are errors.",
		Example: "  seriatim server --data-dir /srv/seriatim --client-addr 0.0.0.0:9324\n\n" +
			"  seriatim server --node-name n1 --data-dir /srv/seriatim --client-addr 0.0.0.0:9324 \\\n" +
			"    --peer-addr 10.0.0.1:9326 --gossip-addr 10.0.0.1:9327 \\\n" +
			"    --peer-cert certs/n1.crt --peer-key certs/n1.key --peer-ca certs/ca.crt --gossip-key-file certs/gossip.key \\\n" +
			"    --bootstrap-expect 3 --join 10.0.0.1:9327,10.0.0.2:9327,10.0.0.3:9327\n\n" +
			"  seriatim server --config /etc/seriatim/seriatim.yaml --print-config",
		Args: func(cmd *cobra.Command, args []string) error { return configError(arguments.None(cmd, args)) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(cmd, file)
			if err != nil {
				return configError(err)
			}
			if printOnly {
				return exit.Wrap(printConfig(cmd.OutOrStdout(), cfg))
			}
			ctx := cmd.Context()
			if supervised {
				var release context.CancelFunc
				ctx, release = untilEOF(ctx, cmd.InOrStdin())
				defer release()
			}
			log, recent := newLogger(cmd.ErrOrStderr(), cfg.Logging)
			defer ignoreHangups(log)()
			p := program{version: version, formatMax: formatMax, log: log, recent: recent, out: cmd.OutOrStdout(), words: cmd.ErrOrStderr(),
				exit: os.Exit}
			return configError(exit.Wrap(p.run(ctx, cfg, func() {})))
		},
	}
	c.SetFlagErrorFunc(arguments.FlagError(exit.Config))
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&file, "config", os.Getenv(EnvConfig), "YAML file with settings, env "+EnvConfig)
	f.BoolVar(&printOnly, "print-config", false, "print the effective configuration as YAML and end")
	f.BoolVar(&supervised, "supervised", false,
		"stop cleanly when standard input ends, because the process that started this one has ended")
	if err := f.MarkHidden("supervised"); err != nil {
		panic(err) // the flag is defined two lines above
	}
	bindFlags(f, func(string) bool { return true })
	return c
}

// configError changes the exit code of wrong settings. Go ends a panic with the code for wrong
// usage. A supervisor must restart a server after a panic, but not with wrong settings.
func configError(err error) error {
	if coded, ok := errors.AsType[*exit.Error](err); ok && coded.Code == exit.Usage {
		return exit.New(exit.Config, coded.Err, coded.Hint)
	}
	return err
}

// readConfig merges all sources and checks the result.
func readConfig(cmd *cobra.Command, file string) (Config, error) {
	fromFile := layer{source: "no file"}
	if file != "" {
		l, err := fileLayer(file)
		if err != nil {
			return Config{}, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
		}
		fromFile = l
	}
	cfg, err := load(fromFile, os.Environ(), flagsLayer(cmd.Flags()))
	if err != nil {
		return Config{}, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "seriatim server --help lists all settings")
	}
	if cfg.Node.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return Config{}, exit.New(exit.Usage, fmt.Errorf("the host has no name: %w", err), "set --node-name")
		}
		cfg.Node.Name = name
	}
	if err := cfg.validate(); err != nil {
		return Config{}, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "seriatim server --help lists all settings")
	}
	if err := cfg.checkFiles(); err != nil {
		return Config{}, exit.New(exit.Usage, fmt.Errorf("configuration: %w", err), "")
	}
	return cfg, nil
}

// untilEOF ends the context when in ends. The goroutine that reads ends with in or with the
// process.
func untilEOF(ctx context.Context, in io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		if _, err := io.Copy(io.Discard, in); err != nil {
			cancel(fmt.Errorf("standard input: %w", err))
			return
		}
		cancel(errors.New("standard input ended: the supervising process stops"))
	}()
	return ctx, func() { cancel(context.Canceled) }
}
