package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	osuser "os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/plan"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web/docs"
)

// programTime bounds one program that a check starts.
const programTime = 20 * time.Second

// outputOf runs a program and returns its output.
func outputOf(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	text, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

// checkUser runs first. After it, the process runs as the owner of the data.
func checkUser(_ context.Context, config app.Config) []Finding {
	if err := actAsOwner(config.DataDir); err != nil {
		return broken("run the command as the owner of the data folder", "%v", err)
	}
	if hint := strangerHint(config.DataDir); hint != nil {
		return broken("run the service and its commands as one user", "%v", hint)
	}
	return okay("acting as %s", userName(os.Geteuid()))
}

func checkDataDir(_ context.Context, config app.Config) []Finding {
	const remedy = "give the service's user the folder with chown, or choose another with RELAYPDF_DATA_DIR"
	if console.IsAbsent(config.DataDir) {
		return okay("%s does not exist yet; the server creates it", config.DataDir)
	}

	probe, err := os.CreateTemp(config.DataDir, ".doctor-*")
	if err != nil {
		return broken(remedy, "%v", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return broken(remedy, "%v", err)
	}

	info, err := os.Stat(config.DataDir)
	if err != nil {
		return broken(remedy, "%v", err)
	}

	if open := info.Mode().Perm() & 0o077; open != 0 {
		return doubtful("chmod 700 "+config.DataDir,
			"%s is writable, and open to other users (mode %04o): it holds customers' documents",
			config.DataDir, info.Mode().Perm())
	}

	return okay("%s is writable", config.DataDir)
}

// Below fewFree results are at risk, below noFree so is the database.
const (
	fewFree = 2 << 30
	noFree  = 256 << 20
)

func checkDisk(_ context.Context, config app.Config) []Finding {
	dir := existing(config.DataDir)
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return broken("choose another folder with RELAYPDF_DATA_DIR", "%s: %v", dir, err)
	}

	const remedy = "free some space; results are stored for 24 hours by default"
	free := int64(disk.Bavail) * disk.Bsize
	switch text := setting.SizeText(free) + " free"; {
	case free < noFree:
		return broken(remedy, "%s", text)
	case free < fewFree:
		return doubtful(remedy, "%s", text)
	default:
		return okay("%s", text)
	}
}

// fewMemory is enough for some warm pages and LibreOffice processes, and for a heavy document.
const fewMemory = 2 << 30

// checkMemory reports how the service uses the available memory.
func checkMemory(_ context.Context, config app.Config) []Finding {
	p, source := config.MemoryPlan()
	text := fmt.Sprintf("%s (%s): %d browsers with %d warm pages, %d renders and %d jobs on files at once, %d "+
		"offices; one page may use %s, enough for a table of %d cells",
		setting.SizeText(p.Machine.Memory), source, p.Browsers, p.WarmPages, p.RenderSlots, p.EngineSlots, p.OfficeSlots,
		setting.SizeText(p.RendererMemory), p.MaxCells())
	if p.Machine.Memory < fewMemory {
		return doubtful("give the machine or the container 2 GiB or more", "%s", text)
	}
	return okay("%s", text)
}

// checkLimits compares the limits of files, processes and users with what the service needs.
func checkLimits(_ context.Context, config app.Config) []Finding {
	p, _ := config.MemoryPlan()
	var found []Finding
	for _, short := range p.Shortages(plan.FindLimits()) {
		found = append(found, doubtful(short.Remedy, "%s", short.Message)...)
	}
	if len(found) == 0 {
		return okay("enough for %d open files, and for %d processes and threads", plan.MinFiles, p.MinProcesses())
	}
	return found
}

// checkDatabase opens the database and verifies its ledger. It does not create a missing one.
func checkDatabase(ctx context.Context, config app.Config) []Finding {
	if path := config.SQLiteFile(); path != "" && console.IsAbsent(path) {
		return okay("%s does not exist yet; the server creates it", path)
	}

	s, err := app.OpenStore(ctx, config, slog.New(slog.DiscardHandler), app.Hooks{})
	if err != nil {
		return broken("follow the message; relaypdf config shows the settings", "%v", err)
	}
	defer s.Close()
	if err := s.Ping(ctx); err != nil {
		return broken("check that the database server runs", "%v", err)
	}

	found := okay("%s answers", s.Dialect())
	ledger := checkLedger(ctx, s)
	retention := checkRetention(ctx, s)
	ledger.Check = "ledger"
	retention.Check = "retention"
	return append(found, ledger, retention)
}

// checkRetention lists the months that are about to be removed. One per month is normal; several deserve attention if
// a retention was set for the first time, or a clock is wrong.
func checkRetention(ctx context.Context, s *store.Store) Finding {
	months := s.RetentionMonths()
	if months == 0 {
		return okay("calls, deliveries and events of all months stay")[0]
	}

	old, err := s.OldMonths(ctx)
	if err != nil {
		return broken("try again", "%v", err)[0]
	}

	text := fmt.Sprintf("months retained before this one: %d; older months stored: %d", months, len(old))
	blocked := false
	for _, m := range old {
		if m.Open != "" {
			blocked = true
			text += fmt.Sprintf("; %s is retained because %s", m.Month, m.Open)
		} else {
			text += fmt.Sprintf("; %s is removed in %d days", m.Month, m.Notice)
		}
	}

	switch {
	case len(old) > 1:
		return doubtful("check the clock of the database's machine, and raise RELAYPDF_RETENTION_MONTHS to keep them",
			"%s", text)[0]
	case blocked:
		return doubtful("look for what is open in the log; the month is removed when all of it has ended", "%s",
			text)[0]
	}
	return okay("%s", text)[0]
}

func checkLedger(ctx context.Context, s *store.Store) Finding {
	report, err := s.CheckLedger(ctx)
	switch {
	case err != nil:
		return broken("try again", "%v", err)[0]
	case len(report.Problems) > 0:
		return broken("stop the service, keep a copy of the data folder, and report this with the copy",
			"%d contradictions, the first: %s", len(report.Problems), report.Problems[0])[0]
	case len(report.OrphanedHolds) > 0:
		return doubtful("nothing: a running service returns them within 15 minutes",
			"balanced; %d calls hold money for a process that is gone", len(report.OrphanedHolds))[0]
	}
	return okay("balanced: %d postings since the last closing sum to %v", report.Postings, report.Sum)[0]
}

func checkChromium(ctx context.Context, config app.Config) []Finding {
	const remedy = "apt-get install chromium-headless-shell, or name the browser with RELAYPDF_CHROMIUM"
	path, err := chrome.FindBinary(config.Chromium)
	if err != nil {
		return broken(remedy, "%v", err)
	}

	text, err := outputOf(ctx, path, "--version")
	if err != nil {
		return broken(remedy, "%s --version: %v", path, err)
	}

	var major int
	for _, word := range strings.Fields(text) {
		if number, _, ok := strings.Cut(word, "."); ok {
			major, _ = strconv.Atoi(number)
		}
	}

	switch {
	case major < oldestChromium:
		return doubtful(remedy, "%s at %s; the margin boxes of @page need %d or newer", text, path, oldestChromium)
	case !strings.Contains(path, "headless-shell"):
		return doubtful(remedy, "%s at %s; chromium-headless-shell prints three times as fast", text, path)
	}
	return okay("%s at %s", text, path)
}

// oldestChromium is the first version that supports margin boxes of @page.
const oldestChromium = 131

// checkSandbox tests the requirements of Chromium's sandbox, as the user that Chromium runs as.
func checkSandbox(ctx context.Context, config app.Config) []Finding {
	if os.Geteuid() == 0 {
		if _, err := osuser.Lookup(config.RenderUser); err != nil {
			return doubtful("useradd --system --no-create-home --shell /usr/sbin/nologin "+config.RenderUser+
				", or name another unprivileged user with RELAYPDF_RENDER_USER", "%v", err)
		}
	}

	err := chrome.CheckSandbox(ctx, config.RenderUser)
	if err == nil {
		return okay("the browser can make the namespaces of its sandbox")
	}

	level := render.SandboxReduced
	if lockErr := render.CheckLandlock(); lockErr != nil {
		level = render.SandboxNone
		err = errors.Join(err, lockErr)
	}

	text := "the browser cannot make its sandbox: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	remedy := app.SandboxRemedy(level, config.Container)
	if level.Below(render.Sandbox(config.Sandbox)) {
		return broken(remedy, "%s; RELAYPDF_SANDBOX is %q, and the service refuses to start with %q", text,
			config.Sandbox, level)
	}
	return doubtful(remedy, "%s; it is locked in from outside, at the level %q", text, level)
}

// checkOwnAddress checks that documents cannot reach the service's own public address, which no interface has
// behind 1:1 NAT.
func checkOwnAddress(ctx context.Context, config app.Config) []Finding {
	return ownAddress(ctx, config, egress.Config{Resolver: net.DefaultResolver})
}

func ownAddress(ctx context.Context, config app.Config, cfg egress.Config) []Finding {
	u, err := url.Parse(config.BaseURL)
	if err != nil || middleware.IsLoopback(config.BaseURL) {
		return okay("the service is not public")
	}

	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	addrs, err := cfg.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return doubtful("check RELAYPDF_BASE_URL and the name servers", "the address of %s is not known: %v",
			u.Hostname(), err)
	}

	policy, err := egress.New(cfg)
	if err != nil {
		return broken("report this to the makers of relaypdf", "%v", err)
	}

	var open []string
	for _, addr := range addrs {
		if policy.CheckAddr(addr, "") == nil {
			open = append(open, addr.Unmap().String())
		}
	}

	switch text := strings.Join(open, ","); {
	case len(open) == 0:
		return okay("documents cannot reach %s", u.Hostname())
	case config.TrustedIPHeader != "":
		return okay(
			"%s leads to the proxy at %s; where that is this machine too, a firewall has to close its other ports",
			u.Hostname(), text)
	default:
		return doubtful(
			"where that is this machine behind NAT, close its other ports by a firewall; a proxy of others needs nothing",
			"%s leads to %s, which no interface of this machine has: documents can reach its other ports by that address",
			u.Hostname(), text)
	}
}

