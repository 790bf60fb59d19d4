package app

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/store/credit"
)

// user is a machine without settings: an ordinary user with a home folder.
func user(vars ...string) machine {
	env := setting.ParseEnviron(vars)
	env["HOME"] = "/home/ada"
	return machine{env: env, uid: 1000}
}

func flagsOf(t testing.TB, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	AddFlags(flags, GroupServer, GroupClient)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func mustLoad(t testing.TB, host machine, args ...string) Config {
	t.Helper()
	config, err := loadConfig(flagsOf(t, args...), host)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// origin returns where a setting's value came from.
func origin(t testing.TB, c Config, name string) string {
	t.Helper()
	for _, v := range c.values {
		if v.row.name == name {
			return v.origin
		}
	}
	t.Fatalf("no setting %q", name)
	return ""
}

func writeFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "relaypdf.env")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, user())
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"Listen", c.Listen, "127.0.0.1:8787"},
		{"BaseURL", c.BaseURL, "http://localhost:8787"},
		{"DataDir", c.DataDir, "/home/ada/.local/share/relaypdf"},
		{"DatabaseURL", c.DatabaseURL, "sqlite:///home/ada/.local/share/relaypdf/relaypdf.db"},
		{"Blobs", c.Blobs.Dir, "/home/ada/.local/share/relaypdf/blobs"},
		{"RateLimits", c.RateLimits, true},
		{"Billing", c.Billing, true},
		{"HeaderBrand", c.HeaderBrand, "RelayPDF"},
		{"MetricsListen", c.MetricsListen, "127.0.0.1:8788"},
		{"TrustedIPHeader", c.TrustedIPHeader, ""},
		{"MaxBody", c.MaxBody, int64(100 << 20)},
		{"MaxFile", c.MaxFile, int64(50 << 20)},
		{"RenderUser", c.RenderUser, "relaypdf"},
		{"Trial", c.Trial, 5 * credit.Dollar},
		{"LogLevel", c.LogLevel, slog.LevelInfo},
		{"ShutdownTimeout", c.ShutdownTimeout, 30 * time.Second},
		{"DrainDelay", c.DrainDelay, time.Duration(0)},
		{"Region", c.Region, "loc"},
		{"APIURL", c.APIURL, "http://localhost:8787"},
		{"AllowHosts", len(c.AllowHosts), 0},
		{"Prices", len(c.Prices), 0},
		{"Warnings", len(c.Warnings), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestDerivedDefaults(t *testing.T) {
	for _, tt := range []struct {
		name      string
		host      machine
		args      []string
		field     func(Config) string
		want      string
		wantError string
	}{
		{name: "data under XDG", host: user("XDG_DATA_HOME=/x"), field: func(c Config) string { return c.DataDir }, want: "/x/relaypdf"},
		{name: "data of root", host: machine{env: map[string]string{"HOME": "/root"}}, field: func(c Config) string { return c.DataDir }, want: "/var/lib/relaypdf"},
		{name: "no home", host: machine{uid: 1000}, wantError: "RELAYPDF_DATA_DIR: the value is missing and there is no home folder; set it to a folder that this user can write to"},
		{name: "base URL follows the port", host: user(), args: []string{"--listen", ":9000"}, field: func(c Config) string { return c.BaseURL }, want: "http://localhost:9000"},
		{name: "API URL follows the base URL", host: user("RELAYPDF_BASE_URL=https://pdf.example.com/"), field: func(c Config) string { return c.APIURL }, want: "https://pdf.example.com"},
		{name: "database follows the data folder", host: user(), args: []string{"--data-dir", "/d"}, field: func(c Config) string { return c.DatabaseURL }, want: "sqlite:///d/relaypdf.db"},
		{name: "files follow the data folder", host: user(), args: []string{"--data-dir", "/d"}, field: func(c Config) string { return c.Blobs.Dir }, want: "/d/blobs"},
		{name: "region of the machine", host: user("FLY_REGION=ams"), field: func(c Config) string { return c.Region }, want: "ams"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := loadConfig(flagsOf(t, tt.args...), tt.host)
			if tt.wantError != "" {
				if err == nil || err.Error() != tt.wantError {
					t.Fatalf("got error %v, want %s", err, tt.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.field(c); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRelativeDataDirBecomesAbsolute(t *testing.T) {
	want, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, user(), "--data-dir", "./data").DataDir; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPrecedence takes one source away after the other.
func TestPrecedence(t *testing.T) {
	path := writeFile(t, "# limits\n\nRELAYPDF_MAX_BODY='3MiB'\n")
	file, env, flag := "RELAYPDF_CONFIG="+path, "RELAYPDF_MAX_BODY=2MiB", "--max-body=1MiB"
	for _, tt := range []struct {
		host       machine
		args       []string
		want       int64
		wantOrigin string
	}{
		{user(file, env), []string{flag}, 1 << 20, "flag"},
		{user(file, env), nil, 2 << 20, "environment"},
		{user(file), nil, 3 << 20, path + ":3"},
		{user(), []string{"--config", path}, 3 << 20, path + ":3"},
		{user(), nil, 100 << 20, "default"},
		{user(file, "RELAYPDF_MAX_BODY="), []string{"--max-body="}, 3 << 20, path + ":3"}, // empty is not a value
	} {
		c := mustLoad(t, tt.host, tt.args...)
		if got := origin(t, c, "max-body"); c.MaxBody != tt.want || got != tt.wantOrigin {
			t.Errorf("got %d from %s, want %d from %s", c.MaxBody, got, tt.want, tt.wantOrigin)
		}
	}
}

func TestEmptyMeansSomething(t *testing.T) {
	c := mustLoad(t, user("RELAYPDF_HEADER_BRAND=", "RELAYPDF_METRICS_LISTEN="))
	if c.HeaderBrand != "" || c.MetricsListen != "" {
		t.Errorf("got brand %q and metrics at %q, want both off", c.HeaderBrand, c.MetricsListen)
	}
	c = mustLoad(t, user("RELAYPDF_HEADER_BRAND=Acme"), "--header-brand=")
	if c.HeaderBrand != "" {
		t.Errorf("got brand %q, want the flag's empty value", c.HeaderBrand)
	}
}

func TestValues(t *testing.T) {
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: testCertificate(t)})
	ca := writeFile(t, string(cert))
	c := mustLoad(t, user(
		"RELAYPDF_BLOBS=file:///srv/blobs/", "RELAYPDF_ALLOW_HOSTS= 10.0.0.0/8, intranet:8443 ,",
		"RELAYPDF_BILLING=off", "RELAYPDF_RATE_LIMITS=off", "RELAYPDF_PRICES=pdf.create=2500, pdf.extract-images=0",
		"RELAYPDF_TRIAL=0.25", "RELAYPDF_LOG_LEVEL=debug", "RELAYPDF_EXTRA_CA="+ca,
		"RELAYPDF_DATABASE_URL=postgres://u:p@db/relaypdf", "RELAYPDF_SHUTDOWN_TIMEOUT=90s",
		"RELAYPDF_MAX_FILE=5GB", "RELAYPDF_TRUSTED_IP_HEADER=Fly-Client-IP", "RELAYPDF_LISTEN=[::1]:0",
	))
	if want := []string{"10.0.0.0/8", "intranet:8443"}; !slices.Equal(c.AllowHosts, want) {
		t.Errorf("AllowHosts: got %q, want %q", c.AllowHosts, want)
	}
	if want := map[string]credit.Amount{"pdf.create": 2500, "pdf.extract-images": 0}; !maps.Equal(c.Prices, want) {
		t.Errorf("Prices: got %v, want %v", c.Prices, want)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"Blobs", c.Blobs.Dir, "/srv/blobs"},
		{"Billing", c.Billing, false},
		{"RateLimits", c.RateLimits, false},
		{"Trial", c.Trial, 25 * credit.Cent},
		{"LogLevel", c.LogLevel, slog.LevelDebug},
		{"ExtraCA", c.ExtraCA, ca},
		{"DatabaseURL", c.DatabaseURL, "postgres://u:p@db/relaypdf"},
		{"ShutdownTimeout", c.ShutdownTimeout, 90 * time.Second},
		{"MaxFile", c.MaxFile, int64(5_000_000_000)},
		{"TrustedIPHeader", c.TrustedIPHeader, "Fly-Client-IP"},
		{"Listen", c.Listen, "[::1]:0"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// testCertificate borrows the certificate of a test server.
func testCertificate(t testing.TB) []byte {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.Certificate().Raw
}

// TestErrors holds the whole text of each message: variable, value, remedy.
func TestErrors(t *testing.T) {
	notCA := writeFile(t, "no certificate")
	const (
		badCount  = " is not a whole number from 0 to 1024"
		badHeader = " cannot stand in a header's name; use letters, digits and hyphens"
		badPrices = " is not a list of prices in microdollars; write it like pdf.create=2000,images.create=1500"
		badSize   = " is not a size; write it like 100MiB"
		badBase   = " must be a plain address without user, query and fragment, like https://pdf.example.com"
		badTime   = " is not a length of time; write it like 30s or 2m"
		badRedis  = " is not a Redis address; write it like redis://host:6379/0"
		badDB     = " is not a database; write sqlite:///absolute/path.db or postgres://user:password@host/name"
	)
	for _, tt := range []struct{ variable, value, want string }{
		{"LISTEN", "8787", `"8787" is not an address; write it like 127.0.0.1:8787, or :8787 for every interface`},
		{"LISTEN", "localhost:http", `"localhost:http" has no valid port; write it like 127.0.0.1:8787, with a port from 0 to 65535`},
		{"BASE_URL", "pdf.example.com", `"pdf.example.com" is not a web address; write it like https://pdf.example.com`},
		{"BASE_URL", "https://a/?b", `"https://a/?b"` + badBase},
		{"BASE_URL", "https://u@a", `"https://u@a"` + badBase},
		{"DATABASE_URL", "mysql://u:hunter2@db/x", "the value (hidden)" + badDB},
		{"DATABASE_URL", "sqlite://", "the value (hidden)" + badDB},
		{"REDIS_URL", "db:6379", "the value (hidden)" + badRedis},
		{"REDIS_URL", "redis://db?db=3", "the value (hidden)" + badRedis},
		{"REDIS_URL", "redis://db/cache", "the value (hidden)" + badRedis},
		{"REDIS_URL", "unix://db/socket", "the value (hidden)" + badRedis},
		{"REDIS_URL", "redis:///0", "the value (hidden)" + badRedis},
		{"BLOBS", "s3://bucket?bucket=b", `"s3://bucket?bucket=b" has the unknown parameter bucket; it can have endpoint, public and region`},
		{"BLOBS", "s3://key:secret@bucket", "the value (hidden) must hold no keys; set RELAYPDF_S3_ACCESS_KEY and RELAYPDF_S3_SECRET_KEY"},
		{"BLOBS", "file:here", `"file:here" is not a place of files; write file:/absolute/folder or s3://bucket/prefix`},
		{"EXTRA_CA", "/nowhere.pem", `"/nowhere.pem" cannot be read; name a PEM file that this user may read`},
		{"EXTRA_CA", notCA, `"` + notCA + `" holds no certificate; name a PEM file with at least one CERTIFICATE block`},
		{"BILLING", "true", `"true" is neither on nor off; write on or off`},
		{"HEADER_BRAND", "My Brand", `"My Brand"` + badHeader},
		{"TRUSTED_IP_HEADER", "X:Y", `"X:Y" is not a header; write its name, or with the number of proxies that append to it, X-Forwarded-For:2`},
		{"MAX_BODY", "10x", `"10x"` + badSize},
		{"MAX_BODY", "0", `"0"` + badSize},
		{"MAX_BODY", "9999999999GiB", `"9999999999GiB"` + badSize},
		{"RENDER_SLOTS", "-1", `"-1"` + badCount},
		{"RENDER_SLOTS", "two", `"two"` + badCount},
		{"TRIAL", "-5", `"-5" is not an amount in dollars; write it like 5.00, with at most six decimals`},
		{"PRICES", "pdf.create", `"pdf.create"` + badPrices},
		{"PRICES", "pdf.create=-1", `"pdf.create=-1"` + badPrices},
		{"PRICES", "pdf.create=1,pdf.create=2", `"pdf.create=1,pdf.create=2" gives pdf.create two prices; name each operation once`},
		{"AI_PROVIDER", "acme", `"acme" is not known; write openai or anthropic`},
		{"AI_PRICE_INPUT", "-1", `"-1" is not an amount in dollars; write it like 5.00, with at most six decimals`},
		{"AI_PRICE_OUTPUT", "1001", `"1001" is not a price of a million tokens; write dollars from 0 to 1000, like 2.50`},
		{"LOG_LEVEL", "loud", `"loud" is not a log level; write debug, info, warn or error`},
		{"SHUTDOWN_TIMEOUT", "30", `"30"` + badTime},
		{"SHUTDOWN_TIMEOUT", "-1s", `"-1s"` + badTime},
		{"DRAIN_DELAY", "-1s", `"-1s" is not a length of time; write it like 5s, or 0s for none`},
		{"SECRET_KEY", "hunter2", "the value (hidden) is too short; use at least 32 random characters, for example from `openssl rand -base64 32`"},
		{"REGION", "a b", `"a b" is not a region; use three lower-case letters or digits, such as fra`},
		{"METRICS_LISTEN", "127.0.0.1:8787", `"127.0.0.1:8787" is the public address too; choose another port, or leave it empty to turn it off`},
	} {
		t.Run(tt.variable+"="+tt.value, func(t *testing.T) {
			name := "RELAYPDF_" + tt.variable
			_, err := loadConfig(flagsOf(t), user(name+"="+tt.value))
			if err == nil {
				t.Fatal("got no error")
			}
			if got, want := err.Error(), name+": "+tt.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	path := writeFile(t, "RELAYPDF_TRIAL=much\nRELAYPDF_MAX_FILE\nRELAYPDF_BILLING=on\nRELAYPDF_BILLING=off\nRELAYPDF_CONFIG=other\n")
	_, err := loadConfig(flagsOf(t, "--render-slots=x"), user("RELAYPDF_MAX_BODY=10x", "RELAYPDF_CONFIG="+path))
	if err == nil {
		t.Fatal("got no error")
	}
	want := []string{
		path + ":2: not a setting; write RELAYPDF_NAME=value",
		path + ":4: RELAYPDF_BILLING is set in line 3 already; remove one of them",
		path + ":5: a settings file cannot name another one; remove the line",
		`RELAYPDF_MAX_BODY: "10x" is not a size; write it like 100MiB`,
		`RELAYPDF_RENDER_SLOTS (--render-slots): "x" is not a whole number from 0 to 1024`,
		`RELAYPDF_TRIAL (` + path + `:1): "much" is not an amount in dollars; write it like 5.00, with at most six decimals`,
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMissingFile(t *testing.T) {
	_, err := loadConfig(flagsOf(t), user("RELAYPDF_CONFIG=/nowhere.env"))
	if err == nil || !strings.HasPrefix(err.Error(), `RELAYPDF_CONFIG: "/nowhere.env" cannot be read`) {
		t.Errorf("got %v, want a complaint about RELAYPDF_CONFIG", err)
	}
}

func TestWarnings(t *testing.T) {
	path := writeFile(t, "RELAYPDF_BILING=off\n")
	for _, tt := range []struct {
		name string
		host machine
		args []string
		want []string
	}{
		{"near miss", user("RELAYPDF_MAXBODY=1MiB"), nil, []string{"RELAYPDF_MAXBODY is not a setting and is ignored; did you mean RELAYPDF_MAX_BODY?"}},
		{"far miss", user("RELAYPDF_QWERTYUIOPASDFGHJKL=1"), nil, []string{"RELAYPDF_QWERTYUIOPASDFGHJKL is not a setting and is ignored"}},
		{"in the file", user("RELAYPDF_CONFIG=" + path), nil, []string{path + ":1: RELAYPDF_BILING is not a setting and is ignored; did you mean RELAYPDF_BILLING?"}},
		{"dropped", user("RELAYPDF_EDGE_PURGE_URL=http://c:6081/"), nil, []string{"RELAYPDF_EDGE_PURGE_URL is no longer a setting and is ignored; remove it: tell caches to forget by the commands in docs/operations/caching.md"}},
		{"the tests' own", user("RELAYPDF_TEST_POSTGRES_URL=x", "OTHER=1"), nil, nil},
		{"open without an address", user(), []string{"--listen=0.0.0.0:80"}, []string{"RELAYPDF_LISTEN is open to other machines while RELAYPDF_BASE_URL is not set: links will say http://localhost:80, and test keys are accepted"}},
		{"open with an address", user(), []string{"--listen=0.0.0.0:80", "--base-url=http://a"}, nil},
		{"worker without an address", user(), []string{"--roles=worker"}, []string{"RELAYPDF_BASE_URL is not set: links in events and callbacks of this worker's jobs will say http://localhost:8787; give all processes the same address"}},
		{"worker with an address", user(), []string{"--roles=worker", "--base-url=http://a"}, nil},
		{"https without a header", user(), []string{"--base-url=https://a"}, []string{"RELAYPDF_BASE_URL is https and RELAYPDF_TRUSTED_IP_HEADER is not set: behind a proxy all clients have its address, and share one limit; name the header in which it puts theirs"}},
		{"https with a header", user(), []string{"--base-url=https://a", "--trusted-ip-header=Fly-Client-IP"}, nil},
		{"Redis", user("RELAYPDF_REDIS_URL=redis://h"), nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustLoad(t, tt.host, tt.args...).Warnings; !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRenderSlotsBoundOffices: an operator's number of renders bounds the LibreOffice processes of the plan, too.
func TestRenderSlotsBoundOffices(t *testing.T) {
	plan := mustLoad(t, user("RELAYPDF_MEMORY=8GiB"))
	for _, tt := range []struct{ slots, want int }{{0, plan.offices()}, {1, 1}, {1000, plan.offices()}} {
		c := mustLoad(t, user("RELAYPDF_MEMORY=8GiB", fmt.Sprintf("RELAYPDF_RENDER_SLOTS=%d", tt.slots)))
		if got := c.offices(); got != tt.want {
			t.Errorf("%d render slots: got %d offices, want %d", tt.slots, got, tt.want)
		}
	}
}

// TestSecretsStayHidden sets every secret and looks for it in all that is printed.
func TestSecretsStayHidden(t *testing.T) {
	const secret = "hunter2-0123456789-0123456789-0123"
	// Settings that must be more than one word.
	values := map[string]string{
		"database-url": "postgres://u:" + secret + "@db/x", "redis-url": "redis://:" + secret + "@r",
		"database-session-url": "postgres://u:" + secret + "@db/y", "smtp-url": "smtp://u:" + secret + "@mail.example.com",
		"stripe-secret-key": "sk_test_" + secret, "stripe-webhook-secret": "whsec_" + secret,
	}
	env := []string{"RELAYPDF_S3_ACCESS_KEY=AKIAIOSFODNN7EXAMPLE"} // who has a secret key has this, too
	for i := range settings {
		if s := &settings[i]; s.secret {
			env = append(env, s.variable()+"="+cmp.Or(values[s.name], secret))
		}
	}
	c := mustLoad(t, user(env...))
	var table, object bytes.Buffer
	if err := c.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteJSON(&object); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"table": table.String(), "json": object.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s shows a secret:\n%s", name, text)
		}
		if got := strings.Count(text, hiddenValue); got != len(env)-1 {
			t.Errorf("%s hides %d values, want %d:\n%s", name, got, len(env)-1, text)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	c := mustLoad(t, user("RELAYPDF_MAX_BODY=2MiB"))
	var buf bytes.Buffer
	if err := c.WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Settings []shownSetting
		Warnings []string
	}
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Settings) != len(settings) || got.Warnings == nil {
		t.Fatalf("got %d settings and warnings %v, want %d and an array", len(got.Settings), got.Warnings, len(settings))
	}
	i := slices.IndexFunc(got.Settings, func(s shownSetting) bool { return s.Name == "RELAYPDF_MAX_BODY" })
	want := shownSetting{Name: "RELAYPDF_MAX_BODY", Topic: string(topicRequests), Flag: "--max-body", Value: "2MiB", From: "environment", Doc: "Maximum size of a request body."}
	if i < 0 || got.Settings[i] != want {
		t.Errorf("got %+v, want %+v", got.Settings, want)
	}
}

// TestSettingsTable checks the required fields of every setting.
func TestSettingsTable(t *testing.T) {
	const maximum = 61
	if len(settings) > maximum {
		t.Errorf("there are %d settings, want %d at most: drop one for each that is added", len(settings), maximum)
	}
	seen, topics := map[string]bool{}, map[settingTopic]bool{}
	for i := range settings {
		s := &settings[i]
		if seen[s.name] || s.name != strings.ToLower(s.name) {
			t.Errorf("%s: the name must be unique and in lower case", s.name)
		}
		seen[s.name] = true
		if !strings.HasSuffix(s.doc, ".") || strings.ContainsAny(s.doc, "|\n") {
			t.Errorf("%s: the doc must be sentences that fit a table: %q", s.name, s.doc)
		}
		if s.topic == "" || s.group == "" || s.apply == nil {
			t.Errorf("%s: topic, group or apply is missing", s.name)
		}
		if i > 0 && s.topic != settings[i-1].topic && topics[s.topic] {
			t.Errorf("%s: the settings of the topic %q must stand together", s.name, s.topic)
		}
		topics[s.topic] = true
		if (s.derive == nil) != (s.derivation == "") || (s.derive != nil && s.fallback != "") {
			t.Errorf("%s: wants a fallback, or both derive and derivation, or neither", s.name)
		}
	}
	if settings[0].name != setting.Config.Name {
		t.Errorf("first setting is %s, want %s", settings[0].name, setting.Config.Name)
	}
}

func TestFlagsHaveGroups(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags, GroupClient)
	for name, want := range map[string]bool{"config": true, "api-key": true, "api-url": true, "listen": false} {
		if got := flags.Lookup(name) != nil; got != want {
			t.Errorf("--%s: got %v, want %v", name, got, want)
		}
	}
}

func TestMarkdownListsEverySetting(t *testing.T) {
	var buf bytes.Buffer
	if err := WriteSettingsMarkdown(&buf); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
	topics := map[settingTopic]bool{}
	for i := range settings {
		topics[settings[i].topic] = true
	}
	if got, want := len(lines), len(settings)+len(topics)+2; got != want {
		t.Errorf("got %d lines, want %d", got, want)
	}
	for _, line := range lines {
		if got := strings.Count(line, "|"); got != 4 {
			t.Errorf("got %d bars, want 4: %s", got, line)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"RELAYPDF_LISTEN", "RELAYPDF_METRICS_LISTEN"}
	for name, want := range map[string]string{
		"RELAYPDF_LISTN": "RELAYPDF_LISTEN", "RELAYPDF_METRIC_LISTEN": "RELAYPDF_METRICS_LISTEN", "X": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest(%s): got %q, want %q", name, got, want)
		}
	}
}

func TestEnginesSetting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"office": "ocr ghostscript verapdf", "none": "office ocr ghostscript verapdf", "verapdf,ghostscript, ocr,office": ""} {
		engines, err := parseEngines(text)
		if got := strings.Join((&Config{Engines: engines}).without(), " "); err != nil || got != want {
			t.Errorf("%q leaves out %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := parseEngines("word"); err == nil || !strings.Contains(err.Error(), "office,ocr,ghostscript,verapdf") {
		t.Errorf("an unknown engine: %v", err)
	}
}

// TestProviderNeedsItsFellows names all that a provider of models lacks.
func TestProviderNeedsItsFellows(t *testing.T) {
	_, err := loadConfig(flagsOf(t), user("RELAYPDF_AI_PROVIDER=openai"))
	for _, name := range []string{"MODEL", "API_KEY", "PRICE_INPUT", "PRICE_OUTPUT"} {
		if err == nil || !strings.Contains(err.Error(), "RELAYPDF_AI_"+name+" is needed") {
			t.Errorf("without %s: got %v", name, err)
		}
	}
	own := []string{"RELAYPDF_AI_PROVIDER=openai", "RELAYPDF_AI_BASE_URL=http://127.0.0.1:11434/v1/", "RELAYPDF_AI_MODEL=m", "RELAYPDF_AI_PRICE_INPUT=0", "RELAYPDF_AI_PRICE_OUTPUT=0"}
	if config := mustLoad(t, user(own...)); config.AI.BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("a model of one's own: %+v", config.AI)
	}
}
