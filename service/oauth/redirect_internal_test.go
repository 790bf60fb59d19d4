package oauth

import (
	"strings"
	"testing"
)

func TestRedirectErrorAcceptsHTTPSLoopbackAndAppSchemes(t *testing.T) {
	t.Parallel()
	for redirect, want := range map[string]bool{
		"https://app.example/callback":  true,
		"http://localhost:3000/cb":      true,
		"http://127.0.0.1/cb":           true,
		"http://[::1]:3000/cb":          true,
		"com.example.app:/cb":           true,
		"cursor://x/cb":                 true,
		"":                              false,
		"http://app.example/callback":   false,
		"http://localhost.app.example/": false,
		"https://user@app.example/":     false,
		"https://app.example/#":         false,
		"https://app.example/\\x":       false,
		"https://app.example/é":         false,
		"https:///path":                 false,
		"javascript:alert(1)":           false,
		"data:text/html,x":              false,
		"https://app.example/" + strings.Repeat("x", maxRedirect): false,
	} {
		if got := redirectError(redirect) == ""; got != want {
			t.Errorf("%.60q accepted: %v, want %v", redirect, got, want)
		}
	}
}

func TestSameRedirectIgnoresOnlyLoopbackPort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		registered, requested string
		want                  bool
	}{
		{"https://app.example/cb", "https://app.example/cb", true},
		{"https://app.example/cb", "https://app.example:8443/cb", false},
		{"https://app.example/cb", "https://app.example/cb/", false},
		{"http://127.0.0.1/cb", "http://127.0.0.1:4711/cb", true},
		{"http://127.0.0.1:80/cb", "http://127.0.0.1:4711/cb", true},
		{"http://127.0.0.1/cb", "http://127.0.0.1:4711/other", false},
		{"http://127.0.0.1/cb", "http://localhost:4711/cb", false},
		{"http://127.0.0.1/cb", "https://127.0.0.1:4711/cb", false},
	} {
		if got := sameRedirect(tt.registered, tt.requested); got != tt.want {
			t.Errorf("%s and %s are the same: %v, want %v", tt.registered, tt.requested, got, tt.want)
		}
	}
}

// TestChallengeOf uses the example of RFC 7636, appendix B.
func TestChallengeOf(t *testing.T) {
	t.Parallel()
	got, ok := challengeOf("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
	if want := "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; got != want || !ok {
		t.Errorf("got %s, %v; want %s", got, ok, want)
	}
	for _, verifier := range []string{"", strings.Repeat("x", 42), strings.Repeat("x", 129), strings.Repeat("x", 43) + "+"} {
		if _, ok := challengeOf(verifier); ok {
			t.Errorf("the verifier %q is accepted", verifier)
		}
	}
}
