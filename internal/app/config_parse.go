package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/http/httpguts"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

// The parsers below return remarks that complete a sentence which begins with
// the value ("10x" is not a size; write it like 100MiB). They never quote it,
// because it may be a secret.

func parseText(text string) (string, error) { return text, nil }

// optional lets an empty value through to a parser that has no use for it.
func optional(parse func(string) (string, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		return parse(text)
	}
}

// ParseEmail checks that the text is a bare email address. A host without a dot is accepted, as in dev@localhost.
func ParseEmail(text string) (string, error) {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text {
		return "", errors.New("is not an email address; write it like ada@example.com")
	}
	return text, nil
}

func parseAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errors.New("is not an address; write it like 127.0.0.1:8787, or :8787 for every interface")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", errors.New("has no valid port; write it like 127.0.0.1:8787, with a port from 0 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}

func parseDatabaseURL(text string) (string, error) {
	for _, scheme := range []string{"sqlite:", "postgres://", "postgresql://"} {
		if rest, ok := strings.CutPrefix(text, scheme); ok && strings.Trim(rest, "/") != "" {
			return text, nil
		}
	}
	return "", errors.New("is not a database; write sqlite:///absolute/path.db or postgres://user:password@host/name")
}

// parsePostgresURL reads the address of a PostgreSQL database.
func parsePostgresURL(text string) (string, error) {
	if strings.HasPrefix(text, "sqlite:") {
		return "", errors.New("is for PostgreSQL only; leave it out with SQLite")
	}
	return parseDatabaseURL(text)
}

func parseRedisURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "unix" || u.Host == "" {
		return "", ratelimit.ErrAddress
	}
	return text, ratelimit.CheckAddress(text)
}

func parseList(text string) ([]string, error) {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item != "" {
			list = append(list, item)
		}
	}
	return list, nil
}

// ParseCAFile returns the absolute path of a PEM file that holds at least one certificate.
func ParseCAFile(text string) (string, error) {
	pem, err := os.ReadFile(text)
	if err != nil {
		return "", errors.New("cannot be read; name a PEM file that this user may read")
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "", errors.New("holds no certificate; name a PEM file with at least one CERTIFICATE block")
	}
	return filepath.Abs(text)
}

func parseFolder(text string) (string, error) {
	path, err := filepath.EvalSymlinks(text)
	if err == nil {
		_, err = os.ReadDir(path)
	}
	if err != nil {
		return "", errors.New("is not a readable folder; set it to a folder that this user can read")
	}
	return filepath.Abs(path)
}

func parseSwitch(text string) (bool, error) {
	switch text {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, errors.New("is neither on nor off; write on or off")
}

func parseSignUp(text string) (string, error) {
	if !slices.Contains(web.SignUps(), text) {
		return "", fmt.Errorf("is none of %s", strings.Join(web.SignUps(), ", "))
	}
	return text, nil
}

func parseHeaderName(text string) (string, error) {
	header, ok := middleware.ParseAddressHeader(text)
	if !ok {
		return "", errors.New(
			"is not a header; write its name, or with the number of proxies that append to it, X-Forwarded-For:2",
		)
	}
	if header.Name != "" && !httpguts.ValidHeaderFieldName(header.Name) {
		return "", errors.New("cannot stand in a header's name; use letters, digits and hyphens")
	}
	return text, nil
}

// parseSize reads a number of bytes with an optional binary or decimal unit.
func parseSize(text string) (int64, error) {
	units := []struct {
		suffix string
		bytes  int64
	}{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
		{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1},
	}

	for _, unit := range units {
		digits, ok := strings.CutSuffix(text, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n <= 0 || n > math.MaxInt64/unit.bytes {
			break
		}
		return n * unit.bytes, nil
	}

	return 0, errors.New("is not a size; write it like 100MiB")
}

// minMemory is the memory that a browser, the engines and LibreOffice need to start.
const minMemory = 512 << 20

// parseMemory reads the size of a machine.
func parseMemory(text string) (int64, error) {
	size, err := parseSize(text)
	if err == nil && size < minMemory {
		err = fmt.Errorf("is too little: the browser and the engines need %s at least", setting.SizeText(minMemory))
	}
	return size, err
}

// parseCount reads a whole number from 0 to most.
func parseCount(maximum int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maximum {
			return 0, fmt.Errorf("is not a whole number from 0 to %d", maximum)
		}
		return n, nil
	}
}

func parseDollars(text string) (credit.Amount, error) {
	amount, err := credit.ParseDollars(text)
	if err != nil {
		return 0, errors.New("is not an amount in dollars; write it like 5.00, with at most six decimals")
	}
	return amount, nil
}

func parseStripeKey(text string) (string, error) {
	for _, prefix := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"} {
		if strings.HasPrefix(text, prefix) {
			return text, nil
		}
	}
	return "", errors.New("is not a secret key of Stripe's; it begins with sk_live_ or sk_test_")
}

