package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Variables for the key and for its server.
const (
	keyVariable    = setting.VariablePrefix + "API_KEY"
	serverVariable = setting.VariablePrefix + "API_URL"
)

// keyText is the syntax of a key: no characters that a file of variables or a shell interprets.
var keyText = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// setup gets this machine a key that a user has allowed.
type setup struct {
	file, machine            string
	server                   string // written next to the key; empty is the default
	force, asJSON, noBrowser bool
}

// newSetupCommand asks a user for a key.
func newSetupCommand() *cobra.Command {
	s := &setup{}
	cmd := &cobra.Command{
		Use: "setup", Short: "Authorize in the browser and save an API key to .env", Args: cobra.NoArgs,
		Long: "Show a code and a URL, and wait until someone who is logged in confirms the code there. The API key " +
			"is written to a file as " + keyVariable + ", with " + serverVariable +
			" unless the server is the default one. Other lines of the file do not change. The key is never printed.\n\n" +
			"Only the owner can read the file. It is added to the .gitignore of its repository.",
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd) },
	}

	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&s.file, "env-file", ".env", "file to write the key to")
	flags.BoolVarP(&s.force, "force", "f", false, "replace an existing key without asking")
	flags.StringVar(&s.machine, "machine", "", "machine name to show in the browser (default the host name)")
	flags.BoolVar(&s.noBrowser, "no-browser", false, "do not open the URL in a browser")
	flags.BoolVar(&s.asJSON, "json", false, "print JSON lines: the code, then the file")
	setting.AddFlags(flags, setting.Config, setting.APIURL)
	return cmd
}

// shownCode is the first line of --json.
type shownCode struct {
	VerificationURI string    `json:"verificationUri"`
	UserCode        string    `json:"userCode"`
	ExpiresAt       time.Time `json:"expiresAt"`
}

// writtenKey is the last line of --json.
type writtenKey struct {
	File      string        `json:"file"`
	Variable  string        `json:"variable"`
	Account   string        `json:"account"`
	Key       wire.KeyFacts `json:"key"`
	GitIgnore string        `json:"gitignore"` // the file that was changed, if one was
	Tracked   bool          `json:"tracked"`   // by git, which .gitignore does not change
}

func (s *setup) run(cmd *cobra.Command) error {
	config, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	file, err := readEnvFile(s.file)
	if err != nil {
		return console.UsageError{Err: err}
	}

	if file.has(keyVariable) {
		if err := s.mayReplace(cmd); err != nil {
			return err
		}
	}
	if config.Origin(setting.APIURL) != setting.OriginDefault || file.has(serverVariable) {
		s.server = config.APIURL
	}

	service := client.Client{BaseURL: config.APIURL, UserAgent: "relaypdf/" + version.Version, Retries: noRetries}
	code, err := s.begin(cmd, &service)
	if err != nil {
		return unreached(config.APIURL, err)
	}
	if err := s.show(cmd, code); err != nil {
		return err
	}

	key, err := service.WaitDevice(cmd.Context(), code)
	if err != nil {
		return unreached(config.APIURL, err)
	}

	written, err := s.saveKey(key)
	if err != nil {
		return fmt.Errorf("the key %s was created but not saved: %w; revoke it at %s/dashboard/keys", key.Key.Prefix,
			err, strings.TrimSuffix(config.APIURL, "/"))
	}
	if written.GitIgnore, err = s.ignore(); err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "relaypdf: %s could not be added to .gitignore: %v\n", s.file, err)
	}
	if written.Tracked = tracked(cmd.Context(), s.file); written.Tracked {
		fmt.Fprintf(cmd.ErrOrStderr(), "relaypdf: git tracks %s and would commit the key. Run `git rm --cached %s`\n",
			s.file, s.file)
	}

	return s.printResult(cmd, written)
}

// tracked reports whether git tracks a file, which it then commits although the file is in .gitignore. Without git
// nothing is committed.
func tracked(ctx context.Context, file string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	folder, name := filepath.Split(file)
	git := exec.CommandContext(ctx, "git", "ls-files", "--error-unmatch", "--", name)
	git.Dir = folder
	return git.Run() == nil
}

// mayReplace asks whether the key of before may go.
func (s *setup) mayReplace(cmd *cobra.Command) error {
	if s.force {
		return nil
	}

	if !s.asJSON {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s already has a %s. Replace it? [y/N] ", s.file, keyVariable)
		// Without a response, it stays.
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		fmt.Fprintln(cmd.ErrOrStderr())
	}

	return console.Usagef("%s has a %s already, which stays; replace it with --force, or name another file with --env-file",
		s.file, keyVariable)
}

