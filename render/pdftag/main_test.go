package pdftag

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// node is an element of a test's document: its type, its kids (nodes, and numbers of marks), and other entries.
type node struct {
	kind string
	kids []any
	more pdffile.Dict
}

func el(kind string, kids ...any) node { return node{kind: kind, kids: kids} }

func (n node) with(key string, value any) node {
	n.more = pdffile.Dict{key: value}
	return n
}

// makeDocument makes a document of one page, with a content and a tree, and with objects of its resources.
func makeDocument(content string, tree node, resources pdffile.Dict) []byte {
	u, root := pdffile.NewDocument()
	page, pages, top := u.Reserve(), u.Reserve(), u.Reserve()
	add := func(v any) string {
		ref := u.Reserve()
		u.Set(ref, v)
		return ref
	}
	var element func(n node, parent string) string
	element = func(n node, parent string) string {
		ref := u.Reserve()
		var kids []any
		for _, k := range n.kids {
			if child, ok := k.(node); ok {
				k = element(child, ref)
			}
			kids = append(kids, k)
		}
		entries := pdffile.Dict{"/Type": "/StructElem", "/S": "/" + n.kind, "/P": parent, "/Pg": page, "/K": kids}
		for key, value := range n.more {
			entries[key] = value
		}
		u.Set(ref, entries)
		return ref
	}
	objects := pdffile.Dict{}
	for name, v := range resources {
		if s, ok := v.(pdffile.Stream); ok {
			v = add(s)
		}
		objects[name] = v
	}
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": pages, "/StructTreeRoot": top, "/Lang": "u:en"})
	u.Set(top, pdffile.Dict{"/Type": "/StructTreeRoot", "/K": element(tree, top)})
	u.Set(pages, pdffile.Dict{"/Type": "/Pages", "/Count": 1, "/Kids": []any{page}})
	u.Set(page, pdffile.Dict{
		"/Type": "/Page", "/Parent": pages, "/MediaBox": []any{0, 0, 200, 200}, "/StructParents": 0,
		"/Resources": pdffile.Dict{"/XObject": objects},
		"/Contents":  add(pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(content)}),
	})
	u.SetInfo(pdffile.Dict{"/Title": "u:Test"})
	return u.Document(root)
}

// conform is Conform, which must have no error.
func conform(t *testing.T, doc []byte) (Result, *pdffile.File) {
	t.Helper()
	r, err := Conform(doc, Options{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A, pdffile.A2U, pdffile.A2B}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := pdffile.Read(r.PDF)
	if err != nil {
		t.Fatal(err)
	}
	return r, f
}

// pageContent returns the content of the first page.
func pageContent(t *testing.T, f *pdffile.File) string {
	t.Helper()
	pages, err := f.Pages(1)
	if err != nil {
		t.Fatal(err)
	}
	return streamText(t, f, pages[0].Entries["/Contents"])
}

func streamText(t *testing.T, f *pdffile.File, v any) string {
	t.Helper()
	s, ok := f.Stream(pdffile.Reference(v))
	plain, err := f.Plain(s)
	if !ok || err != nil {
		t.Fatalf("no stream %v: %v", v, err)
	}
	return strings.Join(strings.Fields(string(plain)), " ")
}

// outline writes a tree: P(0 Link(1)).
func outline(f *pdffile.File) string {
	var write func(v any) string
	write = func(v any) string {
		entries := f.Entry(v)
		switch {
		case entries == nil:
			return fmt.Sprint(v)
		case entries["/Type"] == "/OBJR":
			return "note"
		case entries["/Type"] == "/MCR":
			return fmt.Sprint("form:", entries["/MCID"])
		}
		kids, ok := entries["/K"].([]any)
		if !ok && entries["/K"] != nil {
			kids = []any{entries["/K"]}
		}
		var list []string
		for _, k := range kids {
			list = append(list, write(k))
		}
		name := strings.TrimPrefix(fmt.Sprint(entries["/S"]), "/")
		a := f.Entry(entries["/A"])
		for _, key := range []string{"/Scope", "/RowSpan", "/ColSpan", "/ListNumbering"} {
			if a[key] != nil {
				name += "." + strings.TrimPrefix(fmt.Sprint(a[key]), "/")
			}
		}
		return name + "(" + strings.Join(list, " ") + ")"
	}
	return write(f.Entry(f.Catalog()["/StructTreeRoot"])["/K"])
}
