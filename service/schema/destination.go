package schema

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// DeliverField is the common field with the destination of the result.
const DeliverField = "deliverTo"

// Destination is the place to which a call sends its result: a URL, or a connection of the account.
type Destination struct {
	URL     string      `json:"url,omitempty" jsonschema:"format=uri,minLength=1,maxLength=8192" jsonschema_description:"Public https URL that receives the result by PUT, as the body. Redirects are not followed. Any status from 200 to 299 is success."`
	Headers Headers     `json:"headers,omitempty" jsonschema_description:"Further request headers by name, such as x-amz-acl or Authorization, at most 50 headers and 16 KiB. Content-Type is that of the result unless it is among them. Content-Length is always sent. Host, Content-Length, hop-by-hop and Proxy- headers are rejected. Allowed only with url."`
	S3      *S3Target   `json:"s3,omitempty" jsonschema_description:"Object in the bucket of an S3 connection."`
	SFTP    *SFTPTarget `json:"sftp,omitempty" jsonschema_description:"File on the server of an SFTP connection."`
}

// S3Target is an object in the bucket of a connection.
type S3Target struct {
	Connection string `json:"connection" jsonschema:"required,maxLength=100" jsonschema_description:"ID of an S3 connection, conn_…"`
	Key        string `json:"key" jsonschema:"required,minLength=1,maxLength=1024" jsonschema_description:"Key of the object, which follows the prefix of the connection, at most 1024 bytes. Variables: {{date}}, {{time}} (both UTC), {{id}} of the result, {{operation}}, {{filename}} without its extension, {{extension}}. An existing object is replaced."`
}

// SFTPTarget is a file on the server of a connection.
type SFTPTarget struct {
	Connection string `json:"connection" jsonschema:"required,maxLength=100" jsonschema_description:"ID of an SFTP connection, conn_…"`
	Path       string `json:"path" jsonschema:"required,minLength=1,maxLength=1024" jsonschema_description:"Path of the file, relative to the folder of the connection, at most 1024 bytes, with the variables of s3.key. Missing folders are created. An existing file is replaced."`
}

// The kinds of destinations.
const (
	KindURL  = "url"
	KindS3   = "s3"
	KindSFTP = "sftp"
)

// JSONSchemaExtend adds the rules of validate to the schema.
func (Destination) JSONSchemaExtend(doc *jsonschema.Schema) {
	AddRules(doc, ExactlyOne(KindURL, KindS3, KindSFTP), Requires("headers", KindURL))
}

// Kind returns the kind of the destination.
func (d *Destination) Kind() string {
	switch {
	case d.S3 != nil:
		return KindS3
	case d.SFTP != nil:
		return KindSFTP
	}
	return KindURL
}

// Field returns the field of the input with the destination, for errors.
func (d *Destination) Field() string { return DeliverField + "." + d.Kind() }

// Connection returns the ID of the connection; empty without one.
func (d *Destination) Connection() string {
	switch {
	case d.S3 != nil:
		return d.S3.Connection
	case d.SFTP != nil:
		return d.SFTP.Connection
	}
	return ""
}

// Pattern returns the key or path as it was given, and its field.
func (d *Destination) Pattern() (pattern, field string) {
	switch {
	case d.S3 != nil:
		return d.S3.Key, DeliverField + ".s3.key"
	case d.SFTP != nil:
		return d.SFTP.Path, DeliverField + ".sftp.path"
	}
	return "", ""
}

// validate checks that there is exactly one destination, its headers and its pattern. A call without a destination has
// none.
func (d *Destination) validate(faults *FieldErrors) {
	if d == nil {
		return
	}

	given := 0
	for _, is := range []bool{d.URL != "", d.S3 != nil, d.SFTP != nil} {
		if is {
			given++
		}
	}

	switch {
	case given != 1:
		faults.Add(DeliverField, "must have exactly one of url, s3 and sftp; got %d", given)
	case d.URL == "" && d.Headers != nil:
		faults.Add(DeliverField+".headers", "is allowed with url only")
	}

	d.Headers.Check(faults, DeliverField+".headers", "server")
	if pattern, field := d.Pattern(); pattern != "" {
		checkPattern(faults, field, pattern)
	}
}

