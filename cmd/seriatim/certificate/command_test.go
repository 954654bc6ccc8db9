package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster/nodecert"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// run runs a command of the group.
func run(args ...string) (out string, err error) {
	c := Command()
	c.SilenceErrors, c.SilenceUsage = true, true
	var text bytes.Buffer
	c.SetOut(&text)
	c.SetErr(&text)
	c.SetArgs(args)
	err = c.Execute()
	return text.String(), err
}

// If the line for the servers cannot be written, the token file is removed.
func TestNoUnknownToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, tokensName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := run("token", "anna", "--dir", dir); exit.CodeOf(err) != exit.Failed {
		t.Errorf("exit code %d: %v", exit.CodeOf(err), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "anna.token")); err == nil {
		t.Error("anna.token is left, and the next try meets it")
	}
}

// The commands make nothing that has already expired.
func TestNothingIsOverAtOnce(t *testing.T) {
	t.Parallel()
	for _, valid := range []string{"0s", "-24h"} {
		for _, args := range [][]string{{"ca"}, {"issue", "n1"}, {"bundle"}} {
			dir := filepath.Join(t.TempDir(), "certs")
			_, err := run(append(args, "--dir", dir, "--valid", valid)...)
			if _, missing := os.Stat(dir); exit.CodeOf(err) != exit.Usage || missing == nil {
				t.Errorf("%v --valid %s: exit code %d: %v", args, valid, exit.CodeOf(err), err)
			}
		}
	}
	now := time.Now()
	past, err := newAuthority("old", now.Add(-2*day), day)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := past.write(dir, authorityName); err != nil {
		t.Fatal(err)
	}
	if out, err := run("issue", "n1", "--dir", dir); exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("an authority that has ended issued: exit code %d, %v\n%s", exit.CodeOf(err), err, out)
	}
}

// If the last line has no newline, the new token still gets its own line.
func TestTokenBelowAnUnendedLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, tokensName)
	const before = "viewer 00ff anna"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run("token", "bob", "--dir", dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || lines[0] != before || !strings.HasSuffix(lines[1], " bob") ||
		lines[2] != "" {
		t.Errorf("%q", text)
	}
}

// If one file of a pair exists, the command does not write the other one.
func TestNoHalfPairs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		old  string
	}{
		{[]string{"issue", "n1"}, "n1.crt"}, {[]string{"issue", "n1"}, "n1.key"},
		{[]string{"ca"}, "ca.crt"}, {[]string{"ca"}, "ca.key"}, {[]string{"ca"}, gossipKeyName},
	} {
		dir := t.TempDir()
		if test.args[0] == "issue" {
			if _, err := run("ca", "--dir", dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, test.old), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(append(test.args, "--dir", dir)...); exit.CodeOf(err) != exit.Conflict {
			t.Errorf("%v beside %s: exit code %d: %v", test.args, test.old, exit.CodeOf(err), err)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("%v beside %s left %v, %v", test.args, test.old, after, err)
		}
	}
}

// A failure of the disk is not a wrong flag.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "certs")
	for _, test := range []struct {
		args []string
		code exit.Code
	}{
		{[]string{"ca", "--dir", below}, exit.Failed},
		{[]string{"issue", "n1", "--dir", below}, exit.Failed},
		{[]string{"token", "anna", "--dir", below}, exit.Failed},
		{[]string{"bundle", "--dir", below}, exit.Failed},
		{[]string{"issue", "n1", "--dir", t.TempDir()}, exit.NotFound},
		{[]string{"issue"}, exit.Usage},
		{[]string{"ca", "--nonsense"}, exit.Usage},
	} {
		if _, err := run(test.args...); exit.CodeOf(err) != test.code {
			t.Errorf("%v: exit code %d, want %d: %v", test.args, exit.CodeOf(err), test.code, err)
		}
	}
}

