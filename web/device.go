package web

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// device returns the name of a browser and its system from its User-Agent, for users who check their sessions.
func device(agent string) string {
	browser := firstOf(agent, [][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"HeadlessChrome/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	}, "A browser")
	system := firstOf(agent, [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}, "")

	if system == "" {
		return browser
	}
	return browser + " on " + system
}

func firstOf(text string, names [][2]string, otherwise string) string {
	for _, name := range names {
		if strings.Contains(text, name[0]) {
			return name[1]
		}
	}
	return otherwise
}

// storedToken returns a session's token as the store keeps it.
func storedToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