// parseIssuer accepts the URL of an identity provider as it is: a slash at its end is part of the name. The server
// trusts the provider's responses, so the connection must be encrypted.
func parseIssuer(text string) (string, error) {
	address, err := setting.ParseURL(text)
	if err == nil && !strings.HasPrefix(address, "https:") && !middleware.IsLoopback(address) {
		err = errors.New("must begin with https://, unless it is on this machine")
	}
	return text, err
}

// parseStripeURL keeps the key from being sent anywhere but to Stripe.
func parseStripeURL(text string) (string, error) {
	address, err := setting.ParseURL(text)
	if err == nil && !middleware.IsLoopback(address) {
		err = errors.New(
			"is not on this machine; write it like http://127.0.0.1:12111, or leave it out to reach Stripe",
		)
	}
	return address, err
}

// parseTokenPrice reads the price of a million tokens, which is at most maxTokenPrice.
func parseTokenPrice(text string) (credit.Amount, error) {
	price, err := parseDollars(text)
	if err == nil && (price < 0 || price > maxTokenPrice) {
		err = fmt.Errorf(
			"is not a price of a million tokens; write dollars from 0 to %d, like 2.50", maxTokenPrice/credit.Dollar,
		)
	}
	return price, err
}

const maxTokenPrice = 1000 * credit.Dollar

// parsePrices checks only the form of an operation's name. The operation table refuses an override for an unknown
// operation.
func parsePrices(text string) (map[string]credit.Amount, error) {
	operation := regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+$`)
	prices := map[string]credit.Amount{}
	items, _ := parseList(text)

	for _, item := range items {
		name, price, _ := strings.Cut(item, "=")
		n, err := strconv.ParseInt(price, 10, 64)
		if err != nil || n < 0 || !operation.MatchString(name) {
			return nil, errors.New(
				"is not a list of prices in microdollars; write it like pdf.create=2000,images.create=1500",
			)
		}
		if _, twice := prices[name]; twice {
			return nil, fmt.Errorf("gives %s two prices; name each operation once", name)
		}
		prices[name] = credit.Amount(n)
	}

	return prices, nil
}

func parseLogLevel(text string) (slog.Level, error) {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[text]
	if !ok {
		return 0, errors.New("is not a log level; write debug, info, warn or error")
	}
	return level, nil
}

func parseOneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		for _, word := range words {
			if text == word {
				return word, nil
			}
		}
		return "", fmt.Errorf("is not known; write %s", strings.Join(words, " or "))
	}
}

// The roles of a process.
const (
	RoleAPI    = "api"
	RoleWeb    = "web"
	RoleWorker = "worker"
)

func parseRoles(text string) ([]string, error) {
	roles, _ := parseList(text)
	for _, role := range roles {
		if !slices.Contains([]string{RoleAPI, RoleWeb, RoleWorker}, role) {
			return nil, errors.New("is not a list of roles; write some of api,web,worker")
		}
	}

	if len(roles) == 0 {
		return nil, errors.New("names no role; write some of api,web,worker")
	}
	return roles, nil
}

// parseEngines reads which heavy engines run.
func parseEngines(text string) ([]string, error) {
	if text == "none" {
		return nil, nil
	}

	names, _ := parseList(text)
	for _, name := range names {
		if !slices.Contains(operation.Engines, name) {
			return nil, fmt.Errorf(
				"is not a list of engines; write some of %s, or none", strings.Join(operation.Engines, ","),
			)
		}
	}
	return names, nil
}

// without are the heavy engines that do not run.
func (c *Config) without() []string {
	return slices.DeleteFunc(
		slices.Clone(operation.Engines), func(name string) bool { return slices.Contains(c.Engines, name) },
	)
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("is not a length of time; write it like 30s or 2m")
	}
	return d, nil
}

// parseDelay is parseDuration for a time that may also be none.
func parseDelay(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("is not a length of time; write it like 5s, or 0s for none")
	}
	return d, nil
}

func parseSecretKey(text string) (string, error) {
	for _, secret := range Secrets(text) {
		if len(secret) < 32 {
			text = ""
		}
	}
	if len(text) < 32 {
		return "", errors.New(
			"is too short; use at least 32 random characters, for example from `openssl rand -base64 32`",
		)
	}
	return text, nil
}

func parseRegion(text string) (string, error) {
	if store.CheckRegion(text) != nil {
		return "", errors.New("is not a region; use three lower-case letters or digits, such as fra")
	}
	return text, nil
}

// Secrets returns the keys in a text; the first one encrypts.
func Secrets(text string) (secrets [][]byte) {
	for _, secret := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		secrets = append(secrets, []byte(secret))
	}
	return secrets
}
