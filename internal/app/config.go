// Package app puts the service together: the settings, and the App that serves by them.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Config is every setting of the program, parsed and checked. The table in
// config_table.go fills it; nothing else reads the environment.
type Config struct {
	File            string   // settings file that was read; empty: none
	Listen          string   // host:port of the public listener; port 0 picks a free one
	BaseURL         string   // public address without a trailing slash; every link is built from it
	DataDir         string   // absolute folder of the database and the stored files
	DatabaseURL     string   // sqlite:///… or postgres://…
	SessionURL      string   // postgres://… without a pooler; empty is DatabaseURL
	RetentionMonths int      // whole months of calls, deliveries and events that stay; 0 is all
	RedisURL        string   // empty counts rate limits in memory
	AllowHosts      []string // hosts, host:port or CIDRs that are opened although private
	Fonts           string   // folder of fonts besides the system's
	Pages           string   // folder of the operator's pages; empty: none
	ExtraCA         string   // PEM file with certificate authorities trusted besides the system's
	RateLimits      bool
	Billing         bool
	HeaderBrand     string   // second name of the x-service-* headers; empty adds none
	MetricsListen   string   // host:port of /metrics, pprof and probes; empty: off
	TrustedIPHeader string   // the one header that carries the client's address; empty: the socket's
	MaxBody         int64    // bytes of a request body
	MaxFile         int64    // bytes of one file, inline, fetched or uploaded
	Memory          int64    // maximum memory in bytes; 0 means all
	RenderSlots     int      // renders at once; 0: one per core
	Engines         []string // the heavy ones that run
	RenderUser      string   // unprivileged user of the engines when started as root
	Sandbox         string   // least protection to start with: full, reduced or none
	Chromium        string   // browser binary; empty: found by itself
	Trial           credit.Amount
	AdminEmail      string // of the first account of an empty server; empty: none is made
	SignUp          string // who may make an account on the pages: open, invite, closed
	SMTPURL         string // SMTP server; empty sends no emails
	MailFrom        string // sender of emails

	// The place of the stored files, and the credentials for buckets. Without a key, credentials are found as the
	// AWS SDKs find them.
	Blobs                    blobPlace
	BlobsRedirect            bool // downloads of results are sent to the bucket
	S3AccessKey, S3SecretKey string

	// The OpenID Connect provider; an empty issuer means none.
	OIDCIssuer, OIDCClientID, OIDCClientSecret, OIDCName string
	MCPIssuer, MCPAudience                               string
	// Stripe's keys; an empty key disables payments.
	StripeSecretKey, StripeWebhookSecret string
	StripeAPIURL                         string                   // stand-in on this machine; empty is Stripe
	Prices                               map[string]credit.Amount // overrides, by operation name
	AI                                   llm.Config               // the model that writes templates; empty: none
	AIInput                              credit.Amount            // for a million tokens that the model reads
	AIOutput                             credit.Amount            // for a million tokens that it writes
	LogLevel                             slog.Level
	OTLPURL                              string        // of a collector of traces; empty: none are made
	DrainDelay                           time.Duration // between failing /health/ready and closing the listener
	ShutdownTimeout                      time.Duration
	SecretKey                            string   // of the secrets at rest; empty: in a file next to SQLite
	Roles                                []string // roles of the process: api, web, worker
	Workers                              int      // jobs run at once; 0: two per core
	Region                               string
	APIKey                               string // client commands only
	APIURL                               string // client commands only
	Profile                              string // client commands only

	// Warnings are remarks about settings that are valid but probably wrong, such as an unknown RELAYPDF_*
	// variable.
	Warnings []string

	// Dev is a server for one developer on this machine, where payments can be
	// tried without Stripe, and test keys are like live keys.
	Dev bool

	Container bool           // the process runs in one
	values    []settingValue // in the table's order, for `relaypdf config`
}

// settingValue is the text that one row of the table was filled from.
type settingValue struct {
	row    *Setting
	text   string
	origin string // "flag", "environment", "FILE:LINE" or "default"
}

// LoadConfig fills a Config from flags that AddFlags defined, from environ in
// the form of os.Environ, from the file that RELAYPDF_CONFIG names and from
// the defaults; the first that has a value wins. The error lists every setting
// that is wrong, one per line, each with the variable's name and the remedy.
func LoadConfig(flags *pflag.FlagSet, environ []string) (Config, error) {
	env := setting.ParseEnviron(environ)
	return loadConfig(flags, machine{env: env, uid: os.Geteuid(), container: inContainer(env)})
}

// machine holds the facts that defaults depend on, besides other settings.
type machine struct {
	env       map[string]string
	uid       int
	container bool
}

