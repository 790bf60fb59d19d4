package pdf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// everything holds the default permissions of a protected document's readers.
var everything = Permissions{Print: true, HighRes: true, Copy: true, Modify: true, Annotate: true, Fill: true, Assemble: true}

// encryptionOf returns what qpdf says of a document's encryption.
func encryptionOf(t *testing.T, content []byte, password string) (f facts, revision int) {
	t.Helper()
	text := pdftest.Tool(t, "qpdf", "--json=2", "--json-key=encrypt", "--password="+password, pdftest.Save(t, content))
	var parameters struct {
		Encrypt struct{ Parameters struct{ R int } } `json:"encrypt"`
	}
	for _, v := range []any{&f, &parameters} {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			t.Fatal(err)
		}
	}
	return f, parameters.Encrypt.Parameters.R
}

func TestProtectEncryptsWithRevision6(t *testing.T) {
	passwords := ProtectArgs{Input: input(""), UserPassword: "-übel @ \"x\"", OwnerPassword: "--owner", Allow: everything}
	got := makeOne(t, ProtectJob.Name, passwords, three().Write())
	sound(t, got, passwords.UserPassword, 3)
	sound(t, got, passwords.OwnerPassword, 3)
	if _, revision := encryptionOf(t, got, passwords.UserPassword); revision != 6 {
		t.Errorf("revision %d, want 6", revision)
	}
	if bytes.Contains(got, []byte("alpha")) {
		t.Error("the text can be read without a password")
	}
	runFailing(t, job.PasswordRequired, UnlockJob.Name, input(""), got)
	runFailing(t, job.WrongPassword, UnlockJob.Name, input("guess"), got)
	runFailing(t, job.NoMatch, UnlockJob.Name, input(""), three().Write())
	runFailing(t, job.NoMatch, UnlockJob.Name, input("guess"), pdftest.Transform(t, three().Write(), "--object-streams=generate"))
	runFailing(t, job.Damaged, UnlockJob.Name, input(""), []byte("%PDF-1.7\nnothing of it is left"))
	for _, password := range []string{passwords.UserPassword, passwords.OwnerPassword} {
		plain := makeOne(t, UnlockJob.Name, input(password), got)
		sound(t, plain, "", 3)
		if f, _ := encryptionOf(t, plain, ""); f.Encryption.Encrypted {
			t.Error("the unlocked document is still encrypted")
		}
		if texts, want := pageTexts(t, plain, ""), []string{"alpha", "beta", "gamma"}; !reflect.DeepEqual(texts, want) {
			t.Errorf("got %q, want %q", texts, want)
		}
	}
}

func TestProtectSetsPermissions(t *testing.T) {
	for name, allow := range map[string]Permissions{
		"all": everything, "none": {}, "print": {Print: true}, "full print": {Print: true, HighRes: true}, "copy": {Copy: true},
		"annotate": {Annotate: true, Fill: true}, "fill": {Fill: true}, "assemble": {Assemble: true}, "modify": {Modify: true},
	} {
		got := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o", Allow: allow}, three().Write())
		result, err := runJob(t, InfoJob.Name, input("u"), got)
		if err != nil {
			t.Fatal(err)
		}
		var about Info
		if err := json.Unmarshal(result.Body, &about); err != nil {
			t.Fatal(err)
		}
		if !about.Encrypted || about.Permissions != allow {
			t.Errorf("%s: encrypted %t with %+v, want %+v", name, about.Encrypted, about.Permissions, allow)
		}
	}
}

func TestProtectReplacesPasswords(t *testing.T) {
	first := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o", Allow: everything}, three().Write())
	second := makeOne(t, ProtectJob.Name, ProtectArgs{Input: input("u"), UserPassword: "v", OwnerPassword: "p", Allow: everything}, first)
	sound(t, second, "v", 3)
	runFailing(t, job.WrongPassword, UnlockJob.Name, input("u"), second)
}

// TestEncryptionStays changes encrypted documents of every revision: what comes
// out has the passwords and permissions of what went in.
func TestEncryptionStays(t *testing.T) {
	plain := linked().Write()
	for name, options := range map[string][]string{
		"R2": {"--allow-weak-crypto", "--encrypt", "u", "o", "40", "--print=n", "--"},
		"R3": {"--allow-weak-crypto", "--encrypt", "u", "o", "128", "--use-aes=n", "--print=none", "--"},
		"R4": {"--allow-weak-crypto", "--encrypt", "u", "o", "128", "--use-aes=y", "--print=none", "--"},
		"R6": {"--encrypt", "u", "o", "256", "--print=none", "--"},
	} {
		locked := pdftest.Transform(t, plain, options...)
		before, revision := encryptionOf(t, locked, "u")
		for jobName, args := range map[string]any{
			ExtractJob.Name:     Selection{Input: input("u"), Pages: "1,2"},
			DeletePagesJob.Name: Selection{Input: input("o"), Pages: "3"},
			RotateJob.Name:      RotateArgs{Selection{Input: input("u")}, 90},
			CompressJob.Name:    input("u"),
			BookmarksJob.Name:   Outline{Input: input("o"), Bookmarks: []Bookmark{{Title: "x", Page: 1}}},
		} {
			got := makeOne(t, jobName, args, locked)
			for _, password := range []string{"u", "o"} {
				pdftest.Tool(t, "qpdf", "--check", "--password="+password, pdftest.Save(t, got))
			}
			after, is := encryptionOf(t, got, "u")
			if is != revision || after.Encryption.Allow != before.Encryption.Allow {
				t.Errorf("%s of %s: R%d with %+v, want R%d with %+v", jobName, name, is, after.Encryption.Allow, revision, before.Encryption.Allow)
			}
			if texts := pageTexts(t, got, "u"); texts[0] != "alpha" {
				t.Errorf("%s of %s: pages %q", jobName, name, texts)
			}
		}
	}
}

