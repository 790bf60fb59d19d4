package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// profile is a server that a user has logged in to from this machine.
type profile struct {
	URL     string    `json:"url"`
	Key     string    `json:"key"`
	Account string    `json:"account,omitempty"`
	Name    string    `json:"name,omitempty"` // of the key
	Since   time.Time `json:"since"`
}

// hint is as much of the key as may be shown.
func (p profile) hint() string { return p.Key[:min(len(p.Key), len("pdf_live_")+4)] + "…" }

// profiles are all of a user's, in a file that only they can read.
type profiles struct {
	Default string             `json:"default"`
	All     map[string]profile `json:"profiles"`

	path string
}

const profileFile = "profiles.json"

// readProfiles reads the user's file. There may be none.
func readProfiles() (*profiles, error) {
	p := &profiles{All: map[string]profile{}}
	user := setting.UserFolders()
	folder := user.Config()
	if folder == "" {
		return p, nil // a machine without a home has no profiles
	}

	p.path = filepath.Join(folder, "relaypdf", profileFile)
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return p, console.UsageError{Err: err}
	case user.System != "windows" && info.Mode().Perm()&0o077 != 0: // Windows has no such bits
		return p, console.Usagef("%s has keys in it and can be read by others; close it with chmod 600 %s", p.path, p.path)
	}

	text, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return p, console.Usagef("%s cannot be read (%w); correct it, or remove it and log in again", p.path, err)
	}

	if p.All == nil {
		p.All = map[string]profile{}
	}
	return p, nil
}

// write replaces the file, whole or not at all.
func (p *profiles) write() error {
	if p.path == "" {
		return console.Usagef("there is no home folder for the key; set RELAYPDF_API_KEY instead")
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	return replaceFile(p.path, append(text, '\n'), ownerOnly)
}

func (p *profiles) names() []string { return slices.Sorted(maps.Keys(p.All)) }

// find returns a profile by its name.
func (p *profiles) find(name string) (profile, error) {
	found, ok := p.All[name]
	switch {
	case ok:
		return found, nil
	case len(p.All) == 0:
		return found, console.Usagef("no profile %q; run relaypdf login --profile %s", name, name)
	}
	return found, console.Usagef("no profile %q; known profiles: %s; run relaypdf login --profile %s to create it", name,
		strings.Join(p.names(), ", "), name)
}

// credentials are the server that a command calls and its key. Both come from the same source, so that no key is
// sent to another server: if only the URL is given, the key is that of a profile with this URL.
type credentials struct {
	url, key string
	origin   string // of the key, for users
	profile  string // its name, if the key is of one
}

// credentialsOf finds them: flags win over the environment, which wins over .env in
// this folder, which wins over the profile.
func credentialsOf(config setting.Client) (credentials, error) {
	url := config.APIURL
	urlFrom := config.Origin(setting.APIURL)
	named := config.Profile
	namedFrom := config.Origin(setting.Profile)
	keyFrom := config.Origin(setting.APIKey)
	if config.APIKey != "" && (namedFrom != setting.OriginFlag || keyFrom == setting.OriginFlag) {
		origin := map[string]string{setting.OriginFlag: "--api-key", setting.OriginEnvironment: keyVariable}[keyFrom]
		return credentials{url, config.APIKey, origin, ""}, nil
	}

	if named == "" {
		if found, ok := readDotEnv(url, urlFrom); ok {
			return found, nil
		}
	}

	known, err := readProfiles()
	if err != nil {
		return credentials{url: url}, err
	}

	name := cmp.Or(named, known.Default)
	if name == "" {
		return credentials{url: url}, nil
	}
	chosen, err := known.find(name)
	if err != nil {
		return credentials{url: url}, err
	}

	if urlFrom == setting.OriginDefault || sameServer(url, chosen.URL) {
		return credentials{chosen.URL, chosen.Key, "profile " + name, name}, nil
	}
	if named != "" {
		return credentials{url: url}, console.Usagef(
			"the profile %s is of %s, and the address is %s; leave one of them out", named, chosen.URL, url)
	}

	for _, name := range known.names() {
		if other := known.All[name]; sameServer(url, other.URL) {
			return credentials{other.URL, other.Key, "profile " + name, name}, nil
		}
	}
	return credentials{url: url}, nil
}

func sameServer(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// dotEnv is the file that `relaypdf setup` writes.
const dotEnv = ".env"

// readDotEnv returns the credentials of a .env in this folder, if it has a key.
func readDotEnv(url, urlFrom string) (credentials, bool) {
	info, err := os.Stat(dotEnv)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEnvFile {
		return credentials{}, false
	}
	text, err := os.ReadFile(dotEnv)
	if err != nil {
		return credentials{}, false
	}

	file := envFile{text: string(text)}
	key := file.get(keyVariable)
	if key == "" {
		return credentials{}, false
	}

	if address := file.get(serverVariable); address != "" && urlFrom == setting.OriginDefault {
		url = address
	}
	return credentials{url, key, dotEnv, ""}, true
}

// noKey explains how to get a key for a server.
func noKey(url string) string {
	return fmt.Sprintf("No API key for %s. Run relaypdf login or relaypdf setup, or set %s. On the server's machine, "+
		"run relaypdf keys create.", url, keyVariable)
}
