package pdffile

import (
	"bytes"
	"reflect"
	"testing"
)

// TestCompact writes a document again: all values stay, and what nothing refers to is gone.
func TestCompact(t *testing.T) {
	t.Parallel()
	u, root := NewDocument()
	value, stream, lost := u.Reserve(), u.Reserve(), u.Reserve()
	want := Dict{
		"/Name#": "/a b", "/List": []any{1.0, -0.5, true, "/N", "b:28295c0d0a00ff", []any{}, Dict{}},
		"/Text": "b:feff00e4d83dde00", "/Ascii": "b:feff0028006100290062", "/Self": "VALUE", "/False": false,
	}
	entries := Without(want)
	entries["/Text"], entries["/Ascii"], entries["/Self"], entries["/Nothing"] = "u:ä😀", "u:(a)b", value, Refer(99, 0)
	u.Set(root, Dict{"/Type": "/Catalog", "/Value": value, "/Stream": stream})
	u.Set(value, entries)
	u.Set(stream, Stream{Entries: Dict{"/Of": value}, Content: []byte("content")})
	u.Set(lost, Dict{"/Lost": true})
	f, err := Read(u.Document(root))
	if err != nil {
		t.Fatal(err)
	}
	change := f.NewUpdate()
	change.SetInfo(Dict{"/Title": "u:T"})
	got, err := change.Compact()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := f.NewUpdate().Compact(); err != nil || bytes.Equal(got, again) || bytes.Contains(got, []byte("Lost")) {
		t.Errorf("other objects, %v", err)
	}
	made, err := Read(got)
	if err != nil {
		t.Fatal(err)
	}
	catalog := made.Catalog()
	value = Reference(catalog["/Value"])
	want["/Self"] = value
	if v := made.Dict(value); !reflect.DeepEqual(v, want) {
		t.Errorf("got  %v\nwant %v", v, want)
	}
	s, ok := made.Stream(Reference(catalog["/Stream"]))
	if !ok || string(s.Content) != "content" || s.Entries["/Of"] != value {
		t.Errorf("stream %v %q", s.Entries, s.Content)
	}
	if Text(made.Entry(made.Trailer("/Info"))["/Title"]) != "T" || len(made.References()) != 6 || made.Version() != "1.7" {
		t.Errorf("version %s, objects %v", made.Version(), made.References())
	}
	if id, ok := made.Trailer("/ID").([]any); !ok || len(id) != 2 || id[0] != id[1] {
		t.Errorf("names %v", made.Trailer("/ID"))
	}
}

// TestCompactTables writes structure elements that differ in numbers only, whose text is predicted from that above.
func TestCompactTables(t *testing.T) {
	t.Parallel()
	u, root := NewDocument()
	u.Set(root, Dict{"/Type": "/Catalog"})
	f, err := Read(u.Document(root))
	if err != nil {
		t.Fatal(err)
	}
	u = f.NewUpdate()
	list, top := u.Reserve(), u.Reserve()
	var cells []any
	for i := range fewestAlike * 3 {
		cell := u.Reserve()
		entries := Dict{"/S": "/TD", "/P": top, "/K": i}
		if i%100 == 0 {
			entries["/S"], entries["/A"] = "/TH", "u:alone "+cell
		}
		u.Set(cell, entries)
		cells = append(cells, cell)
	}
	u.Set(list, cells)
	u.Set(top, Dict{"/K": cells})
	u.Set(f.Root(), Dict{"/Type": "/Catalog", "/Top": top, "/List": list})
	got, err := u.Compact()
	if err != nil {
		t.Fatal(err)
	}
	made, err := Read(got)
	if err != nil {
		t.Fatal(err)
	}
	kids, _ := made.Entry(made.Catalog()["/Top"])["/K"].([]any)
	if parents := made.Target(made.Catalog()["/List"]); len(kids) != len(cells) || !reflect.DeepEqual(parents, any(kids)) {
		t.Fatalf("%d cells, want %d in both lists", len(kids), len(cells))
	}
	for i, kid := range kids {
		if cell := made.Entry(kid); cell["/K"] != float64(i) || cell["/P"] != made.Catalog()["/Top"] || (cell["/S"] == "/TH") != (i%100 == 0) {
			t.Fatalf("cell %d is %v", i, cell)
		}
	}
	if maximum := len(cells) * 6; len(got) > maximum {
		t.Errorf("%d bytes, want at most %d", len(got), maximum)
	}
}
