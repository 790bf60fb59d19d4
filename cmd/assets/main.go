// Command assets bundles the npm packages that relaypdf embeds. It installs them as pinned in package-lock.json, and
// does nothing if all bundles are newer than their sources.
//
//	go run ./cmd/assets
//
// Nothing of a third party is committed: a fresh clone holds placeholders in the folders that bundles go to, so that
// it compiles, and `make assets` fills them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// folder holds package.json, seen from the root of the checkout.
const folder = ".ci/assets"

// bundle is one file that is made of packages.
type bundle struct {
	out    string // seen from the root of the checkout
	entry  string // the source that imports the modules of the bundle
	format api.Format
	target api.Target
	global string            // the name of an IIFE's exports
	stubs  map[string]string // packages in whose place a file of folder is taken
	// notice are the packages whose licences are at the beginning, as they require.
	notice []string
	// whole puts the licences of all its packages there.
	whole bool
	// source is one of our files that is the entry point, instead of its text. Its references other than scripts and
	// styles stay unchanged.
	source string
	// short enables short names for local identifiers.
	short bool
}

// copied is a file of a package that is copied unchanged.
type copied struct {
	out, from string
	// notice is the package whose licence is at the beginning, or empty.
	notice string
}

// pages is the folder of the sources for browsers, dist the folder of the built files.
const (
	pages = "static/src/"
	dist  = "static/dist/"
)

// bundles is all that is embedded.
var bundles = []bundle{
	{
		// The compiler, whose lexer render/template replaces.
		out: "render/template/assets/compiler.js", format: api.FormatIIFE, target: api.ES2017, global: "Handlebars",
		entry:  `export { default } from "handlebars/lib/handlebars.js";`,
		notice: []string{"handlebars"},
		stubs:  map[string]string{"source-map": "sourcenode.js"},
	},
	{
		// The runtime of compiled templates.
		out: "render/template/assets/runtime.js", format: api.FormatIIFE, target: api.ES2017, global: "Handlebars",
		entry:  `export { default } from "handlebars/lib/handlebars.runtime.js";`,
		notice: []string{"handlebars"},
	},
	{
		out: markup + "katex.js", format: api.FormatIIFE, target: api.ES2017, global: "katex", short: true,
		entry:  `export { renderToString } from "katex";`,
		notice: []string{"katex"},
	},
	{
		// Without ELK's layouts, whose licence asks for more than the others'.
		out: markup + "mermaid.js", format: api.FormatIIFE, target: api.ES2022, short: true, whole: true,
		entry: `import mermaid from "mermaid"; globalThis.mermaid = mermaid;`,
		stubs: map[string]string{"elkjs": "elk.js", "elkjs/lib/elk.bundled.js": "elk.js"},
	},
	{out: dist + "app.css", source: pages + "app.css", target: api.ES2022},
	{out: dist + "app.js", source: pages + "app.js", format: api.FormatIIFE, target: api.ES2022},
	{out: dist + "playground.js", source: pages + "playground.js", format: api.FormatIIFE, target: api.ES2022},
	{out: dist + "palette.js", source: pages + "palette.js", format: api.FormatIIFE, target: api.ES2022},
	{out: dist + "public.js", source: pages + "public.js", format: api.FormatIIFE, target: api.ES2022},
	{out: dist + "format.js", source: pages + "format.js",
		format: api.FormatIIFE, target: api.ES2022, short: true, notice: []string{"js-beautify"}},
	{
		// CodeMirror's packages have one author and one licence.
		out: dist + "editor.js", source: pages + "editor.js", format: api.FormatIIFE, target: api.ES2022, short: true,
		notice: codeMirror,
	},
	{out: dist + "fields.js", source: pages + "fields.js",
		format: api.FormatIIFE, target: api.ES2022, short: true, notice: codeMirror},
}

// codeMirror are the packages of the editor of texts.
var codeMirror = []string{
	"@codemirror/view", "@lezer/common", "style-mod", "w3c-keyname", "crelt", "@marijn/find-cluster-break",
}

// copies are embedded unchanged.
var copies = []copied{
	{out: dist + "inter.woff2",
		from: folder + "/node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2"},
	{out: dist + "jetbrains-mono.woff2",
		from: folder + "/node_modules/@fontsource/jetbrains-mono/files/jetbrains-mono-latin-400-normal.woff2"},
	{out: dist + "mark.svg", from: pages + "mark.svg"},
	{out: markup + "katex.css", from: folder + "/node_modules/katex/dist/katex.min.css", notice: "katex"},
}

// markup is the folder of the assets for Markdown's formulas and diagrams.
const markup = "render/markup/assets/"

// mathFaces are KaTeX's fonts, which are copied next to its style sheet.
const mathFaces = folder + "/node_modules/katex/dist/fonts/*.woff2"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
}

func run() error {
	if _, err := os.Stat(filepath.Join(folder, "package.json")); err != nil {
		return fmt.Errorf("run it in the root of the checkout: %w", err)
	}
	if upToDate() {
		return nil
	}
	if err := install(); err != nil {
		return err
	}

	for _, b := range bundles {
		if err := b.build(); err != nil {
			return fmt.Errorf("%s: %w", b.out, err)
		}
	}

	faces, err := filepath.Glob(mathFaces)
	if err != nil {
		return err
	}

	all := copies
	for _, face := range faces {
		all = append(all, copied{out: markup + filepath.Base(face), from: face})
	}

	for _, c := range all {
		content, err := os.ReadFile(c.from)
		if err == nil && c.notice != "" {
			var notice string
			notice, err = noticeOf(c.notice)
			content = append([]byte(notice+"\n"), content...)
		}
		if err == nil {
			err = replace(c.out, content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.out, err)
		}
	}
	return nil
}

