package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

func sessionCommand(o *options) *cobra.Command {
	return group("session", "List, accept, renew and release sessions, and read and write their states",
		"List, accept, renew and release sessions, and read and write their states.\n\n"+
			"A session is a message group that one receiver has locked: no other receiver gets its messages until the lock ends.\n"+
			"QUEUE is the name or URL of a FIFO queue, SESSION a message group id.",
		sessionListCommand(o), sessionAcceptCommand(o), sessionRenewCommand(o), sessionReleaseCommand(o), sessionStateCommand(o))
}

// sessionInfo is a session with a state in JSON output.
type sessionInfo struct {
	SessionID     string `json:"sessionId"`
	StateBytes    int64  `json:"stateBytes"`
	StateSetAtMs  int64  `json:"stateSetAtMs"`
	LockedUntilMs int64  `json:"lockedUntilMs"` // 0: not locked
}

func sessionListCommand(o *options) *cobra.Command {
	var since time.Duration
	var limit int
	c := &cobra.Command{
		Use: "list QUEUE", Short: "List the sessions that have a state, in the order of their changes", Args: arguments.Exactly("QUEUE"),
		Long: "List the sessions that have a state, in the order of their changes, with the ends of their locks.\n" +
			"To list sessions without a state, too, use seriatim group list QUEUE.",
		Example:           "  seriatim session list orders.fifo\n  seriatim session list orders.fifo --since 1h -o json",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := checkLimit(limit); err != nil {
				return err
			}
			if since < 0 {
				return exit.New(exit.Usage, fmt.Errorf("--since %v is in the future", since),
					"write the time until now, such as 10m or 24h")
			}
			var from time.Time
			if since > 0 {
				from = time.Now().Add(-since)
			}
			list, more := []sessionInfo{}, false
			err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				for s, err := range c.Sessions(ctx, qualifiedOf(args[0]), from) {
					if err != nil {
						return err
					}
					if more = len(list) == limit; more {
						break
					}
					list = append(list, sessionInfo{s.ID, s.StateBytes, millis(s.StateSetAt), millis(s.LockedUntil)})
				}
				return nil
			})
			if err != nil {
				return err
			}
			if more {
				p.say("there are more than %d: use --limit or --since", limit)
			}
			return p.print(map[string]any{"sessions": list, "truncated": more}, func() table {
				t := table{heading: []string{"SESSION", "STATE BYTES", "STATE SET", "LOCKED UNTIL"}}
				for _, s := range list {
					t.add(s.SessionID, decimal(s.StateBytes), untilText(s.StateSetAtMs), untilText(s.LockedUntilMs))
				}
				return t
			})
		}),
	}
	c.Flags().DurationVar(&since, "since", 0, "only states set within this time until now, such as 10m or 24h")
	c.Flags().IntVarP(&limit, "limit", "n", 1000, "most sessions to list")
	return c
}

// lockFlag adds the flag for the length of a lock.
func lockFlag(c *cobra.Command, lock *int32) {
	c.Flags().Int32Var(lock, "lock", api.DefaultLockSeconds, "seconds until the lock ends without a renewal, 1 to 43200")
}

// checkLock refuses a lock of less than a second. In the API, 0 means the default.
func checkLock(seconds int32) error {
	if seconds < 1 {
		return exit.New(exit.Usage, fmt.Errorf("--lock %d is no length of a lock", seconds), "give it seconds, 1 to 43200")
	}
	return nil
}

// printLock prints a lock of the caller.
func printLock(p *printer, s *api.Session) error {
	until := millis(s.LockedUntil())
	return p.print(map[string]any{"sessionId": s.ID(), "token": s.Token(), "lockedUntilMs": until}, func() table {
		return table{heading: []string{"SESSION", "TOKEN", "LOCKED UNTIL"}, rows: [][]string{{s.ID(), s.Token(), untilText(until)}}}
	})
}

