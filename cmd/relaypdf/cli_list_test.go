package main

import (
	"strings"
	"testing"

	"relaypdf/client"
)

// TestAccountCommands lists the account's jobs and files.
func TestAccountCommands(t *testing.T) {
	b := newBench(t, nil)
	t.Chdir(t.TempDir())
	upload := decodeJSON[client.Upload](t, b.run("", "files", "upload", put(t, "a.txt", "content"), "--json").out)
	for range 3 {
		if r := b.run("x", "doc", "print", "-", "--response", "async", "-q"); r.code != 0 {
			t.Fatalf("got %+v", r)
		}
	}
	all := decodeJSON[client.JobList](t, b.run("", "jobs", "list", "--json").out).Jobs
	if len(all) != 3 || all[0].Operation != "doc.print" || all[0].Status != client.JobProcessing {
		t.Errorf("got %+v, want three jobs", all)
	}
	if two := decodeJSON[client.JobList](t, b.run("", "jobs", "list", "-n", "2", "--json").out).Jobs; len(two) != 2 || two[0].ID != all[0].ID {
		t.Errorf("got %+v, want the newest two", two)
	}
	if r := b.run("", "jobs", "list"); strings.Count(r.out, "\n") != 4 || !strings.Contains(r.out, all[2].ID+"  doc.print  processing") {
		t.Errorf("got %+v, want a table of three", r)
	}
	if files := decodeJSON[client.FileList](t, b.run("", "files", "list", "--json").out).Files; len(files) != 1 || files[0].ID != upload.ID {
		t.Errorf("got %+v, want the upload", files)
	}
	if r := b.run("", "files", "list"); !strings.Contains(r.out, upload.ID+"  upload  a.txt  7 B") {
		t.Errorf("got %+v, want a table with the upload", r)
	}
}
