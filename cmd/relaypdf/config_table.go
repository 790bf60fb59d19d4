package main

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"relaypdf/api"
	"relaypdf/api/llm"
	"relaypdf/api/operation"
	"relaypdf/store/credit"
	"relaypdf/web"
)

// settingGroup is the group of commands that a setting is for.
type settingGroup string

const (
	groupServer settingGroup = "server" // serve and the commands that open the same data
	groupClient settingGroup = "client" // commands that call a server over HTTP
	groupAny    settingGroup = "any"    // every command
)

// settingTopic is the topic of a setting. The table has the settings of a topic together, and help shows them under
// its name.
type settingTopic string

const (
	topicProcess  settingTopic = "Process"
	topicData     settingTopic = "Database and files"
	topicRequests settingTopic = "Requests and network"
	topicWork     settingTopic = "Rendering and jobs"
	topicAccounts settingTopic = "Accounts and log-in"
	topicMoney    settingTopic = "Prices and payments"
	topicModel    settingTopic = "Language model"
	topicLog      settingTopic = "Logs and metrics"
	topicClient   settingTopic = "Command line"
)

// setting is one row of the table of settings. Its flag is the name and its
// variable derives from it, so both are written once.
type setting struct {
	name       string
	topic      settingTopic
	group      settingGroup
	doc        string // one or more sentences, for `--help`, `config --markdown` and people
	fallback   string // default, as the user would write it
	derivation string // in words: what the default is derived from; derive is then set
	derive     func(*Config, machine) (string, error)
	secret     bool // never printed, in errors neither
	emptyMeans bool // an empty value means something else than "the default"
	apply      func(*Config, string) error
}

const (
	variablePrefix = "RELAYPDF_"
	configSetting  = "config" // the setting that names the settings file
)

// variable is the name of the environment variable of the setting.
func (s *setting) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

func (s *setting) defaultText(c *Config, host machine) (string, error) {
	if s.derive == nil {
		return s.fallback, nil
	}
	return s.derive(c, host)
}

// into is the apply of a setting that parse turns into one field.
func into[T any](field func(*Config) *T, parse func(string) (T, error)) func(*Config, string) error {
	return func(c *Config, text string) error {
		value, err := parse(text)
		if err != nil {
			return err
		}
		*field(c) = value
		return nil
	}
}

