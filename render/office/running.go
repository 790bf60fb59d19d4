package office

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// workerSource is the script that controls LibreOffice.
//
//go:embed worker.py
var workerSource string

// components are the scripts that LibreOffice runs in its own process.
//
//go:embed fallback.py font_names.py
var components embed.FS

// settings is LibreOffice's file of settings, which turns off everything that runs code, asks questions or uses the
// network by itself.
//
//go:embed registrymodifications.xcu
var settings []byte

// annotation describes the box of comments (see completeShare).
//
//go:embed annotation.ui
var annotation []byte

// fonts is LibreOffice's font configuration. FONTS is a placeholder for the general configuration, and writeFonts
// replaces the other names.
//
//go:embed fonts.conf
var fonts string

const (
	officeProgram = "soffice"
	// workerProgram is the system's own Python: only it has Debian's UNO.
	workerProgram = "/usr/bin/python3"
	// maxAnswer bounds an answer of the worker in bytes.
	maxAnswer = 64 << 10
)

// instance is a LibreOffice process and its worker, in a child.
type instance struct {
	office   *engine.Daemon
	worker   *engine.Daemon
	answers  *bufio.Scanner
	requests int // how many the worker got

	// ownFonts is the folder in which LibreOffice stores the fonts that documents embed.
	ownFonts   string
	emojiName  string // of the font in this LibreOffice; "" without one
	fontConfig string // the path of its font configuration
	fallbacks  fallbackFonts
	available  map[string]bool // names of fonts, and whether a font or a substitute has them
}

// workerRequest is a job as the worker takes it.
type workerRequest struct {
	// ID is the number of the response.
	ID            int    `json:"id"`
	Input         string `json:"input"`
	Output        string `json:"output,omitempty"` // none: the document is only opened
	Password      string `json:"password,omitempty"`
	ImportFilter  string `json:"importFilter,omitempty"`
	ImportOptions string `json:"importOptions,omitempty"`
	// ExportFilters are by the kind of the document, which shows when it is
	// open.
	ExportFilters map[Kind]string `json:"exportFilters"`
	ExportOptions string          `json:"exportOptions,omitempty"`
	// FitColumns lays out a table that brings no layout.
	FitColumns bool `json:"fitColumns,omitempty"`
	// Numbers are the formats of the columns of such a table.
	Numbers []numberFormat `json:"numbers,omitempty"`
	// KeepPages keeps content on its page in the export, whose pages have the sizes PageSizes.
	KeepPages bool       `json:"keepPages,omitempty"`
	PageSizes []PageSize `json:"pageSizes,omitempty"`
	// Recalculate calculates all formulas of a spreadsheet. Formulas is the path of an officefile.Formulas.
	Recalculate bool   `json:"recalculate,omitempty"`
	Formulas    string `json:"formulas,omitempty"`
	// Unread asks for the number of formulas and fields.
	Unread bool `json:"unread,omitempty"`
	// Fallbacks are fonts for letters that the fonts of a document may lack.
	Fallbacks []fallback `json:"fallbacks,omitempty"`
	// FontNames asks for the fonts of the text that are missing. AvailableFonts are not, although LibreOffice has none
	// of the name.
	FontNames      bool     `json:"fontNames,omitempty"`
	AvailableFonts []string `json:"availableFonts,omitempty"`
	// Layout changes how a PDF is laid out, and FilterData how it is written.
	Layout
	FilterData map[string]any `json:"filterData,omitempty"`
}

// Layout is the layout of the pages of a PDF. The zero value keeps the document's own.
type Layout struct {
	// Landscape turns the paper of texts and spreadsheets; nil leaves it.
	Landscape *bool `json:"landscape,omitempty"`
	// FitToWidth makes the columns of a spreadsheet fit on one page.
	FitToWidth bool `json:"fitToWidth,omitempty"`
	// Sheets are the names of a spreadsheet's sheets, or their numbers from 1;
	// none means all.
	Sheets []any `json:"sheets,omitempty"`
	// Changes selects how tracked changes of a text are shown. Empty means as in the document.
	Changes Changes `json:"changes,omitempty"`
}

// Changes is the treatment of tracked changes.
type Changes string

// The choices for tracked changes.
const (
	ChangesShown    Changes = "shown"
	ChangesAccepted Changes = "accepted"
	ChangesRejected Changes = "rejected"
)

