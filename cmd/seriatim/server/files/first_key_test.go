package files

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
)

const (
	testID      = "AKIASERIATIMTEST0001"
	testSecret  = "a-given-secret-of-the-test"
	testAccount = "123456789012"
)

// opened returns the first key of a node and its log.
func opened(t *testing.T, o FirstKeyOptions) (*FirstKey, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	o.Account, o.Random, o.Log = testAccount, rand.Reader, slog.New(slog.NewTextHandler(log, nil))
	key, err := OpenFirstKey(o)
	if err != nil {
		t.Fatal(err)
	}
	return key, log
}

// begin makes and publishes the key, as the leader of a new cluster does.
func begin(t *testing.T, o FirstKeyOptions) (cluster.AccessKey, string) {
	t.Helper()
	key, log := opened(t, o)
	made, err := key.Make()
	if err != nil {
		t.Fatal(err)
	}
	if made.Account != testAccount || made.ID == "" || made.Secret == "" {
		t.Fatalf("made %+v", made)
	}
	key.Publish(made)
	if strings.Contains(log.String(), made.Secret) {
		t.Errorf("the log holds the secret: %s", log)
	}
	if !strings.Contains(log.String(), made.ID) {
		t.Errorf("the log does not name the key: %s", log)
	}
	return made, log.String()
}

func putFile(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A drawn key goes only to its configured destination.
func TestDrawnKey(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, file, written string }{
		{"a file", "key", "key"},
		{"the data directory", "", "first-key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			o := FirstKeyOptions{Folder: folder}
			if tc.file != "" {
				o.File, o.Terminal = filepath.Join(folder, tc.file), new(bytes.Buffer)
			}
			made, log := begin(t, o)
			path := filepath.Join(folder, tc.written)
			if there, err := ReadKey(path); err != nil || there.ID != made.ID || there.Secret != made.Secret {
				t.Errorf("the file holds %+v (%v), not %+v", there, err, made)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
			if !strings.Contains(log, path) {
				t.Errorf("the log does not say where: %s", log)
			}
			if b, ok := o.Terminal.(*bytes.Buffer); ok && b.Len() > 0 {
				t.Errorf("also printed: %s", b)
			}
		})
	}
	t.Run("the terminal", func(t *testing.T) {
		t.Parallel()
		folder, terminal := t.TempDir(), new(bytes.Buffer)
		made, _ := begin(t, FirstKeyOptions{Terminal: terminal, Folder: folder})
		if want := "AWS_ACCESS_KEY_ID=" + made.ID + "\nAWS_SECRET_ACCESS_KEY=" + made.Secret + "\n"; terminal.String() != want {
			t.Errorf("printed %q, want %q", terminal, want)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// A given key is used in each of its forms.
func TestGivenKey(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"plain":  "AWS_ACCESS_KEY_ID=" + testID + "\nAWS_SECRET_ACCESS_KEY=" + testSecret + "\n",
		"no end": "AWS_SECRET_ACCESS_KEY=" + testSecret + "\r\nAWS_ACCESS_KEY_ID=" + testID,
		"exported": "# of orders\n\nexport AWS_ACCESS_KEY_ID='" + testID + "'\nexport AWS_SECRET_ACCESS_KEY=\"" + testSecret +
			"\"\nAWS_DEFAULT_REGION=x\n",
		"a folder": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "key")
			if content != "" {
				putFile(t, file, content)
			} else {
				if err := os.Mkdir(file, 0o700); err != nil {
					t.Fatal(err)
				}
				putFile(t, filepath.Join(file, "AWS_ACCESS_KEY_ID"), testID)
				putFile(t, filepath.Join(file, "AWS_SECRET_ACCESS_KEY"), testSecret+"\n")
			}
			terminal := new(bytes.Buffer)
			made, log := begin(t, FirstKeyOptions{File: file, Terminal: terminal})
			if made != (cluster.AccessKey{ID: testID, Secret: testSecret, Account: testAccount}) {
				t.Errorf("made %+v", made)
			}
			if terminal.Len() > 0 || !strings.Contains(log, file) {
				t.Errorf("printed %q, logged %s", terminal, log)
			}
		})
	}
}

// An unusable file prevents the start, and the error contains nothing of the file.
func TestUselessKeyFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	half := filepath.Join(folder, "half")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(half, "AWS_ACCESS_KEY_ID"), testID)
	for name, file := range map[string]string{
		"empty":          putFile(t, filepath.Join(folder, "empty"), ""),
		"only a secret":  putFile(t, filepath.Join(folder, "secret"), testSecret),
		"no id":          putFile(t, filepath.Join(folder, "no-id"), "AWS_SECRET_ACCESS_KEY="+testSecret),
		"a short secret": putFile(t, filepath.Join(folder, "short"), "AWS_ACCESS_KEY_ID="+testID+"\nAWS_SECRET_ACCESS_KEY="+testSecret[:7]),
		"half a folder":  half,
		"nowhere":        filepath.Join(folder, "missing", "key"),
		"below a file":   filepath.Join(folder, "empty", "key"),
	} {
		_, err := OpenFirstKey(FirstKeyOptions{File: file})
		if err == nil || !strings.Contains(err.Error(), folder) || strings.Contains(err.Error(), testSecret[:7]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After a failover the key is published again. A file with another key is not overwritten, and the
// log has an advice.
func TestPublishedAgain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	made, _ := begin(t, FirstKeyOptions{File: file})
	again, log := opened(t, FirstKeyOptions{File: file})
	again.Publish(made)
	if !strings.Contains(log.String(), "level=INFO") {
		t.Errorf("logged %s", log)
	}
	other := cluster.AccessKey{ID: testID, Secret: testSecret, Account: testAccount}
	again.Publish(other)
	if !strings.Contains(log.String(), "seriatim key create") || strings.Contains(log.String(), testSecret) {
		t.Errorf("logged %s", log)
	}
	if there, err := ReadKey(file); err != nil || there.ID != made.ID {
		t.Errorf("the file holds %+v, %v", there, err)
	}
}

// If the folder cannot be synced, the file still has the key, and the log does not advise making
// another one.
func TestFolderThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root reads every folder")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o300); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(folder, 0o700) }() // or it could not be removed
	file := filepath.Join(folder, "key")
	made, log := begin(t, FirstKeyOptions{File: file})
	if !strings.Contains(log, "level=WARN") || strings.Contains(log, "seriatim key create") {
		t.Errorf("logged %s", log)
	}
	if there, err := ReadKey(file); err != nil || there.ID != made.ID {
		t.Errorf("the file holds %+v, %v", there, err)
	}
}
