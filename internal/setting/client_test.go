package setting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestClientSettings finds the server and the key in flags, variables, a file and defaults, in this order.
func TestClientSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte("RELAYPDF_API_URL=https://file.example.com/\nRELAYPDF_LISTEN=127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		args, environ []string
		url, origin   string
		wrong         string
	}{
		{nil, nil, "http://localhost:8787", OriginDefault, ""},
		{nil, []string{"RELAYPDF_LISTEN=0.0.0.0:9000"}, "http://localhost:9000", OriginDefault, ""},
		{nil, []string{"RELAYPDF_BASE_URL=https://pdf.example.com/"}, "https://pdf.example.com", OriginDefault, ""},
		{nil, []string{"RELAYPDF_CONFIG=" + file}, "https://file.example.com", file + ":1", ""},
		{nil, []string{"RELAYPDF_CONFIG=" + file, "RELAYPDF_API_URL=http://a:1"}, "http://a:1", OriginEnvironment, ""},
		{[]string{"--api-url", "http://b:1"}, []string{"RELAYPDF_API_URL=http://a:1"}, "http://b:1", OriginFlag, ""},
		{[]string{"--api-url", "b"}, nil, "", OriginFlag, `RELAYPDF_API_URL (--api-url): "b" is not a web address`},
		{nil, []string{"RELAYPDF_BASE_URL=b"}, "", OriginDefault, `RELAYPDF_BASE_URL: "b" is not a web address`},
		{nil, []string{"RELAYPDF_CONFIG=" + file + "x"}, "http://localhost:8787", OriginDefault, "cannot be read"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddClientFlags(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}

		got, err := LoadClient(flags, tt.environ)
		if got.APIURL != tt.url || got.Origin(APIURL) != tt.origin || (err == nil) != (tt.wrong == "") ||
			err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%q, %q: got %q of %s and %v, want %q of %s and %q", tt.args, tt.environ, got.APIURL,
				got.Origin(APIURL), err, tt.url, tt.origin, tt.wrong)
		}
	}
}