// answer is the worker's response to an order.
type answer struct {
	ID    int    `json:"id"` // of the order
	Ready bool   `json:"ready"`
	Kind  Kind   `json:"kind"`
	Error string `json:"error"`
	Text  string `json:"text"`
	// Unplaced is whether letters are left that did not get a font of Fallbacks.
	Unplaced bool `json:"unplaced"`
	// Unread is the number of formulas and fields with results of LibreOffice.
	Unread int `json:"unread"`
	// MissingFonts are fonts of the text that LibreOffice lacks, and StyleFonts those of its styles: names, or lists of
	// alternatives with ; between them.
	MissingFonts []string `json:"missingFonts"`
	StyleFonts   []string `json:"styleFonts"`
	// Cells are cells of a spreadsheet by what became of them.
	Cells struct {
		// Failed have an error and no stored result, Kept an error in place of which the stored result is, and Changed
		// a result that differs from the stored one.
		Failed, Kept, Changed cellList
	} `json:"cells"`
}

// cellList is a number of cells, and the first of them.
type cellList struct {
	Count int      `json:"count"`
	First []string `json:"first"`
}

// start starts LibreOffice and the worker, and returns when they can execute orders. The child ends as soon as one
// of them does: it is useless then, and its pool starts another.
func (r *instance) start(ctx context.Context, w *engine.Work) (err error) {
	if r.office != nil {
		return nil
	}
	dir, err := w.PersistentDir()
	if err != nil {
		return err
	}

	// The system's list of extensions may be inaccessible, which ends LibreOffice, or outdated, which makes it
	// start again.
	noExtensions := filepath.Join(dir, "extensions")
	profile := filepath.Join(dir, "profile")
	temporary := filepath.Join(dir, "tmp")
	user := filepath.Join(profile, "user")
	extensions := filepath.Join(user, "extensions")
	scripts := filepath.Join(dir, "scripts")
	r.ownFonts = filepath.Join(user, "temp", "embeddedfonts")

	err = errors.Join(
		os.MkdirAll(user, 0o700),
		os.MkdirAll(temporary, 0o700),
		os.WriteFile(filepath.Join(user, "registrymodifications.xcu"), settings, 0o600),
		os.CopyFS(scripts, components),
		os.MkdirAll(extensions, 0o700),
		os.WriteFile(filepath.Join(extensions, "buildid"), buildID(), 0o600),
		r.writeFonts(ctx, w, dir),
	)
	if err != nil {
		return fmt.Errorf("office profile: %w", err)
	}

	// If children share a /tmp, two LibreOffice processes with one name would receive each other's documents, and
	// any process that knows the name could connect.
	pipeName := "relaypdf-" + rand.Text()
	arguments := []string{
		"-env:UserInstallation=file://" + profile,
		"-env:UNO_SHARED_PACKAGES_CACHE=file://" + noExtensions,
		"--accept=pipe,name=" + pipeName + ";urp;",
		"--headless", "--invisible", "--nologo", "--nodefault", "--norestore", "--nolockcheck", "--nofirststartwizard",
	}

	completed, err := completeShare(installation(), filepath.Join(dir, "share"))
	if err != nil {
		return fmt.Errorf("office's share: %w", err)
	}
	if completed != "" {
		arguments = append(arguments, "-env:BRAND_SHARE_SUBDIR="+completed)
	}

	r.office, err = w.StartDaemon(engine.Program{
		Name: officeProgram,
		Args: arguments,
		// Its temporary files outlive a job.
		Env: []string{"TMPDIR=" + temporary, "FONTCONFIG_FILE=" + r.fontConfig},
	})
	if err != nil {
		return err
	}
	r.worker, err = w.StartDaemon(engine.Program{
		Name: workerProgram,
		Args: []string{"-I", "-c", workerSource, pipeName, scripts},
	})
	if err != nil {
		return err
	}

	go r.endTogether()
	r.answers = bufio.NewScanner(r.worker.Stdout)
	r.answers.Buffer(nil, maxAnswer)

	// Until LibreOffice is ready, the worker asks again and again.
	defer w.Watch(r.office)()
	ready, err := r.readAnswer(ctx)
	if err == nil && !ready.Ready {
		err = fmt.Errorf("%w: the worker wrote %.100q", engine.ErrCrashed, r.answers.Text())
	}
	if err != nil {
		return fmt.Errorf("LibreOffice did not start: %w; it wrote %q and %q",
			err, r.office.Stderr(), r.worker.Stderr())
	}
	return nil
}

// writeFonts writes LibreOffice's font configuration, and makes its emoji font, without which emoji are black.
func (r *instance) writeFonts(ctx context.Context, w *engine.Work, dir string) error {
	own := filepath.Join(dir, "fonts")
	if err := os.Mkdir(own, 0o700); err != nil {
		return err
	}

	emoji := emojiFont{name: "RelayEmoji" + rand.Text(), source: findEmoji(ctx, w)}
	if emoji.source != "" {
		if err := emoji.make(filepath.Join(own, "emoji.ttf")); err != nil {
			fmt.Fprintln(os.Stderr, "emoji in office documents:", err)
		} else {
			r.emojiName = emoji.name
		}
	}

	config := strings.NewReplacer(
		"FONTS", html.EscapeString(w.Fonts()),
		"OWN", html.EscapeString(own),
		"NAME", emoji.name,
		"EMOJI", charsetOf(append(presented, span{selectEmoji, selectEmoji}, halves)),
	).Replace(fonts)
	r.fontConfig = filepath.Join(dir, "fonts.conf")
	return os.WriteFile(r.fontConfig, []byte(config), 0o600)
}

