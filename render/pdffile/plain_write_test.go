package pdffile

import (
	"bytes"
	"testing"
)

// TestPlain writes a document again as PDF 1.4: its values stay, and what nothing refers to is gone.
func TestPlain(t *testing.T) {
	t.Parallel()
	u, root := NewDocument()
	value, stream, lost := u.Reserve(), u.Reserve(), u.Reserve()
	u.Set(root, Dict{"/Type": "/Catalog", "/Value": value, "/Stream": stream, "/Nothing": Refer(99, 0)})
	u.Set(value, Dict{"/Name": "/a", "/Text": "u:ä"})
	u.Set(stream, Stream{Entries: Dict{"/Of": value}, Content: []byte("content")})
	u.Set(lost, Dict{"/Lost": true})
	f, err := Read(u.Document(root))
	if err != nil {
		t.Fatal(err)
	}
	change := f.NewUpdate()
	change.SetInfo(Dict{"/Title": "u:T"})
	change.SetEntries(stream, Dict{"/Of": value, "/More": 1.0})
	change.SetEntries(value, Without(change.Entries(value), "/Name"))
	got, err := change.Plain()
	if err != nil {
		t.Fatal(err)
	}
	for _, lack := range []string{"ObjStm", "XRef", "Lost", "/Name"} {
		if bytes.Contains(got, []byte(lack)) {
			t.Errorf("the file has %s", lack)
		}
	}
	made, err := ReadTable(got)
	if err != nil || !bytes.HasPrefix(got, []byte("%PDF-1.4\n")) {
		t.Fatal(err)
	}
	content, ok := made.Stream(Reference(made.Catalog()["/Stream"]))
	if !ok || string(content.Content) != "content" || content.Entries["/More"] != 1.0 || made.Catalog()["/Nothing"] != nil {
		t.Errorf("stream %v", content)
	}
	if text := Text(made.Entry(content.Entries["/Of"])["/Text"]); text != "ä" || Text(made.Entry(made.Trailer("/Info"))["/Title"]) != "T" {
		t.Errorf("texts %q", text)
	}
	if change.Entries(Refer(99, 0)) != nil {
		t.Error("an object that is not there has entries")
	}
}
