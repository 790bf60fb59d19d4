package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/store/credit"
)

// defaultProfile is the name of a profile that was given none.
const defaultProfile = "default"

// profileName is the syntax of profile names.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// maxKeyText bounds a key from standard input.
const maxKeyText = 1 << 10

// login is one command line that logs in.
type login struct {
	setup

	withKey bool
}

func newLoginCommand() *cobra.Command {
	l := &login{}
	cmd := &cobra.Command{
		Use: "login", Short: "Log in and save an API key in a profile", Args: cobra.NoArgs,
		Long: "Log in to a server: show a code and a URL, and wait until someone confirms the code there. The API " +
			"key is saved in a profile, in a file that only this user can read. It is never printed.\n\n" +
			"A profile is a server and a key. Name it with --profile to have several. relaypdf profiles use NAME sets the default.\n\n" +
			"Flags override the environment, which overrides .env in the current folder, which overrides the profile. A key is only sent to its own server.",
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}

	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&l.withKey, "with-key", false, "read a key from standard input instead of the browser")
	flags.StringVar(&l.machine, "machine", "", "machine name to show in the browser (default the host name)")
	flags.BoolVar(&l.noBrowser, "no-browser", false, "do not open the URL in a browser")
	flags.BoolVar(&l.asJSON, "json", false, "print JSON lines: the code, then the profile")

	setting.AddFlags(flags, setting.Config, setting.APIURL, setting.Profile)
	return cmd
}

// keptProfile is a profile as --json shows it, without its key.
type keptProfile struct {
	Profile string    `json:"profile"`
	URL     string    `json:"url"`
	Key     string    `json:"key"` // how it begins
	KeyName string    `json:"keyName"`
	Account string    `json:"account"`
	Since   time.Time `json:"since"`
	Default bool      `json:"default"`
}

func (p *profiles) show(name string) keptProfile {
	one := p.All[name]
	return keptProfile{name, one.URL, one.hint(), one.Name, one.Account, one.Since, p.Default == name}
}

func (l *login) run(cmd *cobra.Command) error {
	config, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	known, err := readProfiles()
	if err != nil {
		return err
	}

	name := cmp.Or(config.Profile, defaultProfile)
	if !profileName.MatchString(name) {
		return console.Usagef("--profile: %q is not a valid name; use letters, digits, dots, hyphens and underscores", name)
	}

	before, again := known.All[name]
	url := config.APIURL
	if again && config.Origin(setting.APIURL) == setting.OriginDefault {
		url = before.URL
	}

	made := profile{URL: strings.TrimRight(url, "/"), Since: time.Now().UTC().Truncate(time.Second)}
	if err := l.key(cmd, &made); err != nil {
		return err
	}

	known.All[name] = made
	if known.Default == "" || len(known.All) == 1 {
		known.Default = name
	}
	if err := known.write(); err != nil {
		return fmt.Errorf("the key %s was not saved: %w; revoke it at %s/dashboard/keys", made.hint(), err, made.URL)
	}

	if l.asJSON {
		return printJSONLine(cmd, known.show(name))
	}
	if err := console.PrintLine(cmd, "Logged in to "+made.URL+who(made)+", as profile "+name+"."); err != nil {
		return err
	}

	if again && before.Key != made.Key {
		fmt.Fprintf(cmd.ErrOrStderr(), "The previous key, %s, stays valid until you revoke it at %s/dashboard/keys.\n",
			before.hint(), before.URL)
	}
	if known.Default != name {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"The default profile is %s. Use --profile %s, or run relaypdf profiles use %s.\n",
			known.Default, name, name)
	}

	return nil
}

func who(p profile) string {
	if p.Account == "" {
		return ""
	}
	return " for " + p.Account
}

// key gets a key and tries it.
func (l *login) key(cmd *cobra.Command, made *profile) error {
	service := client.Client{BaseURL: made.URL, UserAgent: "relaypdf/" + version.Version, Retries: noRetries}
	if l.withKey {
		text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxKeyText))
		if err != nil {
			return err
		}
		if made.Key = strings.TrimSpace(string(text)); !keyText.MatchString(made.Key) {
			return console.Usagef("standard input has no API key; a key begins with pdf_live_ or pdf_test_")
		}
	} else {
		code, err := l.begin(cmd, &service)
		if err != nil {
			return unreached(made.URL, err)
		}
		if err := l.show(cmd, code); err != nil {
			return err
		}

		key, err := service.WaitDevice(cmd.Context(), code)
		if err != nil {
			return unreached(made.URL, err)
		}
		if !keyText.MatchString(key.AccessToken) {
			return fmt.Errorf("the server at %s did not send an API key", made.URL)
		}

		made.Key = key.AccessToken
		made.Account = key.Account
		made.Name = key.Key.Name
	}

	service.Key = made.Key
	ctx, cancel := context.WithTimeout(cmd.Context(), callTime)
	defer cancel()
	_, err := service.Account().Get(ctx)
	return unreached(made.URL, err)
}

func newLogoutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "logout", Short: "Delete a profile and its key from this machine", Args: cobra.NoArgs,
		Long: "Delete a profile and its key from this machine. Without --profile, delete the default profile. The " +
			"key stays valid until you revoke it on the dashboard.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			known, err := readProfiles()
			if err != nil {
				return err
			}

			name := cmp.Or(config.Profile, known.Default)
			if name == "" {
				return console.Usagef("no profile is saved on this machine")
			}
			gone, err := known.find(name)
			if err != nil {
				return err
			}

			delete(known.All, name)
			if known.Default == name {
				known.Default = ""
				if rest := known.names(); len(rest) == 1 {
					known.Default = rest[0]
				}
			}

			if err := known.write(); err != nil {
				return err
			}
			return console.PrintLine(cmd, fmt.Sprintf(
				"Deleted the profile %s of %s. The key %s stays valid until you revoke it at %s/dashboard/keys.",
				name, gone.URL, gone.hint(), gone.URL))
		},
	}

	setting.AddFlags(cmd.Flags(), setting.Config, setting.Profile)
	return cmd
}

// whoIs is the output of whoami --json.
type whoIs struct {
	URL      string                 `json:"url"`
	Key      string                 `json:"key"` // how it begins
	Origin   string                 `json:"origin"`
	Profile  string                 `json:"profile,omitempty"`
	Account  string                 `json:"account,omitempty"`
	Snapshot client.AccountSnapshot `json:"snapshot"`
}

func newWhoamiCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "whoami", Short: "Show and test the server and key in use", Args: cobra.NoArgs,
	}
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object")

	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := loadSettings(cmd)
		if err != nil {
			return err
		}
		found, err := credentialsOf(config)
		if err != nil {
			return err
		}

		snapshot, err := askService(cmd,
			func(ctx context.Context, c *client.Client) (client.AccountSnapshot, error) {
				return c.Account().Get(ctx)
			})
		if err != nil {
			return err
		}

		used := profile{Key: found.key}
		me := whoIs{URL: found.url, Key: used.hint(), Origin: found.origin, Profile: found.profile, Snapshot: snapshot}
		if found.profile != "" {
			known, err := readProfiles()
			if err != nil {
				return err
			}
			me.Account = known.All[found.profile].Account
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), me)
		}
		return console.PrintTable(cmd.OutOrStdout(), "SERVER\tKEY\tFROM\tACCOUNT\tPLAN\tBALANCE", []whoIs{me},
			func(i whoIs) []any {
				account := i.Account
				if account == "" {
					account = "-"
				}
				return []any{
					i.URL, i.Key, i.Origin, account, i.Snapshot.Plan,
					credit.Amount(i.Snapshot.Wallet.BalanceMillicents) * credit.Millicent,
				}
			})
	}

	setting.AddClientFlags(cmd.Flags())
	return cmd
}

// newProfilesCommand shows the profiles, and chooses the default.
func newProfilesCommand() *cobra.Command {
	list := &cobra.Command{Use: "list", Short: "List the profiles on this machine", Args: cobra.NoArgs}
	asJSON := list.Flags().Bool("json", false, "print one JSON object")
	list.RunE = func(cmd *cobra.Command, _ []string) error {
		known, err := readProfiles()
		if err != nil {
			return err
		}

		all := []keptProfile{}
		for _, name := range known.names() {
			all = append(all, known.show(name))
		}

		if *asJSON {
			return console.PrintJSON(cmd.OutOrStdout(), map[string]any{"profiles": all})
		}
		return console.PrintTable(cmd.OutOrStdout(), "PROFILE\tSERVER\tACCOUNT\tKEY\tSINCE\tDEFAULT", all,
			func(p keptProfile) []any {
				account := p.Account
				chosen := ""
				if account == "" {
					account = "-"
				}
				if p.Default {
					chosen = "yes"
				}
				return []any{p.Profile, p.URL, account, p.Key, console.ShortTime(&p.Since), chosen}
			})
	}

	use := &cobra.Command{
		Use:               "use NAME",
		Short:             "Set the default profile",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeProfiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := readProfiles()
			if err != nil {
				return err
			}
			chosen, err := known.find(args[0])
			if err != nil {
				return err
			}

			known.Default = args[0]
			if err := known.write(); err != nil {
				return err
			}
			return console.PrintLine(cmd, "Commands use "+chosen.URL+who(chosen)+" from now on.")
		},
	}

	return console.NewGroup("profiles", "List profiles and set the default", list, use)
}

// completeProfiles has shells complete the name of a profile.
func completeProfiles(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	known, err := readProfiles()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []cobra.Completion
	for _, name := range known.names() {
		words = append(words, cobra.CompletionWithDesc(name, known.All[name].URL))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
