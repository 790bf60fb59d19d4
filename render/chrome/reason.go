package chrome

import "strings"

// reasons words Chromium's names of network errors, to go on from "could not be loaded: ".
// Requests leave through our proxy, whose refusals are errors of the tunnel.
var reasons = map[string]string{ //nolint:gosec // words about certificates, and no credentials
	"net::ERR_ABORTED":                           "its server answered with a download, or with nothing, instead of a page",
	"net::ERR_ADDRESS_INVALID":                   "its address is not valid",
	"net::ERR_ADDRESS_UNREACHABLE":               "its server cannot be reached",
	"net::ERR_BLOCKED_BY_CLIENT":                 "its address is not allowed: only public hosts can be reached",
	"net::ERR_BLOCKED_BY_CSP":                    "the content security policy of the page forbids it",
	"net::ERR_BLOCKED_BY_ORB":                    "its server answered with another kind of content than the page asked for",
	"net::ERR_BLOCKED_BY_RESPONSE":               "its server does not let other sites load it",
	"net::ERR_CACHE_MISS":                        "it is not in the cache, and may not be asked for again",
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
	"net::ERR_CONNECTION_TIMED_OUT":              "its server did not answer in time",
	"net::ERR_CONTENT_DECODING_FAILED":           "its content is not compressed as its server says",
	"net::ERR_CONTENT_LENGTH_MISMATCH":           "its content ended early",
	"net::ERR_DISALLOWED_URL_SCHEME":             "only http and https URLs can be loaded",
	"net::ERR_EMPTY_RESPONSE":                    "its server closed the connection without an answer",
	"net::ERR_FAILED":                            "the request failed, or the page may not read the answer of another site (CORS)",
	"net::ERR_FILE_NOT_FOUND":                    "the file does not exist",
	"net::ERR_HTTP2_PROTOCOL_ERROR":              "its server broke the HTTP/2 protocol",
	"net::ERR_HTTP_RESPONSE_CODE_FAILURE":        "its server answered with an error",
	"net::ERR_INCOMPLETE_CHUNKED_ENCODING":       "its content ended early",
	"net::ERR_INSUFFICIENT_RESOURCES":            "the page loads too much at once",
	"net::ERR_INTERNET_DISCONNECTED":             "the document has no network",
	"net::ERR_INVALID_RESPONSE":                  "its server answered with something that is not HTTP",
	"net::ERR_INVALID_URL":                       "its address is not valid",
	"net::ERR_NAME_NOT_RESOLVED":                 "its host name was not found in the DNS",
	"net::ERR_NETWORK_ACCESS_DENIED":             "its address is not allowed: only public hosts can be reached",
	"net::ERR_NETWORK_CHANGED":                   "the network changed meanwhile",
	"net::ERR_PROXY_CONNECTION_FAILED":           "the document has no network",
	"net::ERR_RESPONSE_HEADERS_TOO_BIG":          "the headers of its answer are too large",
	"net::ERR_SOCKET_NOT_CONNECTED":              "the connection was closed before the end",
	"net::ERR_SSL_PROTOCOL_ERROR":                "its server does not speak TLS as it should",
	"net::ERR_SSL_UNRECOGNIZED_NAME_ALERT":       "its server has no certificate for this host name",
	"net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH":    "its server speaks only outdated TLS",
	"net::ERR_TIMED_OUT":                         "its server did not answer in time",
	"net::ERR_TOO_MANY_REDIRECTS":                "its server redirects too often",
	"net::ERR_TUNNEL_CONNECTION_FAILED":          "its server refused the connection or cannot be reached, or its address is not allowed",
	"net::ERR_UNKNOWN_URL_SCHEME":                "only http and https URLs can be loaded",
	"net::ERR_UNSAFE_PORT":                       "its port is not allowed",
	"net::ERR_UNSAFE_REDIRECT":                   "its server redirects to an address that is not allowed",
	"net::ERR_BAD_SSL_CLIENT_AUTH_CERT":          "its server asks for a certificate of the client",
	"net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED":       "its server asks for a certificate of the client",
	"net::ERR_INVALID_AUTH_CREDENTIALS":          "its server asks for a user name and a password",
	"net::ERR_HTTP_1_1_REQUIRED":                 "its server speaks HTTP/1.1 only, and says otherwise",
	"net::ERR_CERT_SYMANTEC_LEGACY":              "its certificate is signed by an authority that is not trusted",
	"net::ERR_CERT_CONTAINS_ERRORS":              "its certificate is malformed",
	"net::ERR_CERT_NO_REVOCATION_MECHANISM":      "its certificate cannot be checked for revocation",
	"net::ERR_CERT_UNABLE_TO_CHECK_REVOCATION":   "its certificate cannot be checked for revocation",
	"net::ERR_CERT_NAME_CONSTRAINT_VIOLATION":    "its certificate is for another host name",
	"net::ERR_CERT_NON_UNIQUE_NAME":              "its certificate is for a name that is not unique",
	"net::ERR_CERT_WEAK_KEY":                     "its certificate has a weak key",
	"net::ERR_CERTIFICATE_TRANSPARENCY_REQUIRED": "its certificate is in no public log",
	"net::ERR_CONTENT_DECODING_INIT_FAILED":      "its content is compressed in a way that is not supported",
	"net::ERR_RESPONSE_HEADERS_TRUNCATED":        "its content ended early",
	"net::ERR_QUIC_PROTOCOL_ERROR":               "its server broke the QUIC protocol",
}

// otherReasons words the names that are in no line of reasons, by how they begin.
var otherReasons = []struct{ prefix, text string }{
	{"net::ERR_CERT", "its certificate is not valid"},
	{"net::ERR_SSL_", "its server does not speak TLS as it should"},
	{"net::ERR_BLOCKED_BY_", "a rule of the page or of its server forbids it"},
	{"net::ERR_DNS_", "its host name could not be looked up in the DNS"},
	{"net::ERR_HTTP", "its server broke the HTTP protocol"},
	{"net::ERR_INVALID_", "its server answered with something that is not HTTP"},
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
