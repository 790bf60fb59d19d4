package chrome

import "strings"

// reasons words Chromium's names of network errors, to go on from "could not be loaded: ".
// Requests leave through our proxy, whose refusals are errors of the tunnel.
var reasons = map[string]string{ //nolint:gosec // words about certificates, and no credentials
	"net::ERR_ABORTED":                           "its server returned a download or an empty response instead of a page",
	"net::ERR_ADDRESS_INVALID":                   "its URL is not valid",
	"net::ERR_ADDRESS_UNREACHABLE":               "its server cannot be reached",
	"net::ERR_BLOCKED_BY_CLIENT":                 "its URL is not allowed: only public hosts can be reached",
	"net::ERR_BLOCKED_BY_CSP":                    "the content security policy of the page forbids it",
	"net::ERR_BLOCKED_BY_ORB":                    "its server returned an unexpected content type",
	"net::ERR_BLOCKED_BY_RESPONSE":               "its server does not allow other sites to load it",
	"net::ERR_CACHE_MISS":                        "it is not in the cache and cannot be requested again",
	"net::ERR_CERT_AUTHORITY_INVALID":            "its certificate is self-signed, or signed by an authority that is not trusted",
	"net::ERR_CERT_COMMON_NAME_INVALID":          "its certificate is for another host name",
	"net::ERR_CERT_DATE_INVALID":                 "its certificate has expired, or is not valid yet",
	"net::ERR_CERT_INVALID":                      "its certificate is malformed",
	"net::ERR_CERT_REVOKED":                      "its certificate has been revoked",
	"net::ERR_CERT_VALIDITY_TOO_LONG":            "its certificate is valid for longer than is allowed",
	"net::ERR_CERT_WEAK_SIGNATURE_ALGORITHM":     "its certificate is signed with a weak algorithm",
	"net::ERR_CONNECTION_ABORTED":                "the connection was closed before the end",
	"net::ERR_CONNECTION_CLOSED":                 "the connection was closed before the end",
	"net::ERR_CONNECTION_FAILED":                 "its server cannot be reached",
	"net::ERR_CONNECTION_REFUSED":                "its server refused the connection",
	"net::ERR_CONNECTION_RESET":                  "its server reset the connection",
	"net::ERR_CONNECTION_TIMED_OUT":              "its server did not respond in time",
	"net::ERR_CONTENT_DECODING_FAILED":           "its content does not match its Content-Encoding",
	"net::ERR_CONTENT_LENGTH_MISMATCH":           "its content ended early",
	"net::ERR_DISALLOWED_URL_SCHEME":             "only http and https URLs can be loaded",
	"net::ERR_EMPTY_RESPONSE":                    "its server closed the connection without a response",
	"net::ERR_FAILED":                            "the request failed, or CORS does not allow the page to read the response",
	"net::ERR_FILE_NOT_FOUND":                    "the file does not exist",
	"net::ERR_HTTP2_PROTOCOL_ERROR":              "its server broke the HTTP/2 protocol",
	"net::ERR_HTTP_RESPONSE_CODE_FAILURE":        "its server returned an error",
	"net::ERR_INCOMPLETE_CHUNKED_ENCODING":       "its content ended early",
	"net::ERR_INSUFFICIENT_RESOURCES":            "the page loads too many resources at once",
	"net::ERR_INTERNET_DISCONNECTED":             "the document has no network access",
	"net::ERR_INVALID_RESPONSE":                  "its server returned a response that is not HTTP",
	"net::ERR_INVALID_URL":                       "its URL is not valid",
	"net::ERR_NAME_NOT_RESOLVED":                 "its host name was not found in the DNS",
	"net::ERR_NETWORK_ACCESS_DENIED":             "its URL is not allowed: only public hosts can be reached",
	"net::ERR_NETWORK_CHANGED":                   "the network changed during the request",
	"net::ERR_PROXY_CONNECTION_FAILED":           "the document has no network access",
	"net::ERR_RESPONSE_HEADERS_TOO_BIG":          "its response headers are too large",
	"net::ERR_SOCKET_NOT_CONNECTED":              "the connection was closed before the end",
	"net::ERR_SSL_PROTOCOL_ERROR":                "the TLS handshake with its server failed",
	"net::ERR_SSL_UNRECOGNIZED_NAME_ALERT":       "its server has no certificate for this host name",
	"net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH":    "its server supports only outdated TLS versions",
	"net::ERR_TIMED_OUT":                         "its server did not respond in time",
	"net::ERR_TOO_MANY_REDIRECTS":                "its server redirects too many times",
	"net::ERR_TUNNEL_CONNECTION_FAILED":          "its server refused the connection or cannot be reached, or its URL is not allowed",
	"net::ERR_UNKNOWN_URL_SCHEME":                "only http and https URLs can be loaded",
	"net::ERR_UNSAFE_PORT":                       "its port is not allowed",
	"net::ERR_UNSAFE_REDIRECT":                   "its server redirects to a URL that is not allowed",
	"net::ERR_BAD_SSL_CLIENT_AUTH_CERT":          "its server requires a client certificate",
	"net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED":       "its server requires a client certificate",
	"net::ERR_INVALID_AUTH_CREDENTIALS":          "its server requires a user name and a password",
	"net::ERR_HTTP_1_1_REQUIRED":                 "its server announced a protocol other than HTTP/1.1 but supports only that",
	"net::ERR_CERT_SYMANTEC_LEGACY":              "its certificate is signed by an authority that is not trusted",
	"net::ERR_CERT_CONTAINS_ERRORS":              "its certificate is malformed",
	"net::ERR_CERT_NO_REVOCATION_MECHANISM":      "its certificate cannot be checked for revocation",
	"net::ERR_CERT_UNABLE_TO_CHECK_REVOCATION":   "its certificate cannot be checked for revocation",
	"net::ERR_CERT_NAME_CONSTRAINT_VIOLATION":    "its certificate is for another host name",
	"net::ERR_CERT_NON_UNIQUE_NAME":              "its certificate is for a name that is not unique",
	"net::ERR_CERT_WEAK_KEY":                     "its certificate has a weak key",
	"net::ERR_CERTIFICATE_TRANSPARENCY_REQUIRED": "its certificate is not in a public log",
	"net::ERR_CONTENT_DECODING_INIT_FAILED":      "its content encoding is not supported",
	"net::ERR_RESPONSE_HEADERS_TRUNCATED":        "its content ended early",
	"net::ERR_QUIC_PROTOCOL_ERROR":               "its server broke the QUIC protocol",
}

// otherReasons words the names that are in no line of reasons, by how they begin.
var otherReasons = []struct{ prefix, text string }{
	{"net::ERR_CERT", "its certificate is not valid"},
	{"net::ERR_SSL_", "the TLS handshake with its server failed"},
	{"net::ERR_BLOCKED_BY_", "a rule of the page or of its server forbids it"},
	{"net::ERR_DNS_", "its host name could not be looked up in the DNS"},
	{"net::ERR_HTTP", "its server broke the HTTP protocol"},
	{"net::ERR_INVALID_", "its server returned a response that is not HTTP"},
}

// ReasonText returns LoadError.Reason in words for a customer. A reason that Chromium does
// not name is returned as it is.
func ReasonText(reason string) string {
	if text := reasons[reason]; text != "" {
		return text
	}
	if !strings.Contains(reason, "net::") {
		return reason
	}

	for _, other := range otherReasons {
		if strings.HasPrefix(reason, other.prefix) {
			return other.text
		}
	}
	return "the connection failed"
}