// fonts are the fonts that documents commonly use, found by a fontconfig pattern. Fonts without a Debian package are
// installed by .ci/fonts/install.
var fonts = []struct{ name, pattern, install string }{
	{"Latin", "Liberation Sans", "fonts-liberation"},
	{"Chinese", ":lang=zh-cn", "fonts-noto-cjk"},
	{"Japanese", ":lang=ja", "fonts-noto-cjk"},
	{"Korean", ":lang=ko", "fonts-noto-cjk"},
	{"Arabic", ":lang=ar", "fonts-noto-core"},
	{"colour emoji", ":charset=1f600:color=true", "fonts-noto-color-emoji"},
	{"symbols in office documents", ":charset=1f389:color=false", "fonts-symbola"},
	{"OCR-B (below barcodes)", "OCR B", "fonts-ocr-b"},
	{"Carlito (for Calibri)", "Carlito", "fonts-crosextra-carlito"},
	{"Caladea (for Cambria)", "Caladea", "fonts-crosextra-caladea"},
	{"Roboto", "Roboto", "fonts-roboto-unhinted"},
	{"Open Sans", "Open Sans", "fonts-open-sans"},
	{"Lato", "Lato", "fonts-lato"},
	{"DejaVu Sans (for Verdana)", "DejaVu Sans", "fonts-dejavu-core"},
	{"Gelasio (for Georgia)", "Gelasio", ""},
	{"Inter", "Inter", ""},
	{"Montserrat", "Montserrat", ""},
	{"Source Sans", "Source Sans 3", ""},
	{"Source Serif", "Source Serif 4", ""},
}

