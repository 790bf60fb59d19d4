package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/gomodule/redigo/redis"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/fakes3"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// unstoredCall is a call with store false and the steps after which its server is killed. The body has places for ten
// canaries or more.
type unstoredCall struct {
	path, body string
	steps      []string
}

// unstoredTo is a URL and two connections, to which results are delivered.
type unstoredTo struct{ url, bucket, files string }

// unstoredPage has its canaries in the page, the name, the header and the properties of a PDF.
const unstoredPage = `"html":"<h1>%s</h1><p title='%s'>%s</p><!-- %s --><style>p::after{content:'%s'}</style>%s","filename":"%s.pdf","options":{"headerTemplate":"<b>%s</b>","margin":{"top":"20mm"},"metadata":{"title":"%s","author":"%s"}}`

// unstoredCalls are calls that are killed at 50 points: small ones and such that leave the memory, with a response, a
// destination, steps and errors.
func unstoredCalls(to unstoredTo) []unstoredCall {
	send := `"store":false,"deliverTo":{"url":"` + to.url + `/?signature=%s","headers":{"X-Secret":"%s"}}`
	put := `"store":false,"deliverTo":{"s3":{"connection":"` + to.bucket + `","key":"%s/{{filename}}"}}`
	upload := `"store":false,"deliverTo":{"sftp":{"connection":"` + to.files + `","path":"%s/{{filename}}"}}`
	large := fmt.Sprintf(`,"then":[{"op":"pdf.attachments","input":{"action":"add","files":[{"filename":"large.txt","file":%q}]}}]`, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("large"), 1<<20)))
	steps := strings.Fields
	return []unstoredCall{
		{"/v1/pdf", `{"store":false,` + unstoredPage + `}`, steps("limit decode authorize quote pin admit hold worked run settle answered")},
		{"/v1/pdf", `{` + put + `,` + unstoredPage + `}`, steps("decode hold worked delivered run settle answered")},
		{"/v1/pdf", `{` + upload + `,"response":"async",` + unstoredPage + `}`, steps("decode admit hold claimed load worked delivered run settle")},
		{"/v1/pdf", `{"store":false,` + unstoredPage + large + `}`, steps("decode hold worked run settle answered")},
		{"/v1/pdf", `{` + send + `,"response":"async",` + unstoredPage + large + `}`, steps("decode hold claimed load worked delivered run settle")},
		{"/v1/pipelines", `{` + upload + `,"response":"async","steps":[{"id":"a","op":"pdf.create","input":{` + unstoredPage + `}},{"id":"b","op":"pdf.text","input":{"step":"a"}}]}`, steps("hold claimed load worked delivered settle")},
		{"/v1/pdf", `{` + send + `,"response":"async","html":"<script>console.error('%s %s %s %s')</script>%s%s%s%s%s%s","options":{"failOnConsoleError":true}}`, steps("hold load")},
		{"/v1/pdf", `{"store":false,"html":"%s%s%s%s%s%s","options":{"format":"%s","pageRanges":"%s","metadata":{"title":"%s","author":"%s"}}}`, steps("limit")},
	}
}

// TestStoreFalseLeavesNothing kills a server at a few points of calls with store false, and finds nothing of them.
// TestStoreFalseLeavesNothingAnywhere does so at 50 points, with 500 canaries.
func TestStoreFalseLeavesNothing(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	h := newCanaryHunt(t, storetest.SQLite(t))
	calls := unstoredCalls(h.to)
	calls[0].steps, calls[2].steps = []string{"run"}, []string{"load", "settle"}
	h.run(append(calls[:1:1], calls[2]))
}

func TestStoreFalseLeavesNothingAnywhere(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		h := newCanaryHunt(t, db)
		h.run(unstoredCalls(h.to))
		if h.kills != 50 || h.canaries < 500 {
			t.Errorf("%d kills and %d canaries", h.kills, h.canaries)
		}
	})
}

// canaryHunt is a server that stores inputs where it may, and searches for texts in all that it writes.
type canaryHunt struct {
	*crashBench

	to              unstoredTo
	temporary       string
	redis           string // socket
	logs            *lockedBuffer
	kills, canaries int
}

// lockedBuffer receives the logs of servers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

// canary begins each text that calls with store false have, and control that of another call.
const canary, control = "kanarienvogel7x", "kontrollvogel7x"

