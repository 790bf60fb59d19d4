package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store/credit"
)

// hostilePatience is the time limit of a response to a hostile file: a multiple of the deadlines of operations on
// files, of the queue before them and of fetches.
const hostilePatience = 4 * time.Minute

// hostileShare means that TestHostileFiles sends a file to one of so many operations. To send it to all took 41 minutes on
// a machine that starts programs slowly; TestMutatedFiles sends any file to any operation, and TestHostileDocuments of
// render/pdf sends its own documents to every job.
const hostileShare = 3

// TestHostileFiles sends hostile files to every operation that accepts files. Each gets an error or a result, and
// only results are billed. Meanwhile the calls of another account succeed as always, and nothing connects to the
// outside.
func TestHostileFiles(t *testing.T) {
	sharedtest.Slow(t)
	var heard atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer canary.Close()
	s := toolServer(t)
	stop := watchBystander(t, s)
	before, _ := s.Balance(t)
	var charged atomic.Int64
	t.Run("operations", func(t *testing.T) {
		files, operations := hostileFiles(t, canary.URL), fileBodies(t, s)
		names := slices.Sorted(maps.Keys(files))
		for i, path := range slices.Sorted(maps.Keys(operations)) {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				for j := i % hostileShare; j < len(names); j += hostileShare {
					for _, body := range operations[path] {
						charged.Add(sendHostile(t, s, path, names[j], fmt.Sprintf(body, base64.StdEncoding.EncodeToString(files[names[j]]))))
					}
				}
			})
		}
	})
	stop()
	if after, held := s.Balance(t); before-after != charged.Load() || held != 0 {
		t.Errorf("%d were charged and %d are held, want the %d that the answers name and nothing", before-after, held, charged.Load())
	}
	if heard.Load() > 0 {
		t.Errorf("%d requests came from the files", heard.Load())
	}
	if _, err := os.Lstat("/tmp/hostile"); err == nil {
		t.Error("a file was written outside")
	}
}

// fileBodies returns, for each operation that accepts files, the request bodies with "%[1]s" instead of files. They
// are the examples of the API.
func fileBodies(t *testing.T, s *apitest.Server) map[string][]string {
	t.Helper()
	bodies := map[string][]string{
		"/v1/pdf/stamp": {`{"file":` + inline(letters("alpha")) + `,"image":{"file":"%[1]s","filename":"a.png"}}`},
		"/v1/pipelines": {`{"steps":[{"id":"a","op":"pdf.rotate","input":{"file":"%[1]s","degrees":90}},{"id":"b","op":"pdf.info","input":{"step":"a"}}],"output":"a"}`},
	}
	for path, text := range examples(t, s) {
		var example any
		if err := json.Unmarshal(text, &example); err != nil {
			t.Fatal(err)
		}
		if !replaceFiles(example) {
			continue
		}
		text, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		bodies[path] = append(bodies[path], string(text))
	}
	// It converts each file as pdf.pdfa does, which takes a minute; render/pdf gives its job hostile files too.
	delete(bodies, "/v1/pdf/facturx")
	// Web pages, templates, records and barcodes take none.
	if len(bodies) < len(operation.Rows)-7 {
		t.Errorf("only %d of %d operations take files", len(bodies), len(operation.Rows))
	}
	return bodies
}