// rotations returns how the pages of a document are turned.
func rotations(t *testing.T, content []byte) (degrees []int) {
	t.Helper()
	result, err := runJob(t, InfoJob.Name, input(""), content)
	if err != nil {
		t.Fatal(err)
	}
	var about Info
	if err := json.Unmarshal(result.Body, &about); err != nil {
		t.Fatal(err)
	}
	for _, page := range about.Pages {
		degrees = append(degrees, page.Rotation)
	}
	return degrees
}

func TestRotateAddsUp(t *testing.T) {
	content := three().Write()
	for _, step := range []struct {
		degrees int
		pages   string
		want    []int
	}{
		{90, "", []int{90, 90, 90}},
		{-270, "2,2", []int{90, 180, 90}},
		{180, "odd", []int{270, 180, 270}},
		{-90, "1-2", []int{180, 90, 270}},
		{270, "last", []int{180, 90, 180}},
	} {
		content = makeOne(t, RotateJob.Name, RotateArgs{Selection{Input: input(""), Pages: step.pages}, step.degrees}, content)
		if got := rotations(t, content); !reflect.DeepEqual(got, step.want) {
			t.Fatalf("%+d of pages %q: got %v, want %v", step.degrees, step.pages, got, step.want)
		}
	}
	sound(t, content, "", 3)
}

func TestBookmarks(t *testing.T) {
	deep := []Bookmark{
		{Title: "Größe 漢字", Page: 1, Children: []Bookmark{{Title: "One", Page: 2, Children: []Bookmark{{Title: "Deep", Page: 3}}}, {Title: "Two", Page: 3}}},
		{Title: "(b:ad) \\ \"quoted\"", Page: 3},
	}
	want := []string{"Größe 漢字 1", "  One 2", "    Deep 3", "  Two 3", "(b:ad) \\ \"quoted\" 3"}
	got := makeOne(t, BookmarksJob.Name, Outline{Input: input(""), Bookmarks: deep}, three().Write())
	sound(t, got, "", 3)
	if outline := outlineOf(t, got); !reflect.DeepEqual(outline, want) {
		t.Errorf("outline %q, want %q", outline, want)
	}
	if seen := pdftest.Tool(t, "mutool", "show", pdftest.Save(t, got), "outline"); !strings.Contains(seen, "Größe 漢字") || strings.Count(seen, "\n") != len(want) {
		t.Errorf("MuPDF sees the outline %s", seen)
	}
	packed := pdftest.Transform(t, linked().Write(), "--object-streams=generate")
	after := makeOne(t, BookmarksJob.Name, Outline{Input: input(""), Bookmarks: []Bookmark{{Title: "Last", Page: 2}}}, packed)
	if outline, want := outlineOf(t, after), []string{"Start 1", "  Middle 2", "End 3", "Last 2"}; !reflect.DeepEqual(outline, want) {
		t.Errorf("outline %q, want %q", outline, want)
	}
	plain := pdftest.Transform(t, after, "--qdf", "--object-streams=disable")
	if !bytes.Contains(plain, []byte("/F 2")) {
		t.Error("an entry has lost its style")
	}
	if !bytes.Contains(after, []byte("/ObjStm")) {
		t.Error("the objects are not in streams any more")
	}
	failed := runFailing(t, job.PageOutOfRange, BookmarksJob.Name, Outline{Input: input(""), Bookmarks: []Bookmark{
		{Title: "x", Page: 1, Children: []Bookmark{{Title: "y", Page: 1}, {Title: "z", Page: 4}}},
	}}, three().Write())
	if want := []int{0, 1}; !slices.Equal(failed.Bookmark, want) || failed.Pages != 3 {
		t.Errorf("bookmark %v of %d pages, want %v of 3", failed.Bookmark, failed.Pages, want)
	}
}

func TestCompress(t *testing.T) {
	long := source{}
	for i := range 200 {
		long.Pages = append(long.Pages, fmt.Sprintf("page %d %s", i, strings.Repeat("x", 500)))
	}
	content := long.Write()
	got := makeOne(t, CompressJob.Name, input(""), content)
	sound(t, got, "", 200)
	if len(got)*5 > len(content) {
		t.Errorf("%d bytes became %d, want less than a fifth", len(content), len(got))
	}
	if before, after := pageTexts(t, content, ""), pageTexts(t, got, ""); !reflect.DeepEqual(before, after) {
		t.Error("the text has changed")
	}
	if again := makeOne(t, CompressJob.Name, input(""), got); len(again) > len(got) {
		t.Errorf("%d bytes grew to %d", len(got), len(again))
	}
	small := makeOne(t, CompressJob.Name, input(""), three().Write())
	if again := makeOne(t, CompressJob.Name, input(""), small); !bytes.Equal(again, small) {
		t.Error("what cannot get smaller was changed")
	}
}