func loadConfig(flags *pflag.FlagSet, host machine) (Config, error) {
	from := setting.Sources{Flags: flags, Env: host.env}
	var errs []error
	from.File, errs = setting.OpenFile(from)
	c := Config{Container: host.container}
	for i := range settings {
		row := &settings[i]
		value := row.find(from)
		var err error
		if value.origin == setting.OriginDefault {
			value.text, err = row.defaultText(&c, host)
		}
		if err == nil && (value.text != "" || row.emptyMeans) {
			err = row.apply(&c, value.text)
		}
		if err != nil {
			errs = append(errs, row.describeError(value, err))
		}
		c.values = append(c.values, value)
	}

	if len(errs) == 0 {
		errs = c.check()
	}
	c.Warnings = append(c.Warnings, unknownVariables(from)...)
	c.Warnings = append(c.Warnings, c.findWarnings()...)

	return c, errors.Join(errs...)
}

func (s *Setting) find(from setting.Sources) settingValue {
	found := s.setting().Find(from)
	return settingValue{s, found.Text, found.Origin}
}

func (s *Setting) describeError(value settingValue, err error) error {
	return s.setting().DescribeError(setting.Value{Text: value.text, Origin: value.origin}, err)
}

// check compares settings with each other, once each is valid by itself.
func (c *Config) check() []error {
	if c.MetricsListen != "" && c.MetricsListen == c.Listen && !strings.HasSuffix(c.Listen, ":0") {
		return []error{fmt.Errorf(
			"RELAYPDF_METRICS_LISTEN: %q is the public address too; choose another port, "+
				"or leave it empty to turn it off",
			c.MetricsListen)}
	}

	if (c.StripeSecretKey == "") != (c.StripeWebhookSecret == "") {
		return []error{errors.New(
			"RELAYPDF_STRIPE_SECRET_KEY and RELAYPDF_STRIPE_WEBHOOK_SECRET: only one of them is set; " +
				"payments need both, so set the other, or none")}
	}
	if (c.S3AccessKey == "") != (c.S3SecretKey == "") {
		return []error{errors.New(
			"RELAYPDF_S3_ACCESS_KEY and RELAYPDF_S3_SECRET_KEY: only one of them is set; set both, " +
				"or none where the machine has a role of its own")}
	}
	if (c.OIDCIssuer == "") != (c.OIDCClientID == "") {
		return []error{errors.New(
			"RELAYPDF_OIDC_ISSUER and RELAYPDF_OIDC_CLIENT_ID: only one of them is set; " +
				"logging in with a provider needs both, so set the other, or none")}
	}

	if c.MCPIssuer == "" && c.MCPAudience != "" {
		return []error{errors.New(
			"RELAYPDF_MCP_AUDIENCE: it is of no use without RELAYPDF_MCP_ISSUER, whose tokens have it",
		)}
	}
	return c.checkAI()
}

// checkAI asks for all that a provider of models needs.
func (c *Config) checkAI() (faults []error) {
	need := func(there bool, name, why string) {
		if !there {
			faults = append(faults, fmt.Errorf("RELAYPDF_AI_%s is needed with RELAYPDF_AI_PROVIDER: %s", name, why))
		}
	}

	if c.AI.Provider == "" {
		return nil
	}

	need(c.AI.Model != "", "MODEL", "name the model as the provider does")
	need(c.AI.Key != "" || c.AI.BaseURL != "", "API_KEY", "give the provider's key")
	need(
		!c.isDefault("ai-price-input"), "PRICE_INPUT",
		"it determines the price of generated templates; use 0 for your own model",
	)
	need(
		!c.isDefault("ai-price-output"), "PRICE_OUTPUT",
		"it determines the price of generated templates; use 0 for your own model",
	)
	return faults
}

// findWarnings are settings that are valid and yet probably a mistake.
func (c *Config) findWarnings() []string {
	var findWarnings []string
	_, _, err := net.SplitHostPort(c.Listen)
	if err == nil && !middleware.IsLoopback("http://"+c.Listen) && c.isDefault("base-url") {
		findWarnings = append(findWarnings, "RELAYPDF_LISTEN is open to other machines while RELAYPDF_BASE_URL is not set: "+
			"links will say "+c.BaseURL+", and test keys are accepted")
	}

	if slices.Equal(c.Roles, []string{RoleWorker}) && c.isDefault("base-url") {
		findWarnings = append(findWarnings, "RELAYPDF_BASE_URL is not set: links in events and callbacks of this worker's jobs "+
			"will say "+c.BaseURL+"; give all processes the same address")
	}

	if strings.HasPrefix(c.BaseURL, "https:") && c.TrustedIPHeader == "" {
		findWarnings = append(findWarnings, "RELAYPDF_BASE_URL is https and RELAYPDF_TRUSTED_IP_HEADER is not set: "+
			"behind a proxy all clients have its address, and share one limit; name the header in which it puts theirs")
	}
	return findWarnings
}

func (c *Config) isDefault(name string) bool { return c.Origin(name) == setting.OriginDefault }

// Origin returns the source of a setting's value.
func (c *Config) Origin(name string) string {
	for _, v := range c.values {
		if v.row.name == name {
			return v.origin
		}
	}
	return setting.OriginDefault
}
