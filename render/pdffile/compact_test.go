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
