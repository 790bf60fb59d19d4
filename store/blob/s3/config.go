package s3

import (
	"crypto/x509"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Config selects the bucket and the credentials.
type Config struct {
	Bucket string
	Prefix string // of the names of objects, without slashes at its ends; may be empty
	// Endpoint is the server, such as https://s3.example.com:9000; empty is Amazon's.
	Endpoint string
	// Public is the server as others reach it, for links; empty is Endpoint.
	Public string
	Region string
	// AccessKey and SecretKey are the credentials; if empty, they are found as by Amazon's tools: in
	// AWS_ACCESS_KEY_ID and its like, in ~/.aws/credentials, in the machine's role.
	AccessKey, SecretKey string
	RootCAs              *x509.CertPool   // nil: the system's
	TempDir              string           // for streams of unknown length; empty means the system's
	Now                  func() time.Time // nil: time.Now
}

// DefaultRegion is the region of a bucket whose URL names none.
const DefaultRegion = "us-east-1"

const form = "write it like s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1"

var (
	prefixName = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// Parse reads the address of a bucket: s3://bucket/prefix?endpoint=…&region=…
func Parse(text string) (Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Opaque != "" {
		return Config{}, errors.New("is not a bucket; " + form)
	}

	if u.User != nil {
		return Config{}, errors.New("must hold no keys; set RELAYPDF_S3_ACCESS_KEY and RELAYPDF_S3_SECRET_KEY")
	}

	cfg := Config{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: DefaultRegion}
	if !ValidBucket(cfg.Bucket) {
		return Config{}, errors.New("names no bucket of 3 to 63 lower-case letters, digits, dots and hyphens; " + form)
	}
	if cfg.Prefix != "" && !prefixName.MatchString(cfg.Prefix) {
		return Config{}, errors.New("has a prefix that is not made of letters, digits, dots, hyphens, underscores and slashes; " + form)
	}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return Config{}, errors.New("is not a bucket; " + form)
	}

	for name, values := range query {
		if err := cfg.set(name, values); err != nil {
			return Config{}, err
		}
	}
	return cfg, nil
}

// set sets one parameter of the URL.
func (c *Config) set(name string, values []string) (err error) {
	value := values[0]
	switch {
	case len(values) > 1:
		return errors.New("gives " + name + " twice; give it once")
	case name == "region" && regionName.MatchString(value):
		c.Region = value
	case name == "region":
		return errors.New("has a region that is not made of lower-case letters, digits and hyphens; " + form)
	case name == "endpoint":
		c.Endpoint, err = Server(value)
	case name == "public":
		c.Public, err = Server(value)
	default:
		return errors.New("has the unknown parameter " + name + "; it can have endpoint, public and region")
	}

	return err
}

// Server reads the address of a server without a path.
func Server(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", errors.New("has an endpoint that is not a plain URL; " + form)
	}
	return u.Scheme + "://" + u.Host, nil
}

// Address returns the URL of the server.
func (c Config) Address() string {
	if c.Endpoint != "" {
		return c.Endpoint
	}
	return "https://s3." + c.Region + ".amazonaws.com"
}
