package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesAreCurrent fails after a change of the API until `make generate` has run.
func TestFilesAreCurrent(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}

	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Error(err)

			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what cmd/sdk writes: run make generate", path)
		}
	}
}

// TestParse holds what the languages rely on.
func TestParse(t *testing.T) {
	t.Parallel()
	doc, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}

	operations := map[string]Operation{}
	for _, group := range doc.Groups {
		for _, operation := range group.Operations {
			operations[operation.ID] = operation
		}
	}
	create := operations["pdf_create"]
	if create.Name() != "pdf.create" || !create.Paid || !create.File || create.JSON != nil || create.Input == nil {
		t.Errorf("pdf_create: %+v", create)
	}
	info := operations["pdf_info"]
	if info.Name() != "pdf.info" || info.File || info.JSON == nil || info.JSON.Ref != "PdfInfoResult" {
		t.Errorf("pdf_info: %+v", info)
	}
	if bulk := operations["pdf_bulk"]; !bulk.StartsJob || create.StartsJob || info.StartsJob {
		t.Errorf("pdf_bulk: %+v", bulk)
	}
	if advanced := operations["pdf_compress_advanced"]; advanced.Name() != "pdf.compress-advanced" {
		t.Errorf("the name of pdf_compress_advanced is %q", advanced.Name())
	}
	if jobs := operations["jobs_list"]; jobs.Entries != "jobs" || len(jobs.Query) == 0 {
		t.Errorf("jobs_list: %+v", jobs)
	}
	if upload := operations["files_upload"]; !upload.Upload || upload.JSON == nil {
		t.Errorf("files_upload: %+v", upload)
	}
	version := operations["templates_versions_get"]
	if len(version.Arguments) != 2 || version.Arguments[0].Name != "id" || version.Arguments[1].Name != "version" {
		t.Errorf("templates_versions_get: %+v", version.Arguments)
	}

	merge := doc.Schemas[slices.IndexFunc(doc.Schemas, func(s Schema) bool { return s.Name == "PdfMergeInput" })]
	i := slices.IndexFunc(merge.Type.Fields, func(f Field) bool { return f.Name == "tableOfContents" })
	if field := merge.Type.Fields[i]; field.Type.Kind != Boolean || field.Default != false || field.Required || field.Doc == "" {
		t.Errorf("tableOfContents: %+v", field)
	}
}
