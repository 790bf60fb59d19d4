package chrome

import (
	"strings"
	"testing"
)

// TestReasonsAreWords checks the table of reasons, and reasons that are missing from it: no
// name of Chromium's reaches a customer, and every text fits after a colon.
func TestReasonsAreWords(t *testing.T) {
	codes := []string{"net::ERR_SOMETHING_NEW", "net::ERR_CERT_NEW", "net::ERR_SSL_NEW", "net::", "went wrong: net::ERR_X", blockedByORB}
	for code := range reasons {
		codes = append(codes, code)
	}
	for _, code := range codes {
		warning := failedToLoad(networkRequest{url: "https://a.test/"}, code)
		for _, text := range []string{ReasonText(code), warning.Message} {
			if text == "" || strings.Contains(text, "net::") || strings.Contains(text, "ERR_") || strings.HasSuffix(text, ".") || len(text) > 120 {
				t.Errorf("%s is told as %q", code, text)
			}
		}
	}
	if got := ReasonText("the URL is not valid"); got != "the URL is not valid" {
		t.Errorf("words became %q", got)
	}
}