func sessionAcceptCommand(o *options) *cobra.Command {
	var lock, wait int32
	c := &cobra.Command{
		Use: "accept QUEUE [SESSION]", Short: "Lock a session, by default the next one that is free and has a message",
		Args: arguments.OptionalLast("QUEUE", "SESSION"),
		Long: "Lock a session, by default the next one that is free and has a message. Until the lock ends, no other receiver gets its\n" +
			"messages or changes its state. Give the printed token to seriatim session state. Only seriatim session renew renews\n" +
			"the lock.",
		Example: "  seriatim session accept orders.fifo customer-9 --lock 600\n" +
			"  seriatim session accept orders.fifo --wait 20 -o json | jq -r .token",
		ValidArgsFunction: o.completeGroups,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := checkLock(lock); err != nil {
				return err
			}
			options := api.SessionOptions{LockSeconds: lock, ManualRenewal: true, WaitSeconds: -1}
			if wait > 0 {
				options.WaitSeconds = wait
			}
			var s *api.Session
			err := n.Do(cmd.Context(), time.Duration(max(wait, 0))*time.Second, func(ctx context.Context, c *api.Client) (err error) {
				if len(args) > 1 {
					s, err = c.Accept(ctx, qualifiedOf(args[0]), args[1], options)
				} else {
					s, err = c.AcceptNext(ctx, qualifiedOf(args[0]), options)
				}
				return err
			})
			if err != nil {
				return err
			}
			return printLock(p, s)
		}),
	}
	lockFlag(c, &lock)
	c.Flags().Int32VarP(&wait, "wait", "w", 0, "seconds to wait for the next session, 0 to 20")
	return c
}

func sessionRenewCommand(o *options) *cobra.Command {
	var lock int32
	c := &cobra.Command{
		Use: "renew QUEUE SESSION TOKEN", Short: "Renew the lock of a session", Args: arguments.Exactly("QUEUE", "SESSION", "TOKEN"),
		Example:           "  seriatim session renew orders.fifo customer-9 0a1b... --lock 600",
		ValidArgsFunction: o.completeGroups,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if err := checkLock(lock); err != nil {
				return err
			}
			s, err := native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (*api.Session, error) {
				s, err := c.Resume(ctx, qualifiedOf(args[0]), args[1], args[2], api.SessionOptions{LockSeconds: lock, ManualRenewal: true})
				if err != nil {
					return nil, err
				}
				return s, s.Renew(ctx)
			})
			if err != nil {
				return err
			}
			return printLock(p, s)
		}),
	}
	lockFlag(c, &lock)
	return c
}

func sessionReleaseCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "release QUEUE SESSION TOKEN", Short: "End the lock of a session that you accepted",
		Args: arguments.Exactly("QUEUE", "SESSION", "TOKEN"),
		Long: "End the lock of a session that you accepted. Messages that you received and did not delete become visible, and their\n" +
			"receives do not count. Without the token, use seriatim group release QUEUE SESSION.",
		Example:           "  seriatim session release orders.fifo customer-9 0a1b...",
		ValidArgsFunction: o.completeGroups,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
				s, err := c.Resume(ctx, qualifiedOf(args[0]), args[1], args[2], api.SessionOptions{ManualRenewal: true})
				if err != nil {
					return err
				}
				return s.Release(ctx)
			})
			if err != nil {
				return err
			}
			return changedSession(p, args[1], "released")
		}),
	}
}

func changedSession(p *printer, id, done string) error {
	return p.done(map[string]any{"sessionId": id, done: true}, "%s %s", done, id)
}

func sessionStateCommand(o *options) *cobra.Command {
	return group("state", "Read, set and clear the state of a session",
		"Read, set and clear the state of a session.\n\n"+
			"Only the holder of a session can read and write its state. Without --token the command locks the session for a moment,\n"+
			"which fails while another receiver holds it.",
		sessionStateGetCommand(o), sessionStateSetCommand(o), sessionStateClearCommand(o))
}

// sessionWork is the work of a command in a session.
type sessionWork struct {
	// before reads the input while no session is locked; nil: there is none.
	before func(cmd *cobra.Command, p *printer, args []string) (input string, err error)
	do     func(ctx context.Context, s *api.Session, p *printer, input string) error
}

