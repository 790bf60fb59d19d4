// Command licenses lists the licences of the modules that the executable and its tests use in docs/licenses.md. It
// fails on a licence that is not on the list of allowed ones.
//
//	go run ./.ci/licenses          rewrites the list
//	go run ./.ci/licenses -check   fails if the list is out of date
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const document = "docs/licenses.md"

// The list is between these lines; the rest of the document is written by hand.
const (
	beginMark = "<!-- modules: written by `make licenses` -->"
	endMark   = "<!-- modules: end -->"
)

func main() {
	check := flag.Bool("check", false, "compare instead of writing")
	flag.Parse()
	if err := run(context.Background(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	modules, err := listModules(ctx)
	if err != nil {
		return err
	}
	table, err := describe(modules)
	if err != nil {
		return err
	}

	before, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	after, err := replaceList(string(before), table)
	if err != nil {
		return err
	}

	switch {
	case after == string(before):
		return nil
	case check:
		return errors.New(document + " is not up to date: run `make licenses` and read what changed")
	}
	return os.WriteFile(document, []byte(after), 0o644)
}

// module is one module of other people that we build with.
type module struct {
	path   string
	dir    string // folder in the module cache
	linked bool   // part of the program, not of its tests only
}

// listModules asks the go command. A module that only tests use is not linked.
func listModules(ctx context.Context) ([]module, error) {
	linked, err := modulesOf(ctx, "./cmd/relaypdf")
	if err != nil {
		return nil, err
	}
	all, err := modulesOf(ctx, "-test", "./...")
	if err != nil {
		return nil, err
	}

	maps.Copy(all, linked)
	var list []module
	for _, path := range slices.Sorted(maps.Keys(all)) {
		_, ok := linked[path]
		list = append(list, module{path: path, dir: all[path], linked: ok})
	}
	return list, nil
}

// modulesOf returns the folders of the modules that packages depend on, ours
// excepted.
func modulesOf(ctx context.Context, packages ...string) (map[string]string, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-f", format}, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}

	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			modules[path] = dir
		}
	}
	return modules, nil
}

// describe returns the table of modules, or an error that names every module
// whose licence is unknown or not allowed.
func describe(modules []module) (string, error) {
	var b strings.Builder
	var errs []error
	b.WriteString("| Module | Licence | Part of |\n|---|---|---|\n")

	for _, m := range modules {
		licences, err := licencesIn(m.dir)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.path, err))
			continue
		}

		part := "tests"
		if m.linked {
			part = "program"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.path, strings.Join(licences, ", "), part)
	}
	return b.String(), errors.Join(errs...)
}

// licencesIn reads every licence file at the top of a module.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	var found []string
	for _, entry := range entries {
		if entry.IsDir() || !isLicenceFile(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}

		names := classify(string(text))
		if len(names) == 0 {
			return nil, fmt.Errorf(
				"the licence in %s is not known: read it, then teach .ci/licenses its words or do without the module",
				entry.Name())
		}
		found = append(found, names...)
	}

	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) == 0 {
		return nil, errors.New("it has no licence file: do without the module")
	}

	for _, name := range found {
		if !allowed[name] {
			return nil, fmt.Errorf("%s is not allowed in an MIT program: do without the module", name)
		}
	}
	return found, nil
}

func isLicenceFile(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "-LOGO") {
		return false // of an image in the repository, which is not built in
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// replaceList puts the table between the two marks.
func replaceList(text, table string) (string, error) {
	head, rest, begun := strings.Cut(text, beginMark)
	_, tail, ended := strings.Cut(rest, endMark)
	if !begun || !ended {
		return "", fmt.Errorf("%s has lost its lines %q and %q: put them back", document, beginMark, endMark)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n\n%s\n%s%s", head, beginMark, table, endMark, tail)
	return b.String(), nil
}