// outputs are all files that are made.
func outputs() []string {
	var all []string
	for _, b := range bundles {
		all = append(all, b.out)
	}
	for _, c := range copies {
		all = append(all, c.out)
	}
	return all
}

// upToDate reports whether all outputs are newer than all their sources.
func upToDate() bool {
	newest := max(newestOf(folder), newestOf(pages), newestOf("cmd/assets"))
	for _, out := range outputs() {
		if info, err := os.Stat(out); err != nil || info.ModTime().UnixNano() < newest {
			return false
		}
	}
	return true
}

// newestOf returns the modification time of the newest file of a folder, in nanoseconds since 1970, and a future
// time if it cannot be read.
func newestOf(folder string) int64 {
	newest := int64(0)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}

		info, err := entry.Info()
		if err == nil {
			newest = max(newest, info.ModTime().UnixNano())
		}
		return err
	})

	if err != nil {
		return math.MaxInt64
	}
	return newest
}

// install fetches the packages that package-lock.json pins, and runs nothing of
// theirs.
func install() error {
	npm := exec.CommandContext(context.Background(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--loglevel=error", "--fetch-retries=5")
	npm.Dir = folder
	npm.Stdout = os.Stderr
	npm.Stderr = os.Stderr
	if err := npm.Run(); err != nil {
		return fmt.Errorf("npm ci in %s: %w; npm comes with Node.js, and the network has to be there", folder, err)
	}
	return nil
}

// build makes the bundle.
func (b bundle) build() error {
	here, err := filepath.Abs(folder)
	if err != nil {
		return err
	}

	alias := map[string]string{}
	for name, file := range b.stubs {
		alias[name] = filepath.Join(here, file)
	}

	options := api.BuildOptions{
		Bundle:            true,
		External:          []string{"*.woff2"},
		Format:            b.format,
		Target:            b.target,
		GlobalName:        b.global,
		Alias:             alias,
		MinifyWhitespace:  true,
		MinifySyntax:      true,
		MinifyIdentifiers: b.short,
		NodePaths:         []string{filepath.Join(here, "node_modules")},
		LegalComments:     api.LegalCommentsInline,
		LogLevel:          api.LogLevelSilent,
		Metafile:          b.whole,
	}

	var notices []string
	for _, name := range b.notice {
		notice, err := noticeOf(name)
		if err != nil {
			return err
		}
		notices = append(notices, notice)
	}
	if len(notices) > 0 {
		options.Banner = map[string]string{"js": strings.Join(notices, "\n")}
	}

	if b.source != "" {
		options.EntryPoints = []string{b.source}
	} else {
		options.Stdin = &api.StdinOptions{Contents: b.entry, ResolveDir: here, Sourcefile: "entry.js"}
	}

	result := api.Build(options)
	var faults []error
	for _, message := range result.Errors {
		faults = append(faults, errors.New(message.Text))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}

	content := result.OutputFiles[0].Contents
	if b.whole {
		notices, err := noticesOf(result.Metafile)
		if err != nil {
			return err
		}
		content = append([]byte(notices), content...)
	}
	return replace(b.out, content)
}

// noticesOf are the licences of all packages that a bundle holds something of.
func noticesOf(metafile string) (string, error) {
	var made struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal([]byte(metafile), &made); err != nil {
		return "", err
	}

	names := map[string]bool{}
	for input := range made.Inputs {
		_, path, found := strings.Cut(input, "node_modules/")
		if !found {
			continue // ours
		}
		// A package may have another version of one that others have, too.
		if i := strings.LastIndex(path, "/node_modules/"); i >= 0 {
			path = path[i+len("/node_modules/"):]
		}

		parts := strings.Split(path, "/")
		name := parts[0]
		if strings.HasPrefix(name, "@") {
			name += "/" + parts[1]
		}
		names[name] = true
	}

	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		notice, err := noticeOf(name)
		if err != nil {
			return "", err
		}
		out.WriteString(notice + "\n")
	}
	return out.String(), nil
}

// noticeOf is the licence of a package as a comment, with its name and version.
func noticeOf(name string) (string, error) {
	dir := filepath.Join(folder, "node_modules", name)
	about, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}

	var pkg struct{ Version, License string }
	if err := json.Unmarshal(about, &pkg); err != nil {
		return "", fmt.Errorf("%s: package.json: %w", name, err)
	}

	text, err := licenceIn(dir)
	if err != nil {
		return "", err
	}

	if bytes.Contains(text, []byte("*/")) {
		return "", fmt.Errorf("%s: its licence would end the comment that holds it", name)
	}
	return fmt.Sprintf("/*! %s %s (%s)\n\n%s*/", name, pkg.Version, pkg.License, text), nil
}

// licenceIn is the text of a package's licence. Some only name it.
func licenceIn(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		if !entry.IsDir() && (strings.HasPrefix(name, "license") || strings.HasPrefix(name, "licence")) {
			return os.ReadFile(filepath.Join(dir, entry.Name()))
		}
	}
	return nil, nil
}

// replace writes a file, whole or not at all.
func replace(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	part := name + ".part"
	if err := os.WriteFile(part, content, 0o644); err != nil {
		return err
	}
	return os.Rename(part, name)
}
