package api_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Duration and seed of TestMutatedFiles; make fuzz sets them.
var (
	mutationTime = flag.Duration("mutations", 5*time.Second, "how long TestMutatedFiles sends mutated files")
	mutationSeed = flag.Uint64("mutation-seed", 0, "seed of TestMutatedFiles; 0 takes a new one")
)

// TestMutatedFiles sends mutated PDFs and images to every operation that accepts files, for the configured time. No
// response is an internal error, everything billed is named in a response, and nothing is left running.
func TestMutatedFiles(t *testing.T) {
	sharedtest.Slow(t)
	seed := *mutationSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	prices := map[string]credit.Amount{} // so low that the wallet lasts
	for _, operation := range table.All() {
		prices[operation.Name] = credit.Microdollar
	}
	s := toolServer(t, func(cfg *apitest.Settings) { cfg.Prices = prices })
	before, _ := s.Balance(t)
	m := &mutator{server: s, corpus: corpus(t), bodies: fileBodies(t, s)}
	m.paths = slices.Sorted(maps.Keys(m.bodies))
	end := time.Now().Add(*mutationTime)
	var workers sync.WaitGroup
	for i := range uint64(4) {
		workers.Go(func() {
			for r := rand.New(rand.NewPCG(seed, i)); time.Now().Before(end) && !t.Failed(); {
				m.try(t, r)
			}
		})
	}
	workers.Wait()
	t.Logf("%d calls, %d of them with a result", m.calls.Load(), m.results.Load())
	for path, body := range examples(t, s) {
		m.charged.Add(sendHostile(t, s, path, "the example afterwards", string(body)))
	}
	if after, held := s.Balance(t); before-after != m.charged.Load() || held != 0 {
		t.Errorf("%d were charged and %d are held, want the %d that the answers name and nothing", before-after, held, m.charged.Load())
	}
	// A response may come before the remains of its job are gone.
	none(t, "still running", func() []string { return strayPrograms(t) })
	none(t, "left behind", func() []string { return strayFiles(t, filepath.Join(lab.dir, "relaypdf-engine-*")) })
}

// none fails the test if the list is not empty after a minute.
func none(t *testing.T, what string, list func() []string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if left = list(); len(left) == 0 {
			return
		}
	}
	t.Errorf("%s: %q", what, left)
}

// mutator sends mutated files.
type mutator struct {
	server                  *apitest.Server
	corpus                  [][]byte
	bodies                  map[string][]string // by path
	paths                   []string
	calls, results, charged atomic.Int64
}