// settings is every setting of relaypdf. A default may be derived from a setting above it.
var settings = []setting{
	{
		name: configSetting, topic: topicProcess, group: groupAny,
		doc:   "File with one `RELAYPDF_NAME=value` per line, read after flags and environment. Lines that start with `#` are comments.",
		apply: into(func(c *Config) *string { return &c.File }, parseText),
	},
	{
		name: "listen", topic: topicProcess, group: groupServer, fallback: "127.0.0.1:8787",
		doc:   "Address and port of the service. Port 0 picks a free one.",
		apply: into(func(c *Config) *string { return &c.Listen }, parseAddress),
	},
	{
		name: "base-url", topic: topicProcess, group: groupServer,
		derivation: "localhost with the port of `RELAYPDF_LISTEN`",
		derive:     func(c *Config, _ machine) (string, error) { return localURL(c.Listen), nil },
		doc:        "Public address of the service. Every link is built from it, never from a request's Host header. Test keys work only while it is a loopback address.",
		apply:      into(func(c *Config) *string { return &c.BaseURL }, parseBaseURL),
	},
	{
		name: "data-dir", topic: topicProcess, group: groupServer,
		derivation: "`$XDG_DATA_HOME/relaypdf`; without it `/var/lib/relaypdf` for root, `~/.local/share/relaypdf` for others",
		derive:     defaultDataDir,
		doc:        "Folder of the database, the stored files and the generated secret. It is made when missing.",
		apply:      into(func(c *Config) *string { return &c.DataDir }, filepath.Abs),
	},
	{
		name: "secret-key", topic: topicProcess, group: groupServer, secret: true,
		derivation: "a generated one, in `secret.key` in the data folder; needed with PostgreSQL off loopback",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Key that encrypts secrets at rest, such as webhooks' and the inputs of waiting jobs: at least 32 characters, the same on every machine that shares a database. Without it they cannot be read again.",
		apply:      into(func(c *Config) *string { return &c.SecretKey }, parseSecretKey),
	},
	{
		name: "roles", topic: topicProcess, group: groupServer, fallback: "api,web,worker",
		doc:   "What this process does, separated by commas: `api` serves the interface, `web` the dashboard, `worker` runs jobs and sends webhooks.",
		apply: into(func(c *Config) *[]string { return &c.Roles }, parseRoles),
	},
	{
		name: "region", topic: topicProcess, group: groupServer,
		derivation: "`$FLY_REGION`, else `loc`",
		derive:     defaultRegion,
		doc:        "Where this process runs: three lower-case letters or digits, which ids begin with after their time. Rate limits are counted per region.",
		apply:      into(func(c *Config) *string { return &c.Region }, parseRegion),
	},
	{
		name: "drain-delay", topic: topicProcess, group: groupServer, fallback: "0s",
		doc:   "How long `/health/ready` fails before the service stops listening, so that a balancer in front sends nothing more.",
		apply: into(func(c *Config) *time.Duration { return &c.DrainDelay }, parseDelay),
	},
	{
		name: "shutdown-timeout", topic: topicProcess, group: groupServer, fallback: "30s",
		doc:   "How long running work may take to end when the service is stopped.",
		apply: into(func(c *Config) *time.Duration { return &c.ShutdownTimeout }, parseDuration),
	},
	{
		name: "database-url", topic: topicData, group: groupServer, secret: true,
		derivation: "SQLite, `relaypdf.db` in the data folder",
		derive:     inDataDir("sqlite://", "relaypdf.db"),
		doc:        "Database: `sqlite:///absolute/path.db` or `postgres://user:password@host/name`, with `?default_query_exec_mode=exec` where a pooler in between forgets prepared statements. A process has 16 connections to PostgreSQL, or `pool_max_conns` in the URL, and 4 more for reports.",
		apply:      into(func(c *Config) *string { return &c.DatabaseURL }, parseDatabaseURL),
	},
	{
		name: "database-session-url", topic: topicData, group: groupServer, secret: true,
		doc: "A second way to the same PostgreSQL, past a pooler such as pgbouncer in transaction mode: for what needs a session, notifications and migrations. Where it is set, " +
			"nothing is prepared on `RELAYPDF_DATABASE_URL`.",
		apply: into(func(c *Config) *string { return &c.SessionURL }, parsePostgresURL),
	},
	{
		name: "retention-months", topic: topicData, group: groupServer, fallback: "0",
		doc: "Whole months before this one whose calls, deliveries and events stay in the database; older months are removed, 7 days after the log and `relaypdf doctor` announce them. " +
			"The ledger, payments and templates stay. 0 keeps everything.",
		apply: into(func(c *Config) *int { return &c.RetentionMonths }, parseCount(1200)),
	},
	{
		name: "redis-url", topic: topicData, group: groupServer, secret: true,
		doc:   "`redis://` or `rediss://` address of a Redis that counts rate limits for all processes of a region. While it does not answer, each process counts for itself, and adds that when it does.",
		apply: into(func(c *Config) *string { return &c.RedisURL }, parseRedisURL),
	},
	{
		name: "blobs", topic: topicData, group: groupServer,
		derivation: "`blobs` in the data folder",
		derive:     inDataDir("file:", "blobs"),
		doc: "Where results and uploads are kept: `file:/absolute/folder`, or `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1`. Without an endpoint the bucket is Amazon's, " +
			"without a region in us-east-1.",
		apply: into(func(c *Config) *blobPlace { return &c.Blobs }, parseBlobs),
	},
	{
		name: "blobs-redirect", topic: topicData, group: groupServer, fallback: "off",
		doc:   "`on` sends downloads of results to the bucket, by an address that works for a minute. Uploads are never sent there.",
		apply: into(func(c *Config) *bool { return &c.BlobsRedirect }, parseSwitch),
	},
	{
		name: "s3-access-key", topic: topicData, group: groupServer,
		doc:   "Access key of the buckets. Without it the keys are looked for as Amazon's programs do: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `~/.aws/credentials`, the role of the machine.",
		apply: into(func(c *Config) *string { return &c.S3AccessKey }, parseText),
	},
	{
		name: "s3-secret-key", topic: topicData, group: groupServer, secret: true,
		doc:   "Secret key that belongs to `RELAYPDF_S3_ACCESS_KEY`.",
		apply: into(func(c *Config) *string { return &c.S3SecretKey }, parseText),
	},
	{
		name: "trusted-ip-header", topic: topicRequests, group: groupServer, emptyMeans: true,
		doc:   "The one header in which a proxy in front sends the client's address: `Fly-Client-IP`, `CF-Connecting-IP`, `X-Forwarded-For`, or `X-Forwarded-For:2` behind two that append to it. Set it only where every request passes that proxy. Empty uses the connection's address.",
		apply: into(func(c *Config) *string { return &c.TrustedIPHeader }, parseHeaderName),
	},
	{
		name: "rate-limits", topic: topicRequests, group: groupServer, fallback: "on",
		doc:   "`off` stops counting requests per key and per address.",
		apply: into(func(c *Config) *bool { return &c.RateLimits }, parseSwitch),
	},
	{
		name: "header-brand", topic: topicRequests, group: groupServer, fallback: "RelayPDF", emptyMeans: true,
		doc:   "Second name under which the `x-service-*` headers are sent (`x-relaypdf-id` beside `x-service-id`). Empty adds none.",
		apply: into(func(c *Config) *string { return &c.HeaderBrand }, parseHeaderName),
	},
	{
		name: "max-body", topic: topicRequests, group: groupServer, fallback: "100MiB",
		doc:   "Largest request body.",
		apply: into(func(c *Config) *int64 { return &c.MaxBody }, parseSize),
	},
	{
		name: "max-file", topic: topicRequests, group: groupServer, fallback: "50MiB",
		doc:   "Largest single file, inline, fetched or uploaded.",
		apply: into(func(c *Config) *int64 { return &c.MaxFile }, parseSize),
	},
	{
		name: "allow-hosts", topic: topicRequests, group: groupServer,
		doc:   "Private targets that documents, file sources and webhooks may reach nevertheless: hosts, `host:port` or CIDRs, separated by commas.",
		apply: into(func(c *Config) *[]string { return &c.AllowHosts }, parseList),
	},
	{
		name: "extra-ca", topic: topicRequests, group: groupServer,
		doc:   "PEM file with certificate authorities that are trusted besides the system's, by the browser, by file fetches and webhooks, for buckets, and for the provider of OpenID Connect.",
		apply: into(func(c *Config) *string { return &c.ExtraCA }, parseCAFile),
	},
	{
		name: "memory", topic: topicWork, group: groupServer,
		derivation: "the control group's limit, or else the machine's memory",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Memory that the service with its browsers and engines may take, such as `2GiB`. How many of each there are, and what each may hold, derives from it; `relaypdf config` shows the plan.",
		apply:      into(func(c *Config) *int64 { return &c.Memory }, parseMemory),
	},
	{
		name: "render-slots", topic: topicWork, group: groupServer, fallback: "0",
		doc:   "Documents rendered at once. 0 is one per core, or fewer where there is little memory.",
		apply: into(func(c *Config) *int { return &c.RenderSlots }, parseCount(1024)),
	},
	{
		name: "workers", topic: topicWork, group: groupServer, fallback: "0",
		doc:   "Jobs run at once by a process with the role `worker`. 0 is two per core.",
		apply: into(func(c *Config) *int { return &c.Workers }, parseCount(1024)),
	},
	{
		name: "engines", topic: topicWork, group: groupServer, fallback: strings.Join(operation.Engines, ","),
		doc: "Heavy engines that run: some of `office`, `ocr` and `ghostscript`, or `none`. What needs another answers 503 and is missing from the price list, the playground and the tools of agents; " +
			"no office is started that is not named.",
		apply: into(func(c *Config) *[]string { return &c.Engines }, parseEngines),
	},
	{
		name: "fonts", topic: topicWork, group: groupServer,
		doc:   "Folder of typefaces (TrueType, OpenType) that documents find besides the system's, in the browser and in office programs. The user that these run as must be able to read it. It is read at the start.",
		apply: into(func(c *Config) *string { return &c.Fonts }, parseFolder),
	},
	{
		name: "chromium", topic: topicWork, group: groupServer,
		derivation: "chromium-headless-shell where the distribution puts it, then in `PATH`, then chromium",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Path of the browser.",
		apply:      into(func(c *Config) *string { return &c.Chromium }, parseText),
	},
	{
		name: "render-user", topic: topicWork, group: groupServer, fallback: "relaypdf",
		doc:   "Unprivileged user that the browser and the other engines run as when the service is started as root.",
		apply: into(func(c *Config) *string { return &c.RenderUser }, parseText),
	},
	{
		name: "sandbox", topic: topicWork, group: groupServer,
		derivation: "`reduced` in a container, else `full`",
		derive:     defaultSandbox,
		doc:        "Least protection to start with, against documents that break out of a browser or engine. `full`: namespaces. `reduced`: none of them, but Landlock. `none`: neither; for machines that hold nothing else. What there is gets used in any case.",
		apply:      into(func(c *Config) *string { return &c.Sandbox }, parseOneOf("full", "reduced", "none")),
	},
	{
		name: "signup", topic: topicAccounts, group: groupServer,
		derivation: "`open` while the base URL is loopback, else `closed`",
		derive: func(c *Config, _ machine) (string, error) {
			if api.Loopback(c.BaseURL) {
				return web.SignUpOpen, nil
			}
			return web.SignUpClosed, nil
		},
		doc:   "Who may make an account on the pages: `open` is anybody, `invite` who was invited to an account, `closed` nobody: the operator makes them.",
		apply: into(func(c *Config) *string { return &c.SignUp }, parseSignUp),
	},
	{
		name: "trial", topic: topicAccounts, group: groupServer, fallback: "5.00",
		doc:   "Credit of a new account, in US dollars.",
		apply: into(func(c *Config) *credit.Amount { return &c.Trial }, parseDollars),
	},
	{
		name: "smtp-url", topic: topicAccounts, group: groupServer, secret: true,
		doc:   "Mail server: `smtp://user:password@host:587` or `smtps://user:password@host:465`. Without one no mail is sent; `relaypdf people link` prints links in its place.",
		apply: into(func(c *Config) *string { return &c.SMTPURL }, parseText),
	},
	{
		name: "mail-from", topic: topicAccounts, group: groupServer,
		derivation: "`relaypdf <noreply@HOST>`, the host of the base URL",
		derive:     mailFrom,
		doc:        "Sender of mails.",
		apply:      into(func(c *Config) *string { return &c.MailFrom }, parseText),
	},
	{
		name: "oidc-issuer", topic: topicAccounts, group: groupServer,
		doc: "Address of a provider of OpenID Connect with which people may log in, as the provider writes it, such as `https://id.example.com/realms/staff`. " +
			"Its client leads back to `/login/oidc/callback` below the base URL.",
		apply: into(func(c *Config) *string { return &c.OIDCIssuer }, parseIssuer),
	},
	{
		name: "oidc-client-id", topic: topicAccounts, group: groupServer,
		doc:   "Name of this service at the provider. Needed with the issuer.",
		apply: into(func(c *Config) *string { return &c.OIDCClientID }, parseText),
	},
	{
		name: "oidc-client-secret", topic: topicAccounts, group: groupServer, secret: true,
		doc:   "Password of this service at the provider. Clients that the provider calls public have none.",
		apply: into(func(c *Config) *string { return &c.OIDCClientSecret }, parseText),
	},
	{
		name: "oidc-name", topic: topicAccounts, group: groupServer,
		derivation: "the host of the issuer",
		derive:     issuerHost,
		doc:        "What people know the provider as, on buttons.",
		apply:      into(func(c *Config) *string { return &c.OIDCName }, parseText),
	},
	{
		name: "mcp-issuer", topic: topicAccounts, group: groupServer,
		doc: "Address of a provider of OpenID Connect whose access tokens `/mcp` takes beside its own, as the provider writes it. They must be JWTs, signed by a key of the provider's, with the audience below, " +
			"and say `email` and `email_verified` of a person who may let programs in here.",
		apply: into(func(c *Config) *string { return &c.MCPIssuer }, parseIssuer),
	},
	{
		name: "mcp-audience", topic: topicAccounts, group: groupServer,
		derivation: "`/mcp` below the base URL, with an issuer",
		derive:     mcpAudience,
		doc:        "Audience (`aud`) of these tokens.",
		apply:      into(func(c *Config) *string { return &c.MCPAudience }, parseText),
	},
	{
		name: "billing", topic: topicMoney, group: groupServer, fallback: "on",
		doc:   "`off`: calls are still priced and metered, and never refused for an empty balance.",
		apply: into(func(c *Config) *bool { return &c.Billing }, parseSwitch),
	},
	{
		name: "prices", topic: topicMoney, group: groupServer,
		doc:   "Prices that differ from the price list, in microdollars, such as `pdf.create=2000,images.create=1500`.",
		apply: into(func(c *Config) *map[string]credit.Amount { return &c.Prices }, parsePrices),
	},
	{
		name: "stripe-secret-key", topic: topicMoney, group: groupServer, secret: true,
		doc:   "Stripe's key, `sk_live_…` or `sk_test_…`, with which accounts top up their wallets. Without one only the operator credits accounts.",
		apply: into(func(c *Config) *string { return &c.StripeSecretKey }, parseStripeKey),
	},
	{
		name: "stripe-webhook-secret", topic: topicMoney, group: groupServer, secret: true,
		doc:   "Secret `whsec_…` of the endpoint that Stripe sends its events to: `/stripe/webhook` below the base URL. Needed with the key.",
		apply: into(func(c *Config) *string { return &c.StripeWebhookSecret }, parseText),
	},
	{
		name: "stripe-api-url", topic: topicMoney, group: groupServer,
		doc:   "Stand-in for Stripe's address, on this machine only, for tests: `http://127.0.0.1:12111`.",
		apply: into(func(c *Config) *string { return &c.StripeAPIURL }, parseStripeURL),
	},
	{
		name: "ai-provider", topic: topicModel, group: groupServer,
		doc:   "Whose model writes templates (`POST /v1/templates/generate`) and fills schemas (`POST /v1/pdf/data`): `openai`, which is every service with chat completions, or `anthropic`. Empty: nobody.",
		apply: into(func(c *Config) *string { return &c.AI.Provider }, parseOneOf(llm.OpenAI, llm.Anthropic)),
	},
	{
		name: "ai-api-key", topic: topicModel, group: groupServer, secret: true,
		doc:   "Key for the AI provider. Needed unless `RELAYPDF_AI_BASE_URL` is set.",
		apply: into(func(c *Config) *string { return &c.AI.Key }, parseText),
	},
	{
		name: "ai-base-url", topic: topicModel, group: groupServer,
		derivation: "the provider's own",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Address of the AI provider, such as `http://127.0.0.1:11434/v1` for a model on this machine. With `openai` it ends before `/chat/completions`, with `anthropic` before `/v1/messages`.",
		apply:      into(func(c *Config) *string { return &c.AI.BaseURL }, parseBaseURL),
	},
	{
		name: "ai-model", topic: topicModel, group: groupServer,
		doc:   "Model of the AI provider, by the provider's name. Needed with a provider.",
		apply: into(func(c *Config) *string { return &c.AI.Model }, parseText),
	},
	{
		name: "ai-price-input", topic: topicModel, group: groupServer,
		doc:   "What the AI provider takes for a million tokens that the model reads, in US dollars, such as `2.50`. Needed with a provider; 0 for a model of your own.",
		apply: into(func(c *Config) *credit.Amount { return &c.AIInput }, parseTokenPrice),
	},
	{
		name: "ai-price-output", topic: topicModel, group: groupServer,
		doc:   "What it takes for a million tokens that the model writes.",
		apply: into(func(c *Config) *credit.Amount { return &c.AIOutput }, parseTokenPrice),
	},
	{
		name: "log-level", topic: topicLog, group: groupServer, fallback: "info",
		doc:   "Least severe line that is logged: `debug`, `info`, `warn` or `error`.",
		apply: into(func(c *Config) *slog.Level { return &c.LogLevel }, parseLogLevel),
	},
	{
		name: "log-format", topic: topicLog, group: groupServer, fallback: "json",
		doc:   "`json` or `text`.",
		apply: into(func(c *Config) *string { return &c.LogFormat }, parseOneOf("json", "text")),
	},
	{
		name: "metrics-listen", topic: topicLog, group: groupServer, fallback: "127.0.0.1:8788", emptyMeans: true,
		doc:   "Private address and port of `/metrics` and pprof, which have no authentication, and of `/health` and `/health/ready` for probes, which a process without `api` and `web` has nowhere else. Empty turns it off.",
		apply: into(func(c *Config) *string { return &c.MetricsListen }, optional(parseAddress)),
	},
	{
		name: "otlp-url", topic: topicLog, group: groupServer,
		derivation: "`$OTEL_EXPORTER_OTLP_ENDPOINT`",
		derive:     func(_ *Config, host machine) (string, error) { return host.env["OTEL_EXPORTER_OTLP_ENDPOINT"], nil },
		doc: "Address of an OpenTelemetry collector that takes traces over HTTP, such as `http://127.0.0.1:4318`. Empty makes none. Headers, sampling and batches " +
			"are set by the variables of OpenTelemetry: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES`.",
		apply: into(func(c *Config) *string { return &c.OTLPURL }, parseBaseURL),
	},
	{
		name: "api-key", topic: topicClient, group: groupClient, secret: true,
		doc:   "Key with which the command line calls a server.",
		apply: into(func(c *Config) *string { return &c.APIKey }, parseText),
	},
	{
		name: "api-url", topic: topicClient, group: groupClient,
		derivation: "`RELAYPDF_BASE_URL`",
		derive:     func(c *Config, _ machine) (string, error) { return c.BaseURL, nil },
		doc:        "Server that the command line calls.",
		apply:      into(func(c *Config) *string { return &c.APIURL }, parseBaseURL),
	},
	{
		name: "profile", topic: topicClient, group: groupClient,
		derivation: "the one that `relaypdf profiles use` chose",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Profile of `relaypdf login` whose server and key the command line uses.",
		apply:      into(func(c *Config) *string { return &c.Profile }, parseText),
	},
}

// AddFlags defines the flags of the settings of the groups, and those of every command. Their defaults are in the
// help text only: LoadConfig supplies them, so an absent flag never hides the environment.
func AddFlags(flags *pflag.FlagSet, groups ...settingGroup) {
	for i := range settings {
		if s := &settings[i]; s.group == groupAny || slices.Contains(groups, s.group) {
			flags.String(s.name, "", s.usage())
		}
	}
}

// lookupSetting returns the row of a name, nil when there is none.
func lookupSetting(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

// usage is the flag's help: pflag reads a back-quoted word as the name of the
// flag's argument, so the quotes go.
func (s *setting) usage() string {
	text := strings.ReplaceAll(s.doc, "`", "") + " Variable " + s.variable() + "."
	if s.secret {
		text += " Prefer the variable: other users can read a command line."
	}
	if shown := s.shownDefault(); shown != "" {
		text += " Default: " + strings.ReplaceAll(shown, "`", "") + "."
	}
	return text
}

// shownDefault is the default for people, in Markdown; empty where there is none.
func (s *setting) shownDefault() string {
	switch {
	case s.derivation != "":
		return s.derivation
	case s.fallback != "":
		return "`" + s.fallback + "`"
	}
	return ""
}