// endAfterEmbeddedFonts ends this process after a document that has embedded fonts: LibreOffice would offer them to later
// documents, which may be those of other accounts.
func (r *instance) endAfterEmbeddedFonts(w *engine.Work) {
	if fonts, err := filepath.Glob(filepath.Join(r.ownFonts, "*", "*")); err != nil || len(fonts) > 0 {
		w.Last()
	}
}

// endTogether ends this process when one of the programs has ended.
func (r *instance) endTogether() {
	select {
	case <-r.office.Ended():
		fmt.Fprintln(os.Stderr, "office has ended:", r.office.Stderr())
	case <-r.worker.Ended():
		fmt.Fprintln(os.Stderr, "the worker of office has ended:", r.worker.Stderr())
	}
	os.Exit(1)
}

// readAnswer reads the worker's next answer. Without one the child is of no use.
func (r *instance) readAnswer(ctx context.Context) (answer, error) {
	var a answer
	scanned := make(chan bool, 1)
	go func() { scanned <- r.answers.Scan() }()

	select {
	case <-ctx.Done():
		return a, fmt.Errorf("%w: no answer of the worker: %w", engine.ErrCrashed, context.Cause(ctx))
	case found := <-scanned:
		if !found {
			return a, fmt.Errorf("%w: the worker has ended: %w", engine.ErrCrashed, cmp.Or(r.answers.Err(), io.EOF))
		}
	}

	if err := json.Unmarshal(r.answers.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%w: the worker said %.100q: %w", engine.ErrCrashed, r.answers.Text(), err)
	}
	return a, nil
}

// ask sends an order to the worker and waits until it is done, or ctx ends. A worker that does not answer this very
// order is useless: its next answers would be those of earlier orders.
func (r *instance) ask(ctx context.Context, o workerRequest) (answer, error) {
	r.requests++
	o.ID = r.requests
	text, err := json.Marshal(o) //nolint:gosec // the password goes through a pipe to our own worker
	if err != nil {
		return answer{}, err
	}

	go func() { _, _ = r.worker.Stdin.Write(append(text, '\n')) }() // it fails if the worker ends, and then hear does
	response, err := r.readAnswer(ctx)
	if err == nil && (response.ID != o.ID || response.Kind == "" && response.Error == "") {
		err = fmt.Errorf("%w: the worker said %.100q to order %d", engine.ErrCrashed, r.answers.Text(), o.ID)
	}
	return response, err
}

// annotationDir is the folder of an installation, below its share folder, with the description of the comment box.
var annotationDir = []string{"config", "soffice.cfg", "modules", "swriter", "ui"}

// completeShare makes a copy of an installation's share folder in dir, of links, with the description of the
// comment box. It returns its path as seen from the installation, or none if the installation has its own.
func completeShare(installed, dir string) (string, error) {
	const name = "annotation.ui"
	from := filepath.Join(installed, "share")
	path := slices.Concat([]string{from}, annotationDir, []string{name})
	if _, err := os.Stat(filepath.Join(path...)); err == nil || installed == "" {
		return "", nil
	}

	to := dir
	for i := range len(annotationDir) + 1 {
		if err := os.Mkdir(to, 0o700); err != nil {
			return "", err
		}
		entries, err := os.ReadDir(from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}

		next := name
		if i < len(annotationDir) {
			next = annotationDir[i]
		}

		for _, entry := range entries {
			if entry.Name() == next {
				continue // a separate folder
			}
			if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
				return "", err
			}
		}
		from = filepath.Join(from, next)
		to = filepath.Join(to, next)
	}

	if err := os.WriteFile(to, annotation, 0o600); err != nil {
		return "", err
	}
	return filepath.Rel(installed, dir)
}

// installation returns the folder of the LibreOffice installation, or none.
func installation() string {
	program, err := exec.LookPath(officeProgram)
	if err != nil {
		return ""
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(program))
}

// buildID returns the version that a profile has to name as its own: with another one, or none, LibreOffice empties
// its list of extensions and starts again. That takes time, and is impossible if it may not remove its pipe.
func buildID() []byte {
	text, err := os.ReadFile(filepath.Join(installation(), "program", "versionrc"))
	if err != nil {
		return nil
	}

	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "buildid="); ok {
			return []byte(strings.TrimSpace(id))
		}
	}
	return nil
}