// try makes one call. A file that makes it fail is stored.
func (m *mutator) try(t *testing.T, r *rand.Rand) {
	t.Helper()
	content := bytes.Clone(m.corpus[r.IntN(len(m.corpus))])
	for range 1 + r.IntN(4) {
		content = mutate(r, content, m.corpus[r.IntN(len(m.corpus))])
	}
	if len(content) > labMaxFile {
		content = content[:labMaxFile]
	}
	path := m.paths[r.IntN(len(m.paths))]
	body := m.bodies[path][r.IntN(len(m.bodies[path]))]
	answer, err := m.post(path, fmt.Sprintf(body, base64.StdEncoding.EncodeToString(content)))
	m.calls.Add(1)
	charged, _ := strconv.ParseInt(answer.Header.Get("x-service-charged-microdollars"), 10, 64)
	m.charged.Add(charged)
	if charged > 0 {
		m.results.Add(1)
	}
	free := strings.HasPrefix(answer.Body, `{"verdict":"unsigned"`) // pdf.verify of a PDF without a signature
	// The last two are answers of a busy machine.
	blames := []int{http.StatusBadRequest, http.StatusBadGateway, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable}
	if err == nil && (answer.Status == http.StatusOK) == (charged > 0 || free) && (charged > 0 || free || slices.Contains(blames, answer.Status)) {
		return
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("relaypdf-mutation-%d.bin", time.Now().UnixNano()))
	if err := os.WriteFile(kept, content, 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("%s: status %d, charged %d, %v: %.300s\nthe file is kept as %s", path, answer.Status, charged, err, answer.Body, kept)
}

// post is Send for goroutines that must not end the test.
func (m *mutator) post(path, body string) (apitest.Response, error) {
	request, err := http.NewRequest(http.MethodPost, m.server.URL+path, strings.NewReader(body))
	if err != nil {
		return apitest.Response{}, err
	}
	request.Header.Set("Authorization", "Bearer "+m.server.Secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := m.server.HTTP.Do(request)
	if err != nil {
		return apitest.Response{}, err
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(response.Body)
	return apitest.Response{Status: response.StatusCode, Header: response.Header, Body: text.String()}, errors.Join(err, response.Body.Close())
}

var (
	numberPattern    = regexp.MustCompile(`[0-9]+`)
	referencePattern = regexp.MustCompile(`[0-9]+ 0 R`)
	objectPattern    = regexp.MustCompile(`(?s)[0-9]+ 0 obj.*?endobj`)
)

// extremes are numbers that readers may not expect.
var extremes = []string{"0", "-1", "1", "65535", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807", "99999999999999999999", "1e38", "0.0000001"}

// mutate changes one thing in a file. Another one lends its objects.
func mutate(r *rand.Rand, content, other []byte) []byte {
	if len(content) == 0 {
		return []byte("%PDF-1.7\n")
	}
	at := r.IntN(len(content))
	end := min(len(content), at+1+r.IntN(2000))
	switch r.IntN(8) {
	case 0:
		for range 1 + r.IntN(16) {
			content[r.IntN(len(content))] ^= 1 << r.IntN(8)
		}
	case 1:
		return content[:at]
	case 2:
		return slices.Delete(content, at, end)
	case 3:
		return slices.Insert(content, at, bytes.Repeat(content[at:end], 1+r.IntN(20))...)
	case 4:
		return replaceOne(r, content, numberPattern, []byte(extremes[r.IntN(len(extremes))]))
	case 5:
		return replaceOne(r, content, referencePattern, fmt.Appendf(nil, "%d 0 R", r.IntN(30)))
	case 6:
		if all := objectPattern.FindAll(other, 100); len(all) > 0 {
			return replaceOne(r, content, objectPattern, all[r.IntN(len(all))])
		}
	case 7:
		from := r.IntN(len(other) + 1)
		return slices.Replace(content, at, end, other[from:min(len(other), from+end-at)]...)
	}
	return content
}

// replaceOne replaces one of the places that match.
func replaceOne(r *rand.Rand, content []byte, pattern *regexp.Regexp, by []byte) []byte {
	places := pattern.FindAllIndex(content, 1000)
	if len(places) == 0 {
		return content
	}
	place := places[r.IntN(len(places))]
	return slices.Replace(content, place[0], place[1], by...)
}

// corpus are the files that mutations start from: ours and those of others.
func corpus(t *testing.T) [][]byte {
	t.Helper()
	files := [][]byte{letters("alpha", "beta", "gamma"), dot(t)}
	hostile := hostileFiles(t, "http://127.0.0.1:9/")
	for _, name := range slices.Sorted(maps.Keys(hostile)) { // so that a seed repeats a run
		files = append(files, hostile[name])
	}
	kinds := []string{".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".gif"}
	err := filepath.WalkDir(pdftest.Corpus(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !slices.Contains(kinds, strings.ToLower(filepath.Ext(path))) {
			return err
		}
		content, err := os.ReadFile(path)
		files = append(files, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const largest = 200 << 10 // larger ones would take the time of many
	return slices.DeleteFunc(files, func(content []byte) bool { return len(content) == 0 || len(content) > largest })
}

// strayFiles returns the files below folders. The files of children with their own file system disappear with it.
func strayFiles(t *testing.T, folders string) (paths []string) {
	t.Helper()
	found, err := filepath.Glob(folders)
	if err != nil || len(found) == 0 {
		t.Fatalf("no folder is %s: %v", folders, err)
	}
	for _, folder := range found {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				paths = append(paths, path)
			}
			return nil // an unreadable file is gone
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// strayPrograms returns the names of programs which were started by this
// process, or by those that it started, for one job and outlived it.
func strayPrograms(t *testing.T) (names []string) {
	t.Helper()
	forJobs := []string{"qpdf", "mutool", "pdfinfo", "pdftotext", "pdftoppm", "pdftk", "java", "wkhtmltopdf", "tesseract", "gs", "cwebp"}
	parents := map[int]int{}
	programs := map[int]string{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if err != nil || open < 0 || end < open {
			continue // it has ended by now
		}
		fields := strings.Fields(string(text[end+1:]))
		programs[pid] = string(text[open+1 : end])
		parents[pid], _ = strconv.Atoi(fields[1])
	}
	for pid, name := range programs {
		ancestor := pid
		for ancestor > 1 && ancestor != os.Getpid() {
			ancestor = parents[ancestor]
		}
		if ancestor == os.Getpid() && slices.Contains(forJobs, name) {
			names = append(names, name)
		}
	}
	return names
}
