package app

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

// settingGroup is the group of commands that a setting is for.
type settingGroup string

// The groups of settings.
const (
	GroupServer settingGroup = "server" // serve and the commands that open the same data
	GroupClient settingGroup = "client" // commands that call a server over HTTP
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

// Setting is one row of the table of settings. Its flag is the name and its
// variable derives from it, so both are written once.
type Setting struct {
	name       string
	topic      settingTopic
	group      settingGroup
	doc        string // one or more sentences, for `--help`, `config --markdown` and users
	kind       string // of value in the help, such as on|off; empty: string
	fallback   string // default, as the user would write it
	derivation string // describes the derivation of the default; derive is then set
	derive     func(*Config, machine) (string, error)
	secret     bool // never printed, in errors neither
	emptyMeans bool // an empty value means something else than "the default"
	apply      func(*Config, string) error
}

// setting returns the part of the row that commands without a server know, too.
func (s *Setting) setting() setting.Setting {
	return setting.Setting{
		Name: s.name, Kind: s.kind, Doc: s.doc, Fallback: s.fallback, Derivation: s.derivation, Secret: s.secret,
		EmptyMeans: s.emptyMeans,
	}
}

// of completes a row with what it shares with the commands that call a server.
func of(shared setting.Setting, row Setting) Setting {
	row.name = shared.Name
	row.kind = shared.Kind
	row.doc = shared.Doc
	row.fallback = shared.Fallback
	row.derivation = shared.Derivation
	row.secret = shared.Secret
	return row
}

// variable is the name of the environment variable of the setting.
func (s *Setting) variable() string { return s.setting().Variable() }

func (s *Setting) defaultText(c *Config, host machine) (string, error) {
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
var settings = []Setting{
	of(setting.Config, Setting{
		topic: topicProcess, group: groupAny,
		apply: into(func(c *Config) *string { return &c.File }, parseText),
	}),
	of(setting.Listen, Setting{
		topic: topicProcess, group: GroupServer,
		apply: into(func(c *Config) *string { return &c.Listen }, parseAddress),
	}),
	of(setting.BaseURL, Setting{
		topic: topicProcess, group: GroupServer,
		derive: func(c *Config, _ machine) (string, error) { return setting.LocalURL(c.Listen), nil },
		apply:  into(func(c *Config) *string { return &c.BaseURL }, setting.ParseURL),
	}),
	{
		name: "pages", kind: "folder", topic: topicProcess, group: GroupServer,
		doc:   "Folder of your own pages: `terms.md`, `privacy.md` and `contact.md`. Public pages link to those that exist. Restart the server after a change.",
		apply: into(func(c *Config) *string { return &c.Pages }, parseFolder),
	},
	{
		name: "data-dir", kind: "folder", topic: topicProcess, group: GroupServer,
		derivation: "`$XDG_DATA_HOME/relaypdf`; without it `/var/lib/relaypdf` for root, `~/.local/share/relaypdf` for others",
		derive:     defaultDataDir,
		doc:        "Folder of the database, stored files and generated secret. It is created if it is missing.",
		apply:      into(func(c *Config) *string { return &c.DataDir }, filepath.Abs),
	},
	{
		name: "secret-key", topic: topicProcess, group: GroupServer, secret: true,
		derivation: "a generated one, in `secret.key` in the data folder; needed with PostgreSQL off loopback",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Key that encrypts stored secrets. At least 32 characters, the same on every machine that shares a database. It covers webhook secrets, the secrets of connections and the inputs of waiting jobs; without the key they cannot be decrypted.",
		apply:      into(func(c *Config) *string { return &c.SecretKey }, parseSecretKey),
	},
	{
		name: "roles", topic: topicProcess, group: GroupServer, fallback: "api,web,worker",
		doc:   "Roles of this process, separated by commas. `api`: serve the API. `web`: serve the dashboard. `worker`: run jobs and send webhooks.",
		apply: into(func(c *Config) *[]string { return &c.Roles }, parseRoles),
	},
	{
		name: "region", topic: topicProcess, group: GroupServer,
		derivation: "`$FLY_REGION`, else `loc`",
		derive:     defaultRegion,
		doc:        "Region of this process: 3 lower-case letters or digits. IDs contain it after their timestamp. Rate limits are counted per region.",
		apply:      into(func(c *Config) *string { return &c.Region }, parseRegion),
	},
	{
		name: "drain-delay", kind: "duration", topic: topicProcess, group: GroupServer, fallback: "0s",
		doc:   "Time between a failing `/health/ready` and the shutdown. Set it to the time that your load balancer needs to stop sending requests, such as `10s`.",
		apply: into(func(c *Config) *time.Duration { return &c.DrainDelay }, parseDelay),
	},
	{
		name: "shutdown-timeout", kind: "duration", topic: topicProcess, group: GroupServer, fallback: "30s",
		doc:   "Maximum time for running work to finish at shutdown.",
		apply: into(func(c *Config) *time.Duration { return &c.ShutdownTimeout }, parseDuration),
	},
	{
		name: "database-url", kind: "url", topic: topicData, group: GroupServer, secret: true,
		derivation: "SQLite, `relaypdf.db` in the data folder",
		derive:     inDataDir("sqlite://", "relaypdf.db"),
		doc:        "URL of the database. `sqlite:///absolute/path.db` or `postgres://user:password@host/name`. Add `?default_query_exec_mode=exec` behind a pooler that does not support prepared statements. Each process opens up to 16 PostgreSQL connections (`pool_max_conns` in the URL changes that), and 4 more for reports.",
		apply:      into(func(c *Config) *string { return &c.DatabaseURL }, parseDatabaseURL),
	},
	{
		name: "database-session-url", kind: "url", topic: topicData, group: GroupServer, secret: true,
		doc:   "URL of the same PostgreSQL that bypasses a pooler. Set it behind a pooler in transaction mode, such as pgbouncer. Notifications and migrations use it. If it is set, `RELAYPDF_DATABASE_URL` is used without prepared statements.",
		apply: into(func(c *Config) *string { return &c.SessionURL }, parsePostgresURL),
	},
	{
		name: "retention-months", kind: "int", topic: topicData, group: GroupServer, fallback: "0",
		doc:   "Whole months of calls, deliveries and events to keep. Older months are deleted, 7 days after the log and `relaypdf doctor` announce it. The ledger, payments and templates are always kept. 0 keeps everything.",
		apply: into(func(c *Config) *int { return &c.RetentionMonths }, parseCount(1200)),
	},
	{
		name: "redis-url", kind: "url", topic: topicData, group: GroupServer, secret: true,
		doc:   "URL of a Redis that counts rate limits for a region. Starts with `redis://` or `rediss://`. Set it when several processes serve a region. While Redis is unavailable, each process counts for itself, and adds its counts when Redis is available again.",
		apply: into(func(c *Config) *string { return &c.RedisURL }, parseRedisURL),
	},
	{
		name: "blobs", topic: topicData, group: GroupServer,
		derivation: "`blobs` in the data folder",
		derive:     inDataDir("file:", "blobs"),
		doc:        "Storage of results and uploads. `file:/absolute/folder`, or `s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1`. The default endpoint is Amazon S3, the default region us-east-1.",
		apply:      into(func(c *Config) *blobPlace { return &c.Blobs }, parseBlobs),
	},
	{
		name: "blobs-redirect", kind: "on|off", topic: topicData, group: GroupServer, fallback: "off",
		doc:   "If `on`, redirect result downloads to the bucket. The redirect URL is valid for 1 minute. Uploads, and results with `maxDownloads`, are never redirected.",
		apply: into(func(c *Config) *bool { return &c.BlobsRedirect }, parseSwitch),
	},
	{
		name: "s3-access-key", topic: topicData, group: GroupServer,
		doc:   "Access key of the buckets. Default: the AWS credential chain (`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `~/.aws/credentials`, the role of the machine).",
		apply: into(func(c *Config) *string { return &c.S3AccessKey }, parseText),
	},
	{
		name: "s3-secret-key", topic: topicData, group: GroupServer, secret: true,
		doc:   "Secret key for `RELAYPDF_S3_ACCESS_KEY`.",
		apply: into(func(c *Config) *string { return &c.S3SecretKey }, parseText),
	},
	{
		name: "trusted-ip-header", topic: topicRequests, group: GroupServer, emptyMeans: true,
		doc:   "Request header that contains the client's IP address. `Fly-Client-IP`, `CF-Connecting-IP` or `X-Forwarded-For`; `X-Forwarded-For:2` behind two proxies that append to it. Set it only if every request passes through your proxy. Empty: use the address of the connection.",
		apply: into(func(c *Config) *string { return &c.TrustedIPHeader }, parseHeaderName),
	},
	{
		name: "rate-limits", kind: "on|off", topic: topicRequests, group: GroupServer, fallback: "on",
		doc:   "If `off`, do not limit requests per key and IP address.",
		apply: into(func(c *Config) *bool { return &c.RateLimits }, parseSwitch),
	},
	{
		name: "header-brand", topic: topicRequests, group: GroupServer, fallback: "RelayPDF", emptyMeans: true,
		doc:   "Second prefix of the `x-service-*` response headers. With `RelayPDF`, `x-service-id` is also sent as `x-relaypdf-id`. Empty: none.",
		apply: into(func(c *Config) *string { return &c.HeaderBrand }, parseHeaderName),
	},
	{
		name: "max-body", kind: "size", topic: topicRequests, group: GroupServer, fallback: "100MiB",
		doc:   "Maximum size of a request body.",
		apply: into(func(c *Config) *int64 { return &c.MaxBody }, parseSize),
	},
	{
		name: "max-file", kind: "size", topic: topicRequests, group: GroupServer, fallback: "50MiB",
		doc:   "Maximum size of a file: inline, fetched or uploaded.",
		apply: into(func(c *Config) *int64 { return &c.MaxFile }, parseSize),
	},
	{
		name: "allow-hosts", topic: topicRequests, group: GroupServer,
		doc:   "Private hosts that documents and webhooks may access. Hosts, `host:port` or CIDRs, separated by commas. Applies to pages, file sources and webhooks.",
		apply: into(func(c *Config) *[]string { return &c.AllowHosts }, parseList),
	},
	{
		name: "extra-ca", kind: "file", topic: topicRequests, group: GroupServer,
		doc:   "PEM file of certificate authorities to trust. They are added to those of the system, for the browser, file fetches, webhooks, buckets and OpenID Connect.",
		apply: into(func(c *Config) *string { return &c.ExtraCA }, ParseCAFile),
	},
	{
		name: "memory", kind: "size", topic: topicWork, group: GroupServer,
		derivation: "the control group's limit, or else the machine's memory",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Maximum memory of the server and its engines, such as `2GiB`. It determines the number and the size of browsers and engines. `relaypdf config` prints the resulting plan.",
		apply:      into(func(c *Config) *int64 { return &c.Memory }, parseMemory),
	},
	{
		name: "render-slots", kind: "int", topic: topicWork, group: GroupServer, fallback: "0",
		doc:   "Maximum number of documents rendered at once. 0: one per core, or fewer if memory is low.",
		apply: into(func(c *Config) *int { return &c.RenderSlots }, parseCount(1024)),
	},
	{
		name: "workers", kind: "int", topic: topicWork, group: GroupServer, fallback: "0",
		doc:   "Maximum number of jobs run at once by a worker process. 0: two per core.",
		apply: into(func(c *Config) *int { return &c.Workers }, parseCount(1024)),
	},
	{
		name: "engines", topic: topicWork, group: GroupServer, fallback: strings.Join(operation.Engines, ","),
		doc:   "Optional engines to run: `office`, `ocr`, `ghostscript`, `verapdf` or `none`. Separate them by commas. Operations that need another engine return 503 and are missing from the price list, the playground and the MCP tools.",
		apply: into(func(c *Config) *[]string { return &c.Engines }, parseEngines),
	},
	{
		name: "fonts", kind: "folder", topic: topicWork, group: GroupServer,
		doc:   "Folder of additional fonts (TrueType, OpenType). Documents find them alongside the system's fonts, in the browser and in LibreOffice. The user of `RELAYPDF_RENDER_USER` must be able to read the folder. Restart the server after a change.",
		apply: into(func(c *Config) *string { return &c.Fonts }, parseFolder),
	},
	{
		name: "chromium", kind: "file", topic: topicWork, group: GroupServer,
		derivation: "chromium-headless-shell where the distribution puts it, then in `PATH`, then chromium",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Path of the browser.",
		apply:      into(func(c *Config) *string { return &c.Chromium }, parseText),
	},
	{
		name: "render-user", topic: topicWork, group: GroupServer, fallback: "relaypdf",
		doc:   "Unprivileged user that runs the browser and the engines. Used if the server is started as root.",
		apply: into(func(c *Config) *string { return &c.RenderUser }, parseText),
	},
	{
		name: "sandbox", kind: "full|reduced|none", topic: topicWork, group: GroupServer,
		derivation: "`reduced` in a container, else `full`",
		derive:     defaultSandbox,
		doc:        "Minimum sandbox that the server requires to start. `full`: namespaces. `reduced`: Landlock without namespaces. `none`: no sandbox, only for machines without other data. The server always uses the strongest sandbox available.",
		apply:      into(func(c *Config) *string { return &c.Sandbox }, parseOneOf("full", "reduced", "none")),
	},
	{
		name: "admin-email", kind: "email", topic: topicAccounts, group: GroupServer,
		fallback: "admin@localhost", emptyMeans: true,
		doc:   "Email address of the first account. A server that starts without accounts creates this account with an operator, and prints a login link and an API key once. Empty: create none.",
		apply: into(func(c *Config) *string { return &c.AdminEmail }, optional(ParseEmail)),
	},
	{
		name: "signup", kind: "open|invite|closed", topic: topicAccounts, group: GroupServer,
		derivation: "`open` while the base URL is loopback, else `closed`",
		derive: func(c *Config, _ machine) (string, error) {
			if middleware.IsLoopback(c.BaseURL) {
				return web.SignUpOpen, nil
			}
			return web.SignUpClosed, nil
		},
		doc:   "Users who can create an account on the website. `open`: everyone. `invite`: users with an invitation to an account. `closed`: no one; the operator creates accounts.",
		apply: into(func(c *Config) *string { return &c.SignUp }, parseSignUp),
	},
	{
		name: "trial", kind: "dollars", topic: topicAccounts, group: GroupServer, fallback: "5.00",
		doc:   "Credit of a new account, in US dollars.",
		apply: into(func(c *Config) *credit.Amount { return &c.Trial }, parseDollars),
	},
	{
		name: "smtp-url", kind: "url", topic: topicAccounts, group: GroupServer, secret: true,
		doc:   "SMTP server for outgoing email. `smtp://user:password@host:587` or `smtps://user:password@host:465`. Without it no email is sent, and `relaypdf people link` prints login links instead.",
		apply: into(func(c *Config) *string { return &c.SMTPURL }, parseText),
	},
	{
		name: "mail-from", topic: topicAccounts, group: GroupServer,
		derivation: "`relaypdf <noreply@HOST>`, the host of the base URL",
		derive:     mailFrom,
		doc:        "Sender of emails.",
		apply:      into(func(c *Config) *string { return &c.MailFrom }, parseText),
	},
	{
		name: "oidc-issuer", kind: "url", topic: topicAccounts, group: GroupServer,
		doc:   "Issuer URL of an OpenID Connect provider for login. Write it exactly as the provider does, such as `https://id.example.com/realms/staff`. The redirect URL is `/login/oidc/callback` below the base URL.",
		apply: into(func(c *Config) *string { return &c.OIDCIssuer }, parseIssuer),
	},
	{
		name: "oidc-client-id", topic: topicAccounts, group: GroupServer,
		doc:   "Client ID at the OpenID Connect provider. Required with an issuer.",
		apply: into(func(c *Config) *string { return &c.OIDCClientID }, parseText),
	},
	{
		name: "oidc-client-secret", topic: topicAccounts, group: GroupServer, secret: true,
		doc:   "Client secret at the OpenID Connect provider. Leave it empty for a public client.",
		apply: into(func(c *Config) *string { return &c.OIDCClientSecret }, parseText),
	},
	{
		name: "oidc-name", topic: topicAccounts, group: GroupServer,
		derivation: "the host of the issuer",
		derive:     issuerHost,
		doc:        "Name of the OpenID Connect provider on buttons.",
		apply:      into(func(c *Config) *string { return &c.OIDCName }, parseText),
	},
	{
		name: "mcp-issuer", kind: "url", topic: topicAccounts, group: GroupServer,
		doc:   "Issuer URL of an OpenID Connect provider for `/mcp`. Its access tokens are accepted in addition to those of relaypdf. They must be JWTs signed by the provider, with the audience of `RELAYPDF_MCP_AUDIENCE`, and with `email` and `email_verified` of a user who may authorize apps.",
		apply: into(func(c *Config) *string { return &c.MCPIssuer }, parseIssuer),
	},
	{
		name: "mcp-audience", topic: topicAccounts, group: GroupServer,
		derivation: "`/mcp` below the base URL, with an issuer",
		derive:     mcpAudience,
		doc:        "Audience (`aud`) that access tokens for `/mcp` must have.",
		apply:      into(func(c *Config) *string { return &c.MCPAudience }, parseText),
	},
	{
		name: "billing", kind: "on|off", topic: topicMoney, group: GroupServer, fallback: "on",
		doc:   "If `off`, never reject calls because of an empty balance. Calls are still priced and metered.",
		apply: into(func(c *Config) *bool { return &c.Billing }, parseSwitch),
	},
	{
		name: "prices", topic: topicMoney, group: GroupServer,
		doc:   "Prices that override the price list, in microdollars. Separate them by commas, such as `pdf.create=2000,images.create=1500`.",
		apply: into(func(c *Config) *map[string]credit.Amount { return &c.Prices }, parsePrices),
	},
	{
		name: "stripe-secret-key", topic: topicMoney, group: GroupServer, secret: true,
		doc:   "Stripe secret key, `sk_live_…` or `sk_test_…`. Set it so that accounts can top up their wallets. Without it, only the operator credits accounts.",
		apply: into(func(c *Config) *string { return &c.StripeSecretKey }, parseStripeKey),
	},
	{
		name: "stripe-webhook-secret", topic: topicMoney, group: GroupServer, secret: true,
		doc:   "Signing secret of the Stripe webhook, `whsec_…`. Create the webhook for `/stripe/webhook` below the base URL. Required with `RELAYPDF_STRIPE_SECRET_KEY`.",
		apply: into(func(c *Config) *string { return &c.StripeWebhookSecret }, parseText),
	},
	{
		name: "stripe-api-url", kind: "url", topic: topicMoney, group: GroupServer,
		doc:   "Local URL that replaces Stripe's API in tests. Loopback only, such as `http://127.0.0.1:12111`.",
		apply: into(func(c *Config) *string { return &c.StripeAPIURL }, parseStripeURL),
	},
	{
		name: "ai-provider", kind: "openai|anthropic", topic: topicModel, group: GroupServer,
		doc:   "AI provider: `openai` (any OpenAI-compatible API) or `anthropic`. Used by `POST /v1/templates/generate` and `POST /v1/pdf/data`. Empty: disable AI features.",
		apply: into(func(c *Config) *string { return &c.AI.Provider }, parseOneOf(llm.OpenAI, llm.Anthropic)),
	},
	{
		name: "ai-api-key", topic: topicModel, group: GroupServer, secret: true,
		doc:   "API key of the AI provider. Required unless `RELAYPDF_AI_BASE_URL` is set.",
		apply: into(func(c *Config) *string { return &c.AI.Key }, parseText),
	},
	{
		name: "ai-base-url", kind: "url", topic: topicModel, group: GroupServer,
		derivation: "the provider's own",
		derive:     func(*Config, machine) (string, error) { return "", nil },
		doc:        "Base URL of the AI provider. For a local model, for example, `http://127.0.0.1:11434/v1`. Leave out `/chat/completions` (openai) or `/v1/messages` (anthropic).",
		apply:      into(func(c *Config) *string { return &c.AI.BaseURL }, setting.ParseURL),
	},
	{
		name: "ai-model", topic: topicModel, group: GroupServer,
		doc:   "Model name at the AI provider. Required with a provider.",
		apply: into(func(c *Config) *string { return &c.AI.Model }, parseText),
	},
	{
		name: "ai-price-input", kind: "dollars", topic: topicModel, group: GroupServer,
		doc:   "Input price of the model, in US dollars per million tokens. For example `2.50`; 0 for your own model. Required with a provider.",
		apply: into(func(c *Config) *credit.Amount { return &c.AIInput }, parseTokenPrice),
	},
	{
		name: "ai-price-output", kind: "dollars", topic: topicModel, group: GroupServer,
		doc:   "Output price of the model, in US dollars per million tokens. Required with a provider.",
		apply: into(func(c *Config) *credit.Amount { return &c.AIOutput }, parseTokenPrice),
	},
	{
		name: "log-level", kind: "debug|info|warn|error", topic: topicLog, group: GroupServer, fallback: "info",
		doc:   "Minimum severity of logged lines: `debug`, `info`, `warn` or `error`.",
		apply: into(func(c *Config) *slog.Level { return &c.LogLevel }, parseLogLevel),
	},
	{
		name: "metrics-listen", kind: "host:port", topic: topicLog,
		group: GroupServer, fallback: "127.0.0.1:8788", emptyMeans: true,
		doc:   "Private address and port of `/metrics` and pprof. They have no authentication. `/health` and `/health/ready` are also served there, for processes without `api` and `web`. Empty: off.",
		apply: into(func(c *Config) *string { return &c.MetricsListen }, optional(parseAddress)),
	},
	{
		name: "otlp-url", kind: "url", topic: topicLog, group: GroupServer,
		derivation: "`$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `$OTEL_EXPORTER_OTLP_ENDPOINT`",
		derive: func(_ *Config, host machine) (string, error) {
			return cmp.Or(host.env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], host.env["OTEL_EXPORTER_OTLP_ENDPOINT"]), nil
		},
		doc:   "URL of an OpenTelemetry collector for traces, over HTTP. For example `http://127.0.0.1:4318`. Empty: no traces. Set headers, compression, certificates, sampling and attributes with OpenTelemetry's own variables, such as `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER` and `OTEL_RESOURCE_ATTRIBUTES`.",
		apply: into(func(c *Config) *string { return &c.OTLPURL }, setting.ParseURL),
	},
	of(setting.APIKey, Setting{
		topic: topicClient, group: GroupClient,
		apply: into(func(c *Config) *string { return &c.APIKey }, parseText),
	}),
	of(setting.APIURL, Setting{
		topic: topicClient, group: GroupClient,
		derive: func(c *Config, _ machine) (string, error) { return c.BaseURL, nil },
		apply:  into(func(c *Config) *string { return &c.APIURL }, setting.ParseURL),
	}),
	of(setting.Profile, Setting{
		topic: topicClient, group: GroupClient,
		derive: func(*Config, machine) (string, error) { return "", nil },
		apply:  into(func(c *Config) *string { return &c.Profile }, parseText),
	}),
}

// AddFlags defines the flags of the settings of the groups, and those of every command. Their defaults are in the
// help text only: LoadConfig supplies them, so an absent flag never hides the environment.
func AddFlags(flags *pflag.FlagSet, groups ...settingGroup) {
	for i := range settings {
		if s := &settings[i]; s.group == groupAny || slices.Contains(groups, s.group) {
			s.setting().AddFlag(flags)
		}
	}
}

// LookupSetting returns the setting of a name, which must exist.
func LookupSetting(name string) setting.Setting {
	for i := range settings {
		if settings[i].name == name {
			return settings[i].setting()
		}
	}
	panic("no setting " + name)
}