func checkFonts(ctx context.Context, _ app.Config) []Finding {
	var names, missing, install []string
	for _, font := range fonts {
		text, err := outputOf(ctx, "fc-list", font.pattern, "family")
		if err != nil {
			return broken("apt-get install fontconfig", "fc-list: %v", err)
		}

		names = append(names, font.name)
		if text == "" {
			missing = append(missing, font.name)
			if font.install != "" {
				install = append(install, font.install)
			}
		}
	}

	if len(missing) > 0 && len(install) == 0 {
		return doubtful(".ci/fonts/install /usr/local/share/fonts/relaypdf, in the source", "missing: %s",
			strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		return doubtful("apt-get install "+strings.Join(install, " "), "missing: %s", strings.Join(missing, ", "))
	}

	return okay("%s", strings.Join(names, ", "))
}

// checkWebP checks that the WebP encoder is installed.
func checkWebP(ctx context.Context, _ app.Config) []Finding {
	text, err := outputOf(ctx, "cwebp", "-version")
	if err != nil {
		return doubtful("apt-get install webp", "images cannot be converted to WebP: %v", err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return okay("libwebp %s", version)
}

// checkMuPDF checks that the editor of PDF content is installed. The image core has no program under the AGPL.
func checkMuPDF(context.Context, app.Config) []Finding {
	if _, err := exec.LookPath("mutool"); err != nil {
		return doubtful("apt-get install mupdf-tools, or the image slim or full",
			"stamps, redaction, form fields, OCR and PDF/A answer 503: %v", err)
	}
	return okay("MuPDF is installed")
}

// checkPDFA checks that the PDF/A converter and its colour profiles are installed.
func checkPDFA(ctx context.Context, config app.Config) []Finding {
	if !slices.Contains(config.Engines, operation.EngineGhostscript) {
		return okay("disabled by RELAYPDF_ENGINES")
	}
	const remedy = "apt-get install ghostscript"
	version, err := outputOf(ctx, "gs", "--version")
	if err != nil {
		return doubtful(remedy, "PDF/A cannot be made: %v", err)
	}
	if _, err := os.Stat(archive.ColorProfile); err != nil {
		return doubtful(remedy, "PDF/A cannot be made: %v", err)
	}
	return okay("Ghostscript %s", version)
}

// checkVeraPDF reports whether the optional validator of PDFs is installed.
func checkVeraPDF(_ context.Context, config app.Config) []Finding {
	if !slices.Contains(config.Engines, operation.EngineVeraPDF) {
		return okay("disabled by RELAYPDF_ENGINES")
	}
	if _, err := exec.LookPath("verapdf"); err != nil {
		return okay("not installed; pdf.check uses its own rules")
	}
	return okay("veraPDF is installed")
}

// checkOCR looks which languages scans can be read in.
func checkOCR(ctx context.Context, config app.Config) []Finding {
	if !slices.Contains(config.Engines, operation.EngineOCR) {
		return okay("disabled by RELAYPDF_ENGINES")
	}

	const remedy = "apt-get install tesseract-ocr tesseract-ocr-eng, and tesseract-ocr-LANGUAGE for each other language"
	text, err := outputOf(ctx, "tesseract", "--list-langs")
	if err != nil {
		return doubtful(remedy, "scans cannot be read: %v", err)
	}

	var languages []string
	for _, word := range strings.Fields(text[strings.LastIndex(text, ":")+1:]) {
		if word != "osd" { // detects scripts
			languages = append(languages, word)
		}
	}

	if len(languages) == 0 {
		return doubtful(remedy, "no OCR language is installed")
	}
	return okay("reads %s", strings.Join(languages, ", "))
}

// checkExtraCA looks at the file again as the user that the service runs as.
func checkExtraCA(_ context.Context, config app.Config) []Finding {
	if config.ExtraCA == "" {
		return okay("none is set")
	}
	if _, err := app.ParseCAFile(config.ExtraCA); err != nil {
		return broken("let the service's user read the file", "%s %v", config.ExtraCA, err)
	}
	path, err := exec.LookPath("certutil")
	if err != nil {
		return broken("apt-get install libnss3-tools", "certutil is missing, which makes the browser trust %s",
			config.ExtraCA)
	}
	return okay("%s, for the browser through %s", config.ExtraCA, path)
}

// checkPages reads the operator's pages as the user that the service runs as.
func checkPages(_ context.Context, config app.Config) []Finding {
	if config.Pages == "" {
		return okay("none are set")
	}

	pages, err := docs.CustomPages(config.Pages)
	if err != nil {
		return broken("change the file as the message says", "%v", err)
	}
	if len(pages) == 0 {
		return doubtful("write terms.md, privacy.md or contact.md, or remove RELAYPDF_PAGES", "%s has no pages",
			config.Pages)
	}

	var paths []string
	for _, page := range pages {
		paths = append(paths, page.Path)
	}
	return okay("%s from %s", strings.Join(paths, ", "), config.Pages)
}

func checkClock(context.Context, app.Config) []Finding {
	const remedy = "turn on time synchronisation: timedatectl set-ntp true"
	var clock unix.Timex
	state, err := unix.Adjtimex(&clock)
	now := time.Now().UTC()

	switch {
	case now.Year() < releaseYear:
		return broken(remedy, "it says %s: keys and files would expire at wrong times", now.Format(time.RFC3339))
	case err != nil:
		return okay("%s; whether it is synchronised cannot be found out (%v)", now.Format(time.RFC3339), err)
	case state == unix.TIME_ERROR || clock.Status&unix.STA_UNSYNC != 0:
		return doubtful(remedy, "%s, not synchronised", now.Format(time.RFC3339))
	}
	return okay("%s, synchronised", now.Format(time.RFC3339))
}

// releaseYear is the year of this release; an earlier clock is wrong.
const releaseYear = 2026

// checkRender renders a document as the service does: Markdown goes through an engine process and then through the
// browser.
func checkRender(ctx context.Context, config app.Config) (found []Finding) {
	const remedy = "fix the failed checks above first; then follow the message"
	begin := time.Now()
	r, err := render.New(ctx, render.Config{
		Slots: 1, OfficeSlots: 1, User: config.RenderUser, Sandbox: render.Sandbox(config.Sandbox),
		Chromium: config.Chromium, AllowHosts: config.AllowHosts, ExtraCA: config.ExtraCA,
		Fonts: config.Fonts,
	})
	if err != nil {
		return broken(remedy, "%v", app.WithRemedy(err, config))
	}

	defer func() {
		if err := r.Close(); err != nil {
			found = broken(remedy, "the engines did not end: %v", err)
		}
	}()

	started := time.Since(begin)
	begin = time.Now()
	source := render.Source{Markdown: "# relaypdf doctor\n\nAll is well."}
	doc, err := r.For("doctor").PDF(ctx, source, render.PageSettings{}, render.PDF{})
	if err != nil {
		return broken(remedy, "%v", err)
	}
	defer doc.Body.Close()

	head, err := io.ReadAll(io.LimitReader(doc.Body.Open(), 5))
	if err != nil || string(head) != "%PDF-" || doc.Pages != 1 {
		return broken(remedy, "the result is not a PDF of one page (%q, %d pages, %v)", head, doc.Pages, err)
	}

	page := okay("one page, %s, in %s; engines started in %s", setting.SizeText(doc.Body.Size()),
		time.Since(begin).Round(time.Millisecond), started.Round(time.Millisecond))
	page = append(page, checkTemplates(ctx, r))

	if slices.Contains(config.Engines, operation.EngineOffice) {
		page = append(page, checkOffice(ctx, r)...)
	} else {
		page = append(page, Finding{Check: "office", Verdict: good, Message: "disabled by RELAYPDF_ENGINES"})
	}

	return append(page, checkEngines(ctx, r, config)...)
}

// checkTemplates fills a template.
func checkTemplates(ctx context.Context, r *render.Renderer) Finding {
	begin := time.Now()
	call := template.Call{Template: template.Template{HTML: "{{add 0.1 0.2}}"}}
	html, err := r.For("doctor").FillTemplate(ctx, call, nil)
	switch {
	case render.CheckTemplates() != nil:
		return Finding{
			"templates", fail, render.CheckTemplates().Error(),
			"run make build in the program's source, or take a program that was built so",
		}
	case err != nil || html != "0.3":
		return Finding{
			"templates", fail, fmt.Sprintf("a template returned %q: %v", html, err),
			"report this with the log lines of the engines",
		}
	}
	return Finding{
		Check: "templates", Verdict: good,
		Message: fmt.Sprintf("filled a template in %s", time.Since(begin).Round(time.Millisecond)),
	}
}

// checkOffice converts a text with each of the engines of conversions. The
// service works without them, but for that.
func checkOffice(ctx context.Context, r *render.Renderer) (found []Finding) {
	source := render.NewFile()
	defer source.Close()
	if _, err := io.WriteString(source, "All is well."); err != nil {
		return []Finding{{"office", fail, err.Error(), "free some space for temporary files"}}
	}

	for _, engine := range []struct {
		check, program, remedy string
		convert                func() (*spool.File, error)
	}{
		{"office", "soffice", "apt-get install libreoffice-writer-nogui libreoffice-calc-nogui " +
			"libreoffice-impress-nogui python3-uno", func() (*spool.File, error) {
			made, err := r.For("doctor").Convert(ctx,
				render.Conversion{Content: source, Name: "doctor.txt", To: office.ToPDF})
			return made.Body, err
		}},
		{"wkhtmltopdf", "wkhtmltopdf", "apt-get install wkhtmltopdf", func() (*spool.File, error) {
			made, err := r.For("doctor").ConvertPage(ctx, render.PageConversion{Content: source})
			return made.Body, err
		}},
	} {
		begin := time.Now()
		file, err := engine.convert()
		if err != nil {
			remedy := engine.remedy
			if _, absent := exec.LookPath(engine.program); absent == nil {
				remedy = "it is installed, and did not work: follow the message, and what is said of the engines below"
			}
			found = append(found,
				Finding{engine.check, warn, fmt.Sprintf("POST /v1/convert fails with this engine: %v", err), remedy})
			continue
		}

		found = append(found,
			Finding{Check: engine.check, Verdict: good, Message: fmt.Sprintf("converts; the first document took %s",
				time.Since(begin).Round(time.Millisecond))})
		_ = file.Close() // it has no name
	}

	return found
}