// releaseTime bounds the time to release a session at the end of a command.
const releaseTime = 5 * time.Second

func onSession(o *options, c *cobra.Command, work sessionWork) *cobra.Command {
	var token string
	c.Flags().StringVar(&token, "token", "", "token of your lock, from seriatim session accept")
	c.ValidArgsFunction = o.completeGroups
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		var input string
		if work.before != nil {
			var err error
			if input, err = work.before(cmd, p, args); err != nil {
				return err
			}
		}
		return n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error {
			options, accept := api.SessionOptions{ManualRenewal: true}, !cmd.Flags().Changed("token")
			var s *api.Session
			var err error
			if accept {
				s, err = c.Accept(ctx, qualifiedOf(args[0]), args[1], options)
			} else {
				s, err = c.Resume(ctx, qualifiedOf(args[0]), args[1], token, options)
			}
			if err != nil {
				return err
			}
			err = work.do(ctx, s, p, input)
			if accept {
				// Also after an interruption: the lock would keep the session from other receivers.
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
				defer cancel()
				err = errors.Join(err, s.Release(last))
			}
			return err
		})
	})
	return c
}

func sessionStateGetCommand(o *options) *cobra.Command {
	return onSession(o, &cobra.Command{
		Use: "get QUEUE SESSION", Short: "Print the state of a session, byte by byte", Args: arguments.Exactly("QUEUE", "SESSION"),
		Long: "Print the state of a session, byte by byte. In JSON it is in base64, and null if it was never set, or cleared.",
		Example: "  seriatim session state get orders.fifo customer-9\n" +
			"  seriatim session state get orders.fifo customer-9 -o json | jq -r .state | base64 -d",
	}, sessionWork{do: func(ctx context.Context, s *api.Session, p *printer, _ string) error {
		state, err := s.State(ctx)
		if err != nil {
			return err
		}
		if p.format.OfDocument() {
			return p.print(map[string]any{"sessionId": s.ID(), "state": state}, nil)
		}
		if state == nil {
			p.say("the session has no state")
		}
		_, err = p.out.Write(state)
		return err
	}})
}

func sessionStateSetCommand(o *options) *cobra.Command {
	return onSession(o, &cobra.Command{
		Use: "set QUEUE SESSION [STATE]", Short: "Set the state of a session", Args: arguments.OptionalLast("QUEUE", "SESSION", "STATE"),
		Long: "Set the state of a session. Without STATE, or with -, it is read from standard input.",
		Example: "  seriatim session state set orders.fifo customer-9 '{\"step\":2}'\n" +
			"  seriatim session state set orders.fifo customer-9 - < state.bin",
	}, sessionWork{
		before: func(cmd *cobra.Command, _ *printer, args []string) (string, error) {
			return contentOf(cmd, "state", args[1:])
		},
		do: func(ctx context.Context, s *api.Session, p *printer, input string) error {
			if err := s.SetState(ctx, []byte(input)); err != nil {
				return err
			}
			return changedSession(p, s.ID(), "set")
		},
	})
}

func sessionStateClearCommand(o *options) *cobra.Command {
	q := &question{}
	c := onSession(o, &cobra.Command{
		Use: "clear QUEUE SESSION", Short: "Clear the state of a session", Args: arguments.Exactly("QUEUE", "SESSION"),
		Example: "  seriatim session state clear orders.fifo customer-9 --yes",
	}, sessionWork{
		before: func(cmd *cobra.Command, p *printer, args []string) (string, error) {
			return "", q.ask(cmd, p, "The state of the session "+args[1]+" is lost.", "the id of the session whose state is to be cleared",
				args[1])
		},
		do: func(ctx context.Context, s *api.Session, p *printer, _ string) error {
			if err := s.SetState(ctx, nil); err != nil {
				return err
			}
			return changedSession(p, s.ID(), "cleared")
		},
	})
	return q.of(c)
}