// A certificate for a host with a port, a scheme or a comma would match no connection.
func TestHostsThatFitNobody(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "n1:9324", "n1,n2", "https://n1", "n 1", "10.0.0.0/8"} {
		for _, command := range [][]string{{"issue", "n1"}, {"bundle"}} {
			dir := t.TempDir()
			if _, err := run("ca", "--dir", dir); err != nil {
				t.Fatal(err)
			}
			if _, err := run(append(command, "--dir", dir, "--host", host)...); exit.CodeOf(err) != exit.Usage {
				t.Errorf("%v --host %q: exit code %d: %v", command, host, exit.CodeOf(err), err)
			}
		}
	}
	dir := t.TempDir()
	for _, args := range [][]string{{"ca"},
		{"issue", "n1", "--host", "*.Example.org", "--host", "10.0.0.1", "--host", "::1", "--host", "my_node-1.local."}} {
		if _, err := run(append(args, "--dir", dir)...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The hint for a timeout does not name --timeout, which these commands lack.
func TestTimeoutHint(t *testing.T) {
	t.Parallel()
	err := coded(func(*cobra.Command, []string) error { return fmt.Errorf("nodes: %w", context.DeadlineExceeded) })(nil, nil)
	if exit.CodeOf(err) != exit.Timeout || strings.Contains(exit.HintOf(err), "--timeout") {
		t.Errorf("exit code %d, hint %q", exit.CodeOf(err), exit.HintOf(err))
	}
}

// read reads the certificate that a command made.
func read(t *testing.T, dir, name string) *pair {
	t.Helper()
	p, err := readPair(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Only the certificate of a node has the node's mark and can authenticate to other nodes.
func TestRoles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"ca"}, {"issue", "n1"}, {"issue", "front", "--role", "clients", "--host", "10.0.0.1"}} {
		if _, err := run(append(args, "--dir", dir)...); err != nil {
			t.Fatal(err)
		}
	}
	node, front := read(t, dir, "n1").certificate, read(t, dir, "front").certificate
	if !nodecert.Names(node, "n1") || nodecert.Names(node, "n2") || len(node.ExtKeyUsage) != 2 {
		t.Errorf("of a node: %v, %v", node.DNSNames, node.ExtKeyUsage)
	}
	if nodecert.Marked(front) || len(front.ExtKeyUsage) != 1 || front.VerifyHostname("10.0.0.1") != nil {
		t.Errorf("for clients: %v, %v", front.DNSNames, front.ExtKeyUsage)
	}
	for _, args := range [][]string{
		{"issue", "x", "--role", "clients", "--host", "n1.node.seriatim"}, {"issue", "x", "--host", "*.node.seriatim"},
		{"bundle", "--host", "n1.node.seriatim"},
		{"issue", "n1.node.seriatim", "--role", "clients"}, {"issue", "x", "--role", "root"},
	} {
		if _, err := run(append(args, "--dir", dir)...); exit.CodeOf(err) != exit.Usage {
			t.Errorf("%v: exit code %d: %v", args, exit.CodeOf(err), err)
		}
	}
}

// A renewed certificate differs from the old one only in its end, and no file is missing meanwhile.
func TestRenew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"ca"}, {"issue", "n1", "--host", "10.0.0.1", "--host", "n1.example.org", "--valid", "48h"},
		{"issue", "front", "--role", "clients", "--valid", "48h"},
	} {
		if _, err := run(append(args, "--dir", dir)...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := run("issue", "n1", "--dir", dir); exit.CodeOf(err) != exit.Conflict ||
		!strings.Contains(exit.HintOf(err), "seriatim cert renew n1 --dir "+dir) {
		t.Errorf("issued twice: %v, %q", err, exit.HintOf(err))
	}
	for _, name := range []string{"n1", "front"} {
		old := read(t, dir, name)
		if out, err := run("renew", name, "--dir", dir); err != nil || !strings.Contains(out, name+".crt") {
			t.Fatalf("%v\n%s", err, out)
		}
		renewed := read(t, dir, name)
		if !renewed.fits() || !renewed.certificate.NotAfter.After(old.certificate.NotAfter.Add(300*day)) {
			t.Errorf("%s is valid until %v", name, renewed.certificate.NotAfter)
		}
		if !slices.Equal(renewed.certificate.DNSNames, old.certificate.DNSNames) ||
			len(renewed.certificate.IPAddresses) != len(old.certificate.IPAddresses) ||
			!slices.Equal(renewed.certificate.ExtKeyUsage, old.certificate.ExtKeyUsage) {
			t.Errorf("%s: %v became %v", name, old.certificate.DNSNames, renewed.certificate.DNSNames)
		}
	}
	other := t.TempDir()
	if _, err := run("ca", "--dir", other); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1.crt", "n1.key"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := run("renew", "n1", "--dir", other); exit.CodeOf(err) != exit.Conflict {
		t.Errorf("renewed by another authority: %v", err)
	}
	if _, err := run("renew", "n2", "--dir", dir); exit.CodeOf(err) != exit.NotFound ||
		!strings.Contains(exit.HintOf(err), "cert issue n2") {
		t.Errorf("renewed what is not there: %v", err)
	}
	if _, err := run("issue", "n2", "--dir", t.TempDir()); exit.CodeOf(err) != exit.NotFound ||
		!strings.Contains(exit.HintOf(err), "Only for a new cluster") {
		t.Errorf("without an authority: %v, %q", err, exit.HintOf(err))
	}
}

// A server that starts during a renewal finds both files of one pair.
func TestRenewUnderReaders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"ca"}, {"issue", "n1"}} {
		if _, err := run(append(args, "--dir", dir)...); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		for range 20 {
			if _, err := run("renew", "n1", "--dir", dir); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "n1.crt"), filepath.Join(dir, "n1.key")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