// DestinationURL is the URL in the deliverTo of the input.
func (c *Common) DestinationURL() string {
	if c.DeliverTo == nil {
		return ""
	}
	return c.DeliverTo.URL
}

// maxPath is the maximum length of a key, a path, a prefix or a folder, in bytes: that of S3.
const maxPath = 1024

// PatternValues is a result whose key or path has variables.
type PatternValues struct {
	At            time.Time
	ID, Operation string
	// Filename has the extension.
	Filename string
}

// patternVariables are the variables of patterns.
var patternVariables = []struct {
	name  string
	value func(PatternValues) string
}{
	{"date", func(n PatternValues) string { return n.At.UTC().Format(time.DateOnly) }},
	{"time", func(n PatternValues) string { return n.At.UTC().Format("150405") }},
	{"id", func(n PatternValues) string { return n.ID }},
	{"operation", func(n PatternValues) string { return n.Operation }},
	{"filename", func(n PatternValues) string { return strings.TrimSuffix(n.Filename, path.Ext(n.Filename)) }},
	{"extension", func(n PatternValues) string { return strings.TrimPrefix(path.Ext(n.Filename), ".") }},
}

var patternVariable = regexp.MustCompile(`\{\{(.*?)\}\}`)

// checkPattern adds the errors of a key or path with variables.
func checkPattern(faults *FieldErrors, field, pattern string) {
	var names []string
	for _, variable := range patternVariables {
		names = append(names, variable.name)
	}

	for _, variable := range patternVariable.FindAllStringSubmatch(pattern, -1) {
		if name := strings.TrimSpace(variable[1]); !slices.Contains(names, name) {
			faults.Add(field, "has the unknown variable %s. Valid: %s", preview(name), strings.Join(names, ", "))
			return
		}
	}

	rest := patternVariable.ReplaceAllString(pattern, "x")
	switch {
	case strings.Contains(rest, "{{") || strings.Contains(rest, "}}"):
		faults.Add(field, "has an incomplete variable. Write variables like {{date}}")
	case strings.HasPrefix(pattern, "/") || strings.HasSuffix(pattern, "/"):
		faults.Add(field, "must not start or end with /")
	case len(pattern) > maxPath:
		faults.Add(field, "must be at most %d bytes; got %d", maxPath, len(pattern))
	default:
		CheckPath(faults, field, rest)
	}
}

// CheckPath adds the error of a path: parts that lead upwards, control characters, or a length over 1,024 bytes.
func CheckPath(faults *FieldErrors, field, path string) {
	if why := pathFault(path); why != "" {
		faults.Add(field, "%s", why)
	}
}

func pathFault(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })

	switch {
	case len(path) > maxPath:
		return fmt.Sprintf("must be at most %d bytes; got %d", maxPath, len(path))
	case slices.Contains(parts, ".."), slices.Contains(parts, "."):
		return "must not contain the path segments . and .."
	case strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path):
		return "must be UTF-8 without control characters"
	}
	return ""
}

// ErrPath means that a pattern with the values of its variables is not a valid path.
var ErrPath = errors.New("the path")

// ExpandPattern returns a valid pattern with the values of its variables. Its error is ErrPath with the reason.
func ExpandPattern(pattern string, result PatternValues) (string, error) {
	expanded := patternVariable.ReplaceAllStringFunc(pattern, func(text string) string {
		name := strings.TrimSpace(text[2 : len(text)-2])
		for _, variable := range patternVariables {
			if variable.name == name {
				return variable.value(result)
			}
		}
		return ""
	})

	why := pathFault(expanded)
	if why == "" && (expanded == "" || strings.HasPrefix(expanded, "/") || strings.HasSuffix(expanded, "/")) {
		why = "must not be empty, and must not start or end with /"
	}

	if why != "" {
		return "", fmt.Errorf("%w %s", ErrPath, why)
	}
	return expanded, nil
}
