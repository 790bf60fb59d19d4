package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DeliverField is the common field with the destination of the result.
const DeliverField = "deliverTo"

// Destination is the place to which a call sends its result: a URL, or a connection of the account.
type Destination struct {
	URL     string      `json:"url,omitempty" jsonschema:"format=uri,minLength=1,maxLength=8192" jsonschema_description:"Public https URL that receives the result as the body of a PUT request. Redirects are not followed. Any status from 200 to 299 is success."`
	Headers Headers     `json:"headers,omitempty" jsonschema_description:"Further request headers by name, such as x-amz-acl or Authorization, at most 50 headers and 16 KiB. Content-Type is that of the result unless it is among them. Content-Length is always sent. Host, Content-Length, hop-by-hop and Proxy- headers are rejected. Only with url."`
	S3      *S3Target   `json:"s3,omitempty" jsonschema_description:"Object in the bucket of an S3 connection."`
	SFTP    *SFTPTarget `json:"sftp,omitempty" jsonschema_description:"File on the server of an SFTP connection."`
}

// S3Target is an object in the bucket of a connection.
type S3Target struct {
	Connection string `json:"connection" jsonschema:"required,maxLength=100" jsonschema_description:"ID of an S3 connection, conn_…"`
	Key        string `json:"key" jsonschema:"required,minLength=1" jsonschema_description:"Key of the object, below the prefix of the connection, at most 1024 bytes. Variables: {{date}}, {{time}} (both UTC), {{id}} of the result, {{operation}}, {{filename}} without its extension, {{extension}}. An existing object is replaced."`
}

// SFTPTarget is a file on the server of a connection.
type SFTPTarget struct {
	Connection string `json:"connection" jsonschema:"required,maxLength=100" jsonschema_description:"ID of an SFTP connection, conn_…"`
	Path       string `json:"path" jsonschema:"required,minLength=1" jsonschema_description:"Path of the file, below the folder of the connection, at most 1024 bytes, with the variables of s3.key. Missing folders are created. An existing file is replaced."`
}

// The kinds of destinations.
const (
	KindURL  = "url"
	KindS3   = "s3"
	KindSFTP = "sftp"
)

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
func (d *Destination) validate(faults *Faults) {
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
		CheckPattern(faults, field, pattern)
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

// patternNames are the variables of patterns.
var patternNames = []string{"date", "time", "id", "operation", "filename", "extension"}

var patternVariable = regexp.MustCompile(`\{\{(.*?)\}\}`)

// CheckPattern adds the errors of a key or path with variables.
func CheckPattern(faults *Faults, field, pattern string) {
	for _, variable := range patternVariable.FindAllStringSubmatch(pattern, -1) {
		if name := strings.TrimSpace(variable[1]); !slices.Contains(patternNames, name) {
			faults.Add(field, "has the unknown variable %s. Valid: %s", preview(name), strings.Join(patternNames, ", "))
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
func CheckPath(faults *Faults, field, path string) {
	if why := pathFault(path); why != "" {
		faults.Add(field, "%s", why)
	}
}

func pathFault(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	switch {
	case len(path) > maxPath:
		return fmt.Sprintf("must be at most %d bytes; got %d", maxPath, len(path))
	case slices.Contains(parts, ".."):
		return "must not contain .. as a part"
	case strings.ContainsFunc(path, unicode.IsControl) || !utf8.ValidString(path):
		return "must not contain control characters"
	}
	return ""
}

// ErrPath means that a pattern with the values of its variables is not a valid path.
var ErrPath = errors.New("the path")

// ExpandPattern returns a valid pattern with the values of its variables. Its error is ErrPath with the reason.
func ExpandPattern(pattern string, values map[string]string) (string, error) {
	path := patternVariable.ReplaceAllStringFunc(pattern, func(variable string) string {
		return values[strings.TrimSpace(variable[2:len(variable)-2])]
	})
	why := pathFault(path)
	if why == "" && (path == "" || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/")) {
		why = "must not be empty, and must not start or end with /"
	}
	if why != "" {
		return "", fmt.Errorf("%w %s", ErrPath, why)
	}
	return path, nil
}
