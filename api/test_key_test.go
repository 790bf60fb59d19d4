package api_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"

	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// hasMark reports whether an image has the test mark in its bottom right corner: the dark band with a light edge.
func hasMark(img image.Image) bool {
	b := img.Bounds()
	dark := func(x, y int) bool {
		r, g, bl, _ := img.At(x, y).RGBA()
		const minimum, maximum = 0x20 << 8, 0x48 << 8
		return min(r, g, bl) > minimum && max(r, g, bl) < maximum
	}
	count := 0
	for y := max(b.Min.Y, b.Max.Y-20); y < b.Max.Y; y++ {
		for x := max(b.Min.X, b.Max.X-60); x < b.Max.X; x++ {
			if dark(x, y) {
				count++
			}
		}
	}
	return count > 25
}

// unmarked returns the parts of a result without a test mark: pages of a PDF, images, entries of an archive.
func unmarked(t *testing.T, contentType, password string, content []byte) (found []string) {
	t.Helper()
	switch contentType {
	case "application/json":
		return nil
	case "application/pdf":
		dir := t.TempDir()
		path := filepath.Join(dir, "document.pdf")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "pdftoppm", "-q", "-cropbox", "-r", "96", "-png", "-upw", password, path, filepath.Join(dir, "page")).CombinedOutput(); err != nil {
			t.Fatalf("pdftoppm: %v\n%s", err, out)
		}
		pages, err := filepath.Glob(filepath.Join(dir, "page*.png"))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%d pages, %v", len(pages), err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, unmarked(t, filepath.Base(page), "", text)...)
		}
		return found
	case "application/zip":
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.File {
			entry, err := file.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(entry)
			if err := errors.Join(err, entry.Close()); err != nil {
				t.Fatal(err)
			}
			found = append(found, unmarked(t, cmp.Or(mime.TypeByExtension(filepath.Ext(file.Name)), file.Name), password, text)...)
		}
		return found
	}
	img, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", contentType, err)
	}
	if !hasMark(img) {
		found = append(found, contentType)
	}
	return found
}

// newTester returns the secret of a test key of the server's account.
func newTester(t *testing.T, s *apitest.Server) string {
	t.Helper()
	_, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "tests", Test: true})
	return secret
}

// TestTestKeysMarkEveryResult sends every example of the API's description with a test key. Results have the test mark
// or are data, and the others are refused before they cost anything.
func TestTestKeysMarkEveryResult(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	secret := newTester(t, s)
	refused := map[string]string{
		"/v1/templates/generate": "AI tokens", "/v1/pdf/extract-images": "application/zip", "/v1/zip": "application/zip", "/v1/convert": "spreadsheetml",
	}
	before, _ := s.Balance(t)
	for path, example := range examples(t, s) {
		got := s.Send(t, apitest.Request{Path: path, Body: string(example), Header: bearerOf(secret)})
		if why := refused[path]; why != "" {
			if message := got.Refused(t, wire.InvalidRequest).Message; !strings.HasPrefix(message, "Test keys cannot ") || !strings.Contains(message, why) {
				t.Errorf("%s: the message is %q", path, message)
			}
			continue
		}
		password := ""
		if path == "/v1/pdf/protect" {
			password = "correct horse"
		}
		contentType := got.OK(t).Header.Get("Content-Type")
		if plain := unmarked(t, contentType, password, []byte(got.Body)); len(plain) > 0 {
			t.Errorf("%s: without a test mark: %v", path, plain)
		}
		if charge := got.Header.Get("X-Service-Charged-Microdollars"); charge != "0" {
			t.Errorf("%s: %s microdollars are charged", path, charge)
		}
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("the wallet has %d and %d held, want %d and 0", after, held, before)
	}
}

