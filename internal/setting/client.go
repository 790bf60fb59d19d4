package setting

import (
	"cmp"
	"errors"
	"net"

	"github.com/spf13/pflag"
)

// The settings of commands that call a server over HTTP.
var (
	APIKey = Setting{Name: "api-key", Secret: true, Doc: "API key that commands use."}
	APIURL = Setting{
		Name: "api-url", Kind: "url", Derivation: "`RELAYPDF_BASE_URL`", Doc: "URL of the server that commands call.",
	}
	Profile = Setting{
		Name: "profile", Derivation: "the one that `relaypdf profiles use` chose",
		Doc: "Profile of `relaypdf login` that commands use.",
	}
)

// Settings of the server that the default of APIURL derives from.
var (
	Listen = Setting{
		Name: "listen", Kind: "host:port", Fallback: "127.0.0.1:8787",
		Doc: "Address and port that the server listens on. Port 0 picks a free port.",
	}
	BaseURL = Setting{
		Name: "base-url", Kind: "url", Derivation: "localhost with the port of `RELAYPDF_LISTEN`",
		Doc: "Public URL of the server. All links are built from it, never from the Host header of a request.",
	}
)

// ClientSettings are the settings that commands which call a server have as flags.
var ClientSettings = []Setting{Config, APIKey, APIURL, Profile}

// AddClientFlags defines the flags of commands that call a server.
func AddClientFlags(flags *pflag.FlagSet) {
	AddFlags(flags, ClientSettings...)
}

// Client is the settings of a command that calls a server.
type Client struct {
	APIKey, APIURL, Profile string

	origins map[string]string
}

// Origin returns the source of a setting's value.
func (c Client) Origin(s Setting) string { return c.origins[s.Name] }

// LoadClient reads the settings of a command that calls a server, from flags that AddClientFlags defined, from environ
// in the form of os.Environ, and from the file that RELAYPDF_CONFIG names; the first that has a value wins.
func LoadClient(flags *pflag.FlagSet, environ []string) (Client, error) {
	from := Sources{Flags: flags, Env: ParseEnviron(environ)}
	var errs []error
	from.File, errs = OpenFile(from)

	c := Client{origins: map[string]string{}}
	find := func(s Setting) Value {
		value := s.Find(from)
		c.origins[s.Name] = value.Origin
		return value
	}

	c.APIKey = find(APIKey).Text
	c.Profile = find(Profile).Text

	server := APIURL
	url := find(APIURL)
	if url.Origin == OriginDefault {
		server = BaseURL
		url = BaseURL.Find(from)
	}
	if url.Origin == OriginDefault {
		url.Text = LocalURL(cmp.Or(Listen.Find(from).Text, Listen.Fallback))
	}

	var err error
	if c.APIURL, err = ParseURL(url.Text); err != nil {
		errs = append(errs, server.DescribeError(url, err))
	}
	return c, errors.Join(errs...)
}

// LocalURL is the URL of a listener as this machine's own programs see it.
func LocalURL(listen string) string {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort("localhost", port)
}