func newCanaryHunt(t *testing.T, db storetest.DB) *canaryHunt {
	t.Helper()
	h := &canaryHunt{crashBench: newCrashBench(t, db), logs: &lockedBuffer{}}
	h.log = h.logs
	t.Cleanup(func() {
		if logs := h.logs.bytes(); t.Failed() {
			t.Logf("the last logs: %s", logs[max(0, len(logs)-3000):])
		}
	})
	destination := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(destination.Close)
	h.to.url = destination.URL
	h.temporary = t.TempDir()
	// The engines' own user passes through it.
	if err := errors.Join(os.Chmod(filepath.Dir(h.temporary), 0o711), os.Chmod(h.temporary, 0o777|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	h.redis = startFleetRedis(t, h.temporary).socket
	link, err := storetest.NewLink(t.Context(), "unix", h.redis, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	if err := h.store.SetKeepInputs(t.Context(), h.account.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := h.store.Credit(t.Context(), h.account.ID, credit.Dollar, "for the rate limits of those who pay"); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "TMPDIR="+h.temporary, "RELAYPDF_LOG_LEVEL=debug", "RELAYPDF_RATE_LIMITS=on", "RELAYPDF_REDIS_URL=redis://"+link.Address+"/0",
		"RELAYPDF_EXTRA_CA="+authorityOf(t, destination), "RELAYPDF_ALLOW_HOSTS=127.0.0.1")
	h.connect()
	return h
}

// connect stores connections to a bucket and to an SFTP server.
func (h *canaryHunt) connect() {
	h.t.Helper()
	config, hostKey := sharedtest.ServerConfig(h.t)
	folder := h.t.TempDir()
	host, port := sharedtest.Listen(h.t, func(conn net.Conn) {
		sharedtest.ServeSSH(conn, config, func(channel ssh.Channel) {
			if server, err := sftp.NewServer(channel, sftp.WithServerWorkingDirectory(folder)); err == nil {
				_ = server.Serve()
			}
		})
	})
	server := h.start("none")
	defer server.end(syscall.SIGTERM)
	connection := func(body string) string {
		var made wire.Connection
		status, answer := h.ask(h.t.Context(), server.url+"/v1/connections", body)
		if err := json.Unmarshal(answer, &made); err != nil || status != http.StatusCreated {
			h.t.Fatalf("status %d, %.300s, %v", status, answer, err)
		}
		return made.ID
	}
	h.to.bucket = connection(fmt.Sprintf(`{"name":"bucket","s3":{"endpoint":%q,"bucket":"documents","accessKeyId":%q,"secretAccessKey":%q,"pathStyle":true}}`,
		fakes3.Start(h.t).TLS(h.t), fakes3.AccessKey, fakes3.SecretKey))
	h.to.files = connection(fmt.Sprintf(`{"name":"files","sftp":{"host":%q,"port":%s,"username":"maya","password":"secret","hostKey":%q}}`,
		host, port, hostKey))
}

// filled returns the body of a call with its canaries.
func (h *canaryHunt) filled(body, prefix string) string {
	var texts []any
	for range strings.Count(body, "%s") {
		texts = append(texts, fmt.Sprintf("%s%04d", prefix, h.canaries))
		h.canaries++
	}
	return fmt.Sprintf(body, texts...)
}

// run has the calls made, kills servers during others of their kind, and searches after both.
func (h *canaryHunt) run(calls []unstoredCall) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*crashPatience)
	defer cancel()
	server := h.start("none")
	for _, call := range calls {
		fails := len(call.steps) == 1 && call.steps[0] == "limit"
		if status, body := h.ask(ctx, server.url+call.path, h.filled(call.body, canary)); fails != (status >= http.StatusBadRequest) {
			h.t.Fatalf("%.80s: status %d, %.300s", call.body, status, body)
		}
	}
	h.awaitEnds(ctx)
	h.expectNothing("the calls")
	server.end(syscall.SIGTERM)
	h.env = append(h.env, "RELAYPDF_RATE_LIMITS=off") // A call that is refused reaches no step.
	server = h.start("none")
	for _, call := range calls {
		h.path = call.path
		var hanging sync.WaitGroup
		for i, step := range call.steps {
			// The body is not a format from here on.
			h.body = strings.ReplaceAll(h.filled(call.body, canary), "%", "%%") + "%.0s"
			h.series = fmt.Sprint(h.kills, "-")
			h.hang(server, step, &hanging)
			h.kills++
			if step == "hold" || i == len(call.steps)-1 { // A worker would go on with a job after its hold.
				server.end(syscall.SIGKILL)
				hanging.Wait()
				server = h.start("none")
				h.awaitEnds(ctx) // Jobs of the killed server would hang at the next step too, and occupy all workers.
			}
		}
	}
	h.awaitEnds(ctx)
	h.expectNothing("the kills")
	// A call of another kind is found, as its name and its error are stored.
	for _, body := range []string{`{"html":"a","response":"url","filename":"%s.pdf"}`, `{"html":"a","options":{"format":"%s"}}`} {
		h.ask(ctx, server.url+"/v1/pdf", h.filled(body, control))
	}
	server.end(syscall.SIGTERM)
	h.expectNothing("the end of the server")
	if found := h.search(control); len(found) == 0 {
		h.t.Error("the search finds nothing of a call that is stored")
	}
}

// ask makes a call, when the limit of rates lets it through, and returns its status and the response.
func (h *canaryHunt) ask(ctx context.Context, address, body string) (status int, answer []byte) {
	h.t.Helper()
	for {
		response, err := h.send(ctx, address, "", strings.NewReader(body))
		if err != nil {
			h.t.Fatal(err)
		}
		answer, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			h.t.Fatal(err)
		}
		if response.StatusCode != http.StatusTooManyRequests {
			return response.StatusCode, answer
		}
		<-time.After(time.Second)
	}
}

