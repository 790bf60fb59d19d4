package pdf

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// carriedKey is an entry of the first page of a part. It holds entries of the part's catalog that qpdf copies only
// as part of pages: layers and attachments.
const carriedKey = "/RelaypdfCarried"

// carriedOf returns the entries of a part's catalog to carry over; nil means none.
func carriedOf(s *job.Structure) pdffile.Dict {
	catalog := s.Catalog()
	carried := pdffile.Dict{}
	if layers := catalog["/OCProperties"]; layers != nil {
		carried["/OCProperties"] = layers
	}
	if files := s.Entry(catalog["/Names"])["/EmbeddedFiles"]; files != nil {
		carried["/EmbeddedFiles"] = files
	}
	if len(carried) == 0 {
		return nil
	}
	return carried
}

// hasCarried reports whether one of the parts has something to be carried over.
func hasCarried(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.carried })
}

// placeCarried moves the carried entries of the parts' first pages into the catalog of the result.
func placeCarried(d *job.Document, parts []part) error {
	f, err := d.ReadSelf()
	if err != nil {
		return d.Fail(job.Damaged, err)
	}
	pages, err := f.FlatPages()
	if err != nil || len(pages) != d.Pages {
		return d.Fail(job.Damaged, fmt.Errorf("%d pages joined, want %d: %w", len(pages), d.Pages, err))
	}

	changes := f.NewUpdate()
	catalog := f.Catalog()
	var layers []any
	var files attachedFiles
	for _, p := range parts {
		if !p.carried {
			continue
		}

		page := f.Dict(pages[p.first])
		carried := f.Entry(page[carriedKey])
		delete(page, carriedKey)
		changes.Set(pages[p.first], page)
		if v := carried["/OCProperties"]; v != nil {
			layers = append(layers, v)
		}
		files.add(f, carried["/EmbeddedFiles"])
	}

	if len(layers) > 0 {
		catalog["/OCProperties"] = joinedLayers(f, layers)
	}
	if len(files.list) > 0 {
		catalog["/Names"] = pdffile.Dict{"/EmbeddedFiles": files.tree()}
	}

	changes.Set(f.Root(), catalog)
	return d.Change(changes)
}

// joinedLayers makes one of the layers of several documents: each is shown or hidden as it
// was in its own.
func joinedLayers(f *pdffile.File, all []any) any {
	if len(all) == 1 {
		return all[0]
	}

	list := func(v any) []any {
		items, _ := f.Target(v).([]any)
		return items
	}

	groups := []any{}
	hidden := []any{}
	config := pdffile.Dict{}

	for _, v := range all {
		layers := f.Entry(v)
		own := list(layers["/OCGs"])
		defaults := f.Entry(layers["/D"])
		groups = append(groups, own...)

		switch f.Target(defaults["/BaseState"]) {
		case "/OFF":
			on := map[string]bool{}
			for _, group := range list(defaults["/ON"]) {
				on[pdffile.Reference(group)] = true
			}
			for _, group := range own {
				if !on[pdffile.Reference(group)] {
					hidden = append(hidden, group)
				}
			}
		default:
			hidden = append(hidden, list(defaults["/OFF"])...)
		}

		for _, key := range []string{"/Order", "/RBGroups", "/Locked", "/AS"} {
			if items := list(defaults[key]); len(items) > 0 {
				before, _ := config[key].([]any)
				config[key] = slices.Concat(before, items)
			}
		}
	}

	config["/OFF"] = hidden
	return pdffile.Dict{"/OCGs": groups, "/D": config}
}

// attachedFiles are the files of several documents, with names of their own.
type attachedFiles struct {
	list []attachedFile
	used map[string]bool
}

type attachedFile struct {
	name string
	spec any
}

// maxJoinedFiles bounds the files that a merge carries over.
const maxJoinedFiles = 10_000

// add adds the files of a tree of names.
func (a *attachedFiles) add(f *pdffile.File, root any) {
	if a.used == nil {
		a.used = map[string]bool{}
	}

	for key, spec := range f.TreeEntries(root, "/Names") {
		if len(a.list) == maxJoinedFiles {
			return
		}

		name := pdffile.Text(f.Target(key))
		stem := strings.TrimSuffix(name, path.Ext(name))
		extension := path.Ext(name)
		for n := 2; a.used[name]; n++ {
			name = fmt.Sprintf("%s (%d)%s", stem, n, extension)
		}

		a.used[name] = true
		a.list = append(a.list, attachedFile{name, spec})
	}
}

// tree is a tree of names of all files, which are sorted as readers look for them.
func (a *attachedFiles) tree() pdffile.Dict {
	slices.SortFunc(a.list, func(x, y attachedFile) int {
		return slices.Compare(utf16.Encode([]rune(x.name)), utf16.Encode([]rune(y.name)))
	})
	names := []any{}
	for _, file := range a.list {
		names = append(names, "u:"+file.name, file.spec)
	}
	return pdffile.Dict{"/Names": names}
}
