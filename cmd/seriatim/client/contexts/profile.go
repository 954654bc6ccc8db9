package contexts

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"gopkg.in/ini.v1"
)

// Key is an access key from a profile of the AWS tools.
type Key struct{ ID, Secret, Region string }

// Profile reads the key of a profile from the files of the AWS tools: AWS_SHARED_CREDENTIALS_FILE and
// AWS_CONFIG_FILE, or credentials and config in ~/.aws.
func Profile(name string) (Key, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Key{}, err
	}
	credentials := cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(home, ".aws", "credentials"))
	config := cmp.Or(os.Getenv("AWS_CONFIG_FILE"), filepath.Join(home, ".aws", "config"))
	files, err := load(credentials)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", credentials, err)
	}
	configured, err := load(config)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", config, err)
	}
	section := "profile " + name // in config
	if name == "default" {
		section = name
	}
	value := func(key string) string {
		return cmp.Or(files.Section(name).Key(key).String(), configured.Section(section).Key(key).String())
	}
	k := Key{ID: value("aws_access_key_id"), Secret: value("aws_secret_access_key"), Region: value("region")}
	if k.ID == "" || k.Secret == "" {
		return Key{}, fmt.Errorf("the AWS profile %q has no access key in %s or %s", name, credentials, config)
	}
	return k, nil
}

// load reads a file of the AWS tools, whose values may contain comment characters. A missing file is
// empty.
func load(path string) (*ini.File, error) {
	return ini.LoadSources(ini.LoadOptions{Loose: true, IgnoreInlineComment: true}, path)
}