// awaitEnds waits until all calls have ended.
func (h *canaryHunt) awaitEnds(ctx context.Context) {
	h.t.Helper()
	for {
		page, err := h.store.Calls(ctx, store.CallFilter{AccountID: h.account.ID, Status: store.CallRunning})
		if err != nil {
			h.t.Fatal(err)
		}
		if len(page.Items) == 0 {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// expectNothing checks that no canary is found.
func (h *canaryHunt) expectNothing(after string) {
	h.t.Helper()
	for _, place := range h.search(canary) {
		h.t.Errorf("after %s, a canary is in %s", after, place)
	}
}

// search returns the places with a text: files, rows, logs and Redis.
func (h *canaryHunt) search(text string) (places []string) {
	h.t.Helper()
	forms := spellings(text)
	look := func(place string, content []byte) {
		for _, form := range forms {
			if at := bytes.Index(content, form); at >= 0 {
				places = append(places, fmt.Sprintf("%s: %.200q", place, content[max(0, at-60):min(len(content), at+100)]))
				return
			}
		}
	}
	for _, dir := range []string{h.database.DataDir, h.temporary} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			look(path+" (its name)", []byte(path))
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				return nil
			}
			look(path, content)
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	look("the logs", h.logs.bytes())
	h.rows(look)
	conn, err := redis.DialContext(h.t.Context(), "unix", h.redis)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	keys, err := redis.Strings(conn.Do("KEYS", "*"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, key := range keys {
		dump, err := redis.String(conn.Do("DUMP", key))
		if err != nil && !errors.Is(err, redis.ErrNil) {
			h.t.Fatal(err)
		}
		look("Redis: "+key, []byte(key+dump))
	}
	return places
}

// rows shows all rows of PostgreSQL as texts. Those of SQLite are in its file.
func (h *canaryHunt) rows(look func(string, []byte)) {
	h.t.Helper()
	if strings.HasPrefix(h.database.URL, "sqlite:") {
		return
	}
	db, err := sql.Open("pgx", h.database.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	var tables string
	if err := db.QueryRowContext(h.t.Context(), `SELECT json_agg(tablename) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil {
		h.t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal([]byte(tables), &names); err != nil {
		h.t.Fatal(err)
	}
	for _, name := range names {
		var text sql.NullString
		if err := db.QueryRowContext(h.t.Context(), `SELECT string_agg(t::text, ' ') FROM "`+name+`" AS t`).Scan(&text); err != nil {
			h.t.Fatal(err)
		}
		look("table "+name, []byte(text.String))
	}
}

// spellings returns the forms in which a text can be written.
func spellings(text string) [][]byte {
	var wide []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		wide = append(wide, byte(unit>>8), byte(unit))
	}
	forms := [][]byte{[]byte(text), wide, []byte(hex.EncodeToString([]byte(text))), []byte(strings.ToUpper(hex.EncodeToString([]byte(text)))), []byte(hex.EncodeToString(wide)), []byte(strings.ToUpper(hex.EncodeToString(wide)))}
	for shift := range 3 {
		coded := base64.StdEncoding.EncodeToString(append(make([]byte, shift), text...))
		forms = append(forms, []byte(coded[2*shift:len(coded)-4]))
	}
	return forms
}