// examples returns the examples of all operations by their paths.
func examples(t *testing.T, s *apitest.Server) map[string]json.RawMessage {
	t.Helper()
	var description struct {
		Paths map[string]struct {
			Post struct {
				Price       *int64 `json:"x-relaypdf-price-microdollars"`
				RequestBody struct {
					Content map[string]struct {
						Example  json.RawMessage `json:"example"`
						Examples map[string]any  `json:"examples"` // one, if several operations have it
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		} `json:"paths"`
		Components struct {
			Examples map[string]struct {
				Value json.RawMessage `json:"value"`
			} `json:"examples"`
		} `json:"components"`
	}
	if err := json.Unmarshal(openAPI(t, s), &description); err != nil {
		t.Fatal(err)
	}
	found := map[string]json.RawMessage{}
	for path, methods := range description.Paths {
		body := methods.Post.RequestBody.Content["application/json"]
		for name := range body.Examples {
			body.Example = description.Components.Examples[name].Value
		}
		if example := body.Example; example != nil && methods.Post.Price != nil {
			found[path] = example
			if path == "/v1/pdf/seal" {
				found[path] = bytes.ReplaceAll(example, []byte("https://tsa.example/"), []byte(newAuthority(t).URL+"/tsa"))
			}
		}
	}
	if len(found) < len(operation.Rows) {
		t.Fatalf("%d examples of %d operations", len(found), len(operation.Rows))
	}
	found[bulkPath] = quoteOf(t, s, found[bulkPath])
	return found
}

// quoteOf returns the example of a bulk call as a request for its price, which is no job, on a server with its template.
func quoteOf(t *testing.T, s *apitest.Server, example json.RawMessage) json.RawMessage {
	t.Helper()
	l := templateLab{s, t}
	made, tag := l.record(201, "POST", "", object{"name": "Invoice", "html": "<p>{{number}}</p>"})
	l.record(200, "POST", "/"+made.ID+"/publish", object{}, "If-Match", tag)
	return json.RawMessage(strings.Replace(string(example), "{", `{"quote":true,`, 1))
}

// replaceFiles puts a verb of fmt in place of files, and reports whether there are any. Page ranges become the first
// page, which the shortest document has.
func replaceFiles(v any) (found bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if _, ok := value.(string); ok && name == "file" {
				v[name], found = "%[1]s", true
				continue
			}
			switch {
			case name == "pages":
				v[name] = "1"
			case name == "page":
				v[name] = 1
			case replaceFiles(value):
				found = true
			}
		}
	case []any:
		for i := range v {
			if replaceFiles(v[i]) {
				found = true
			}
		}
	}
	return found
}

// sendHostile makes one call and returns its charge. The error codes must blame the caller or the file.
func sendHostile(t *testing.T, s *apitest.Server, path, name, body string) (charged int64) {
	t.Helper()
	began := time.Now()
	answer := s.Send(t, apitest.Request{Path: path, Body: body})
	// On a slow machine files that time out leave the account half of its slots, and its queue fills.
	for full := began; turnedAway(t, answer) && time.Since(full) < hostilePatience; {
		if answer.Status == http.StatusTooManyRequests { // Any other has waited for 30 s.
			<-time.After(retryAfter(t, answer))
		}
		began = time.Now()
		answer = s.Send(t, apitest.Request{Path: path, Body: body})
	}
	if took := time.Since(began); took > hostilePatience {
		t.Errorf("%s: took %v, want at most %v", name, took, hostilePatience)
	}
	if answer.Status == http.StatusOK {
		if answer.Body == "" {
			t.Errorf("%s: an empty result", name)
		}
		if strings.Contains(answer.Body, "root:x:") {
			t.Errorf("%s: the result holds a file of the server", name)
		}
		charged, err := strconv.ParseInt(answer.Header.Get("x-service-charged-microdollars"), 10, 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return charged
	}
	failure := answer.Failure(t)
	blame := []wire.Code{wire.InvalidRequest, wire.ProcessingFailed, wire.PayloadTooLarge, wire.ConvertUnavailable}
	if !slices.Contains(blame, failure.Code) || failure.Message == "" {
		t.Errorf("%s: %d %s (%s), want a fault of the file; log:\n%s", name, answer.Status, failure.Code, failure.Message, s.Log.Lines(failure.RequestID))
	}
	return 0
}

// turnedAway reports whether the server was too busy to begin a call.
func turnedAway(t *testing.T, answer apitest.Response) bool {
	t.Helper()
	return answer.Status == http.StatusTooManyRequests ||
		answer.Status == http.StatusBadGateway && strings.HasPrefix(answer.Failure(t).Message, "Rendering did not start")
}

// watchBystander has another account make the same calls again and again until
// the returned function is called.
func watchBystander(t *testing.T, s *apitest.Server) (stop func()) {
	t.Helper()
	account, _, secret := s.NewAccount(t, "bystander@example.com")
	if err := s.Store.Credit(t.Context(), account.ID, 1000*credit.Dollar, "test"); err != nil { // lasts for days
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		turn := time.NewTicker(time.Second / 2)
		defer turn.Stop()
		first := map[string]string{}
		for {
			for path, body := range map[string]string{
				"/v1/pdf/text": `{"file":` + inline(letters("alpha", "beta")) + `}`,
				"/v1/images":   `{"html":"<p>bystander</p>","options":{"viewport":{"width":200,"height":100}}}`,
			} {
				answer := s.Send(t, apitest.Request{Path: path, Body: body, Header: http.Header{"Authorization": {"Bearer " + secret}}})
				if answer.Status != http.StatusOK {
					t.Errorf("bystander: %s: status %d: %.200s", path, answer.Status, answer.Body)
				}
				if was, ok := first[path]; ok && was != answer.Body {
					t.Errorf("bystander: %s: got %s, was %s before", path, inline([]byte(answer.Body)), inline([]byte(was)))
				}
				first[path] = answer.Body
			}
			select {
			case <-stopped:
				return
			case <-turn.C:
			}
		}
	})
	return func() {
		close(stopped)
		wait.Wait()
	}
}

// TestHostileJSON sends JSON that is hard to parse to every operation.
func TestHostileJSON(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	before, _ := s.Balance(t)
	for path := range examples(t, s) {
		for name, body := range map[string]string{
			"deep arrays":    `{"files":` + strings.Repeat("[", 1<<20),
			"deep objects":   strings.Repeat(`{"file":`, 100_000) + "1" + strings.Repeat("}", 100_000),
			"large number":   `{"pages":1e999999999,"scale":` + strings.Repeat("9", 1<<16) + `}`,
			"names":          `{` + strings.Repeat(`"file":"YQ",`, 50_000) + `"file":"YQ"}`,
			"not UTF-8":      "{\"file\":\"\xff\xfe\",\"html\":\"\xff\"}",
			"file of faults": `{"file":"` + strings.Repeat("!", 1<<20) + `"}`,
			"no end":         `{"file":"` + strings.Repeat("QUFB", 1<<17),
			"empty":          "",
			"null":           "null",
		} {
			if failure := s.Send(t, apitest.Request{Path: path, Body: body}).Refused(t, wire.InvalidRequest); failure.Message == "" {
				t.Errorf("%s: %s: no words", path, name)
			}
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("refused calls cost %d and hold %d", before-after, held)
	}
}

// TestHostileNames gives an archive names that lead out of its folder.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	names := []string{
		"../../etc/passwd", "..", ".", "/etc/passwd", `C:\Windows\win.ini`, `\\host\share\a`, "a\x00b.pdf", "a/../../b", "con", "aux.txt",
		"a", "a", "A", "a/", "a/b", "~/.ssh/id", strings.Repeat("x/", 120) + "y", "x\u202egnp.exe", "\r\nx: y", "-rf", "file://x", "a:b",
	}
	var files []map[string]string
	for _, name := range names {
		files = append(files, map[string]string{"file": "YQ", "filename": name})
	}
	body, err := json.Marshal(map[string]any{"files": files})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := unpack(t, s.Send(t, apitest.Request{Path: "/v1/zip", Body: string(body)}).OK(t).Body)
	seen := map[string]bool{}
	for i, name := range got {
		if key := strings.ToLower(name); seen[key] {
			t.Errorf("%q is there twice", name)
		} else {
			seen[key] = true
		}
		climbs := slices.Contains(strings.Split(name, "/"), "..")
		if climbs || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\:\x00\r\n\u202e") {
			t.Errorf("%q became %q", names[i], name)
		}
	}
	if len(got) != len(names) {
		t.Errorf("%d entries, want %d", len(got), len(names))
	}
}

// TestZeros gives each operation a file of the largest size that holds nothing.
func TestZeros(t *testing.T) {
	sharedtest.Slow(t)
	s := toolServer(t)
	content := base64.StdEncoding.EncodeToString(make([]byte, labMaxFile))
	for path, bodies := range fileBodies(t, s) {
		sendHostile(t, s, path, "zeros", fmt.Sprintf(bodies[0], content))
	}
}