// TestTestKeysMarkOtherForms sends what the examples do not: other formats, documents with a password, archives and
// choices of an operation that a test key does not have.
func TestTestKeysMarkOtherForms(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	secret := newTester(t, s)
	source := `"file":` + inline(letters("alpha", "beta"))
	locked := inline([]byte(s.Send(t, apitest.Request{Path: "/v1/pdf/protect", Body: `{` + source + `,"userPassword":"geheim"}`}).OK(t).Body))
	for _, test := range []struct{ path, body, password string }{
		{"/v1/images", `{"html":"<body style='background:#0a0'>","options":{"type":"jpeg"}}`, ""},
		{"/v1/images", `{"html":"<body style='background:#0a0'>","options":{"type":"webp","fullPage":true}}`, ""},
		{"/v1/pdf", `{"html":"<style>*{display:none!important}@page{margin:0}</style><script>document.body?.remove()</script>"}`, ""},
		{"/v1/pdf", `{"markdown":"# Hello","options":{"metadata":{"title":"T"}}}`, ""},
		{"/v1/pdf/protect", `{` + source + `,"userPassword":"geheim","ownerPassword":"other","permissions":{"modify":false}}`, "geheim"},
		{"/v1/pdf/pdfa", `{` + source + `,"level":"1b"}`, ""},
		{"/v1/pdf/optimize", `{` + source + `}`, ""},
		{"/v1/pdf/split", `{"file":` + locked + `,"everyPages":1,"password":"geheim"}`, "geheim"},
		{"/v1/pdf/raster", `{` + source + `,"pages":"1-2","type":"jpeg"}`, ""},
		{"/v1/convert", `{"html":"<h1>Hello</h1>","to":"png"}`, ""},
		{"/v1/convert", `{"file":"YTtiCjE7Mgo=","sourceFilename":"a.csv","options":{"password":"geheim"},"metadata":{"title":"T"}}`, "geheim"},
		{"/v1/convert", `{"file":"YTtiCjE7Mgo=","sourceFilename":"a.csv","options":{"pdfa":"2b"}}`, ""},
		{"/v1/pdf/attachments", `{` + source + `,"action":"add","files":[{"file":"YQ==","filename":"a.txt"}]}`, ""},
	} {
		got := s.Send(t, apitest.Request{Path: test.path, Body: test.body, Header: bearerOf(secret)}).OK(t)
		if plain := unmarked(t, got.Header.Get("Content-Type"), test.password, []byte(got.Body)); len(plain) > 0 {
			t.Errorf("%s %s: without a test mark: %v", test.path, test.body[:min(80, len(test.body))], plain)
		}
	}
	got := s.Send(t, apitest.Request{Path: "/v1/pdf/rotate", Body: `{"file":` + locked + `,"password":"geheim","degrees":90}`, Header: bearerOf(secret)}).OK(t)
	if plain := unmarked(t, "application/pdf", "geheim", []byte(got.Body)); len(plain) > 0 {
		t.Errorf("an encrypted source: without a test mark: %v", plain)
	}
	for path, body := range map[string]string{
		"/v1/convert":         `{"html":"<h1>Hello</h1>","to":"docx"}`,
		"/v1/barcodes":        `{"type":"qr","text":"a","format":"svg"}`,
		"/v1/pdf/attachments": `{` + source + `,"action":"extract"}`,
		"/v1/pdf/data":        `{` + source + `,"schema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
	} {
		s.Send(t, apitest.Request{Path: path, Body: body, Header: bearerOf(secret)}).Refused(t, wire.InvalidRequest)
	}
}

// TestTestKeysNeedNoWallet calls with an empty wallet, in every form of response.
func TestTestKeysNeedNoWallet(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := toolServerOn(t, &db)
		stop := s.Work(t)
		defer stop()
		poor, err := s.Store.CreateAccount(t.Context(), "poor@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		key, secret := s.NewKey(t, store.NewKey{AccountID: poor.ID, Test: true})
		s.Account, s.Secret = poor, secret
		create := func(response string) apitest.Request {
			return apitest.Request{Path: "/v1/pdf", Body: `{"html":"<h1>Hello</h1>","response":"` + response + `"}`}
		}
		binary := s.Send(t, create("binary")).OK(t)
		if plain := unmarked(t, "application/pdf", "", []byte(binary.Body)); len(plain) > 0 {
			t.Error("the response has no test mark")
		}
		var file struct{ ID string }
		if err := json.Unmarshal([]byte(s.Send(t, create("url")).OK(t).Body), &file); err != nil {
			t.Fatal(err)
		}
		job := s.Await(t, s.Enqueue(t, create("async")).ID)
		if job.Status != "completed" {
			t.Fatalf("the job is %+v", job)
		}
		for _, id := range []string{file.ID, job.ID} {
			if plain := unmarked(t, "application/pdf", "", []byte(s.Content(t, id))); len(plain) > 0 {
				t.Errorf("the stored result %s has no test mark", id)
			}
		}
		account, err := s.Store.Account(t.Context(), poor.ID)
		if err != nil || account.Balance != 0 || account.Held != 0 || account.SpentToday != 0 {
			t.Errorf("the account is %+v, %v", account, err)
		}
		postings, err := s.Store.Postings(t.Context(), store.PostingFilter{AccountID: poor.ID})
		if err != nil || len(postings.Items) > 0 {
			t.Errorf("the ledger has %+v, %v", postings.Items, err)
		}
		usage, err := s.Store.Usage(t.Context(), poor.ID, s.Clock.Now(), s.Clock.Now())
		if err != nil || usage.Count != 3 || usage.Total != 0 {
			t.Errorf("the usage is %+v, %v", usage, err)
		}
		if found, _, err := s.Store.KeyByID(t.Context(), poor.ID, key.ID); err != nil || found.Spent != 0 {
			t.Errorf("the key is %+v, %v", found, err)
		}
		// The same account pays with a live key.
		_, live := s.NewKey(t, store.NewKey{AccountID: poor.ID})
		request := create("binary")
		request.Header = bearerOf(live)
		s.Send(t, request).Refused(t, wire.PaymentRequired)
	})
}

// TestTestKeysGetNoLiveResult repeats the request of a key of the other kind, with its Idempotency-Key.
func TestTestKeysGetNoLiveResult(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	tester := newTester(t, s)
	send := func(secret, key string) apitest.Response {
		header := bearerOf(secret)
		header.Set("Idempotency-Key", key)
		return s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"<h1>Hello</h1>"}`, Header: header})
	}
	for _, test := range []struct{ name, first, second string }{{"live first", s.Secret, tester}, {"test first", tester, s.Secret}} {
		first := send(test.first, test.name).OK(t)
		if again := send(test.first, test.name).OK(t); again.Body != first.Body {
			t.Errorf("%s: the response is not repeated", test.name)
		}
		send(test.second, test.name).Refused(t, wire.InvalidRequest)
	}
	// A result of a live key gets the mark in a test.
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"<h1>Hello</h1>","response":"url"}`}).OK(t).Body), &made); err != nil {
		t.Fatal(err)
	}
	if plain := unmarked(t, "application/pdf", "", []byte(s.Content(t, made.ID))); len(plain) != 1 {
		t.Errorf("the result of a live key: unmarked are %v", plain)
	}
	got := s.Send(t, apitest.Request{Path: "/v1/pdf/compress", Body: fmt.Sprintf(`{"fileId":%q}`, made.ID), Header: bearerOf(tester)}).OK(t)
	if plain := unmarked(t, "application/pdf", "", []byte(got.Body)); len(plain) > 0 {
		t.Error("the test's result has no test mark")
	}
}

// TestTestKeysWorkOnEveryURL uses a test key on local and public servers. On a developer's own server it is like a live
// key.
func TestTestKeysWorkOnEveryURL(t *testing.T) {
	t.Parallel()
	for base, dev := range map[string]bool{"https://pdf.example.net": false, "http://127.0.0.1:8787": false, "http://localhost:8787": true} {
		s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.BaseURL, cfg.Dev = base, dev }})
		secret := newTester(t, s)
		charge := s.Send(t, apitest.Request{Path: "/v1/test/json", Body: `{}`, Header: bearerOf(secret)}).OK(t).Header.Get("X-Service-Charged-Microdollars")
		echoed := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(secret)})
		switch {
		case dev && (charge != fmt.Sprint(int64(apitest.JSONPrice)) || echoed.Status != http.StatusOK):
			t.Errorf("%s: the charge is %s, the text %+v", base, charge, echoed)
		case !dev && charge != "0":
			t.Errorf("%s: the charge is %s", base, charge)
		case !dev:
			echoed.Refused(t, wire.InvalidRequest)
		}
	}
}

// TestTestsAreLimited fills an account's daily limit of tests with two keys. Live keys go on.
func TestTestsAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	keys := []string{newTester(t, s), newTester(t, s)}
	send := func(secret string) apitest.Response {
		s.Clock.Advance(4 * time.Second)
		return s.Send(t, apitest.Request{Path: "/v1/test/json", Body: `{}`, Header: bearerOf(secret)})
	}
	for i := range call.MaxTests {
		send(keys[i%2]).OK(t)
	}
	refused := send(keys[0])
	if message := refused.Refused(t, wire.RateLimited).Message; !strings.HasPrefix(message, "Test limit reached: 500 calls with test keys per 24 hours.") || refused.Header.Get("Retry-After") == "" {
		t.Errorf("the message is %q, Retry-After %q", message, refused.Header.Get("Retry-After"))
	}
	send(s.Secret).OK(t)
	s.Clock.Advance(24 * time.Hour)
	send(keys[1]).OK(t)
}
