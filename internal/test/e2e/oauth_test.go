package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/credit"
)

// agentSaw is the output of the agent in testdata/oauth_client.js, one line each.
type agentSaw struct {
	Open    string
	Back    int
	Answer  map[string]string
	Tools   int
	Tool    string
	Begun   string
	Type    string
	Account struct {
		Grant struct {
			Scopes                                    []string
			SpendLimitMicrodollars, SpentMicrodollars int64
		}
	}
	Beyond    agentResult
	Withheld  int
	Scope     string
	Hooks     *int
	Renewed   bool
	Thief     string
	After     int
	Challenge string
	Revoked   int
	Gone      int
}

type agentResult struct {
	IsError bool
	Content []struct{ Text string }
}

// TestAgentSignsIn has an agent that knows only the address go the whole way, with the protocol's own client and a
// user in a browser; each page is looked at.
func TestAgentSignsIn(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startPages(t)
	modules, err := filepath.Abs("../../../.ci/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	maya := openScreen(t, openBrowser(t), app)
	maya.join("maya@example.com")
	node := exec.CommandContext(t.Context(), "node", "testdata/oauth_client.js", app.BaseURL()+"/mcp?toolsets=default,webhooks")
	node.Env = append(os.Environ(), "NODE_PATH="+modules, "NODE_OPTIONS=--dns-result-order=ipv4first")
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = node.Process.Kill(), node.Wait() })
	lines := bufio.NewReader(out)
	next := func() (saw agentSaw) {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = node.Process.Kill()
			_ = node.Wait() // Then all of its output is there.
			t.Fatalf("the agent ended: %v\n%s", err, stderr.String())
		}
		if err := json.Unmarshal(line, &saw); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		return saw
	}
	// decide opens the agent's consent page, and presses a button.
	decide := func(button string, look func()) agentSaw {
		t.Helper()
		asked := next()
		maya.leadsTo(fmt.Sprintf("127.0.0.1:%d", asked.Back))
		maya.open(asked.Open)
		maya.sees("Allow Draftsman to use relaypdf?")
		if look != nil {
			look()
		}
		maya.press(button)
		maya.sees("The agent has its answer.")
		return next()
	}
	if got := decide("Deny", func() { maya.lookAt("/oauth/authorize") }).Answer; got["error"] != "access_denied" || got["iss"] != app.BaseURL() || got["state"] != "state-of-the-agent" {
		t.Errorf("denied with %v", got)
	}
	if got := decide("Allow", func() {
		maya.fill("limit", "0.00015")
		for _, box := range maya.page.MustElements(`input[value="webhooks"]`) {
			box.MustClick()
		}
	}).Answer; got["code"] == "" || got["iss"] != app.BaseURL() || got["state"] != "state-of-the-agent" {
		t.Errorf("allowed with %v", got)
	}
	saw := next()
	grant := saw.Account.Grant
	if saw.Tools < 20 || saw.Tools > 40 || saw.Tool != "barcodes_create" || saw.Begun != "processing" || saw.Type != "PNG" || strings.Join(grant.Scopes, " ") != "documents templates account:read" || grant.SpendLimitMicrodollars != 150 || grant.SpentMicrodollars != 100 {
		t.Errorf("the agent saw %+v", saw)
	}
	if !saw.Beyond.IsError || !strings.Contains(saw.Beyond.Content[0].Text, "payment_required") || !strings.Contains(saw.Beyond.Content[0].Text, "grantSpendLimit") {
		t.Errorf("beyond its cap: %+v", saw.Beyond)
	}
	if got := decide("Allow", func() { maya.lookAt("/oauth/authorize/more") }).Answer; got["code"] == "" {
		t.Errorf("allowed more with %v", got)
	}
	if saw = next(); saw.Withheld != http.StatusForbidden || saw.Scope != "documents templates account:read webhooks" || saw.Hooks == nil || *saw.Hooks != 0 {
		t.Errorf("beyond its scopes it saw %+v", saw)
	}
	if saw = next(); !saw.Renewed || saw.Thief != "InvalidGrantError" || saw.After != 401 || !strings.Contains(saw.Challenge, `resource_metadata="`+app.BaseURL()+`/.well-known/oauth-protected-resource/mcp?toolsets=default,webhooks"`) {
		t.Errorf("after a theft it saw %+v", saw)
	}
	decide("Allow", nil)
	if saw = next(); saw.Revoked != 200 || saw.Gone != 401 {
		t.Errorf("after its own revocation it saw %+v", saw)
	}
	maya.open("/dashboard/apps")
	maya.sees("Draftsman")
	maya.sees("Revoked")
	maya.weigh("/dashboard/apps")
	maya.lookAt("/dashboard/apps")
	account, err := app.Store.AccountByEmail(t.Context(), "maya@example.com")
	if err != nil {
		t.Fatal(err)
	}
	list, err := app.Store.Grants(t.Context(), account.ID)
	if err != nil || len(list) != 3 || list[2].Spent != 100*credit.Microdollar {
		t.Fatalf("granted %+v, %v", list, err)
	}
	maya.open("/dashboard/apps/" + list[0].ID)
	maya.sees("Permissions")
	maya.lookAt("/dashboard/apps/one")
	maya.open("/oauth/authorize?client_id=none")
	maya.sees("Access cannot be granted")
	maya.lookAt("/oauth/authorize/wrong")
	maya.calm("the pages of agents")
	if err := node.Wait(); err != nil {
		t.Errorf("the agent: %v\n%s", err, stderr.String())
	}
}