// begin gets a code.
func (s *setup) begin(cmd *cobra.Command, service *client.Client) (client.DeviceCode, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()

	machine := s.machine
	if machine == "" {
		machine, _ = os.Hostname() // The service has words for one without a name.
	}
	code, err := service.BeginDevice(ctx, client.Machine{Name: machine, System: system()})
	if err != nil {
		return code, err
	}

	// This text of the service goes to a terminal and to a browser.
	address, err := url.Parse(code.VerificationURI)
	if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" {
		return code, errors.New("the server sent no URL to open")
	}
	if strings.ContainsFunc(code.UserCode, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return code, errors.New("the server sent an invalid code")
	}

	code.VerificationURI = address.String()
	return code, nil
}

// system returns the name of this machine's system, for users.
func system() string {
	names := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows", "freebsd": "FreeBSD"}
	name := names[runtime.GOOS]
	if name == "" {
		name = runtime.GOOS
	}
	return name + " " + runtime.GOARCH
}

// show prints the URL to enter the code at, and opens it.
func (s *setup) show(cmd *cobra.Command, code client.DeviceCode) error {
	life := time.Duration(code.ExpiresIn) * time.Second
	if s.asJSON {
		err := printJSONLine(cmd,
			shownCode{code.VerificationURI, code.UserCode, time.Now().UTC().Add(life).Truncate(time.Second)})
		if err != nil {
			return err
		}
	} else {
		fmt.Fprintf(cmd.ErrOrStderr(), "Open %s and type this code:\n\n    %s\n\nWaiting, for %.0f minutes at most.\n",
			code.VerificationURI, code.UserCode, life.Minutes())
	}

	if !s.noBrowser {
		openAddress(cmd.Context(), code.VerificationURI)
	}
	return nil
}

// openAddress opens a page in the user's browser. If there is none, the URL is on the screen.
func openAddress(ctx context.Context, address string) {
	ctx = context.WithoutCancel(ctx) // the browser stays

	var opener *exec.Cmd
	switch browser := os.Getenv("BROWSER"); {
	case browser != "":
		opener = exec.CommandContext(ctx, browser, address) //nolint:gosec // the person's own setting
	case runtime.GOOS == "darwin":
		opener = exec.CommandContext(ctx, "open", address)
	case runtime.GOOS == "windows":
		opener = exec.CommandContext(ctx, "rundll32", "url.dll,FileProtocolHandler", address)
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		opener = exec.CommandContext(ctx, "xdg-open", address)
	default:
		return
	}

	if opener.Start() == nil {
		go func() { _ = opener.Wait() }() // it may last as long as the browser
	}
}

// saveKey writes the key to the current state of the file.
func (s *setup) saveKey(key client.DeviceKey) (writtenKey, error) {
	written := writtenKey{File: s.file, Variable: keyVariable, Account: key.Account, Key: key.Key}
	if !keyText.MatchString(key.AccessToken) {
		return written, errors.New("the server did not send an API key")
	}

	file, err := readEnvFile(s.file)
	if err != nil {
		return written, err
	}

	file.set(keyVariable, key.AccessToken)
	if s.server != "" {
		file.set(serverVariable, s.server)
	}
	if err := file.write(); err != nil {
		return written, err
	}
	return written, nil
}

// ignore adds the file to the .gitignore of its repository, and returns that file's path from this folder; empty if
// nothing had to be done.
func (s *setup) ignore() (string, error) {
	file, err := readEnvFile(s.file)
	if err != nil {
		return "", err
	}

	changed, err := file.ignoreInGit()
	if changed == "" {
		return "", err
	}

	if here, wrong := filepath.Abs("."); wrong == nil {
		if inside, wrong := filepath.Rel(here, changed); wrong == nil {
			changed = inside
		}
	}
	return changed, err
}

// printResult reports the written file, without the key.
func (s *setup) printResult(cmd *cobra.Command, w writtenKey) error {
	if s.asJSON {
		return printJSONLine(cmd, w)
	}

	line := fmt.Sprintf("Wrote %s to %s: the key “%s” (%s…) of %s", w.Variable, w.File, w.Key.Name, w.Key.Prefix,
		w.Account)
	if w.Key.SpendLimit != nil {
		line += ", which may spend " + credit.Amount(*w.Key.SpendLimit).String()
	}
	if w.Key.ExpiresAt != nil {
		line += ", until " + w.Key.ExpiresAt.UTC().Format("January 2, 2006")
	}
	if w.GitIgnore != "" {
		line += ".\nAdded it to " + w.GitIgnore
	}

	return console.PrintLine(cmd, line+".")
}

// printJSONLine prints an object in one line, for readers that read line by line.
func printJSONLine(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
