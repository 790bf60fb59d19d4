package schema

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

type fileSource struct {
	File File   `json:"file,omitzero" jsonschema_description:"Content."`
	URL  string `json:"url,omitempty" jsonschema_description:"Address."`
}

type fileInput struct {
	Common

	File  File           `json:"file,omitzero" jsonschema_description:"Content."`
	Image fileSource     `json:"image,omitzero" jsonschema_description:"Image."`
	Files []fileSource   `json:"files,omitempty" jsonschema_description:"Files."`
	Data  map[string]any `json:"data,omitempty" jsonschema_description:"Data."`
}

// bindFiles binds a body and returns the content of the input's files.
func bindFiles(t *testing.T, body io.Reader, files Files) ([]string, error) {
	t.Helper()
	var contents []string
	spec := TypedDefinition[struct{}, fileInput]{
		Info: Info{Name: "file.read", Summary: "Read files", Price: 1, Produces: []string{"text/plain"}},
		Run: func(_ context.Context, _ struct{}, in *fileInput) (Result, error) {
			all := []File{in.File, in.Image.File}
			for _, source := range in.Files {
				all = append(all, source.File)
			}
			for _, file := range all {
				if file.Inline == nil {
					contents = append(contents, "-")
					continue
				}
				content, err := io.ReadAll(file.Open())
				if err != nil {
					return Result{}, err
				}
				contents = append(contents, string(content))
			}
			return Result{}, nil
		},
	}
	operation, err := spec.compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	call, err := operation.Bind(t.Context(), body, files)
	if err != nil {
		return nil, err
	}
	if _, err := call.Run(t.Context(), struct{}{}); err != nil {
		t.Fatal(err)
	}
	return contents, call.Close()
}

func TestBindDecodesFiles(t *testing.T) {
	large := strings.Repeat("relaypdf?>", 40_000) // bytes that need "/" and "+"
	text := base64.StdEncoding.EncodeToString([]byte(large))
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"plain":           {`{"file":"aGVsbG8="}`, []string{"hello", "-"}},
		"no padding":      {`{"file":"aGVsbG8"}`, []string{"hello", "-"}},
		"URL-safe":        {`{"file":"-_-_"}`, []string{"\xfb\xff\xbf", "-"}},
		"data URI":        {`{"file":"data:text/plain;charset=utf-8;base64,aGVsbG8="}`, []string{"hello", "-"}},
		"PHP":             {`{"file":"data:text\/plain;base64,+\/+\/"}`, []string{"\xfb\xff\xbf", "-"}},
		"escapes":         {`{"file":"\u0061GVs\r\nbG8="}`, []string{"hello", "-"}},
		"white space":     {` { "file" : "aGVs bG8=" } `, []string{"hello", "-"}},
		"nested":          {`{"image":{"file":"aQ=="},"files":[{"file":"YQ=="},{"url":"x"},{"file":"Yg=="}]}`, []string{"-", "i", "a", "-", "b"}},
		"large":           {`{"file":"` + text + `","files":[{"file":"` + text + `"}]}`, []string{large, "-", large}},
		"other places":    {`{"data":{"file":"not base64!","files":[{"file":"?"}]},"files":[{"url":"file"}]}`, []string{"-", "-", "-"}},
		"escaped name":    {`{"filename":"file\\","file":"aQ=="}`, []string{"i", "-"}},
		"name in escapes": {`{"f\u0069le":"aQ==","files":[{"\u0066ile":"aQ=="}]}`, []string{"i", "-", "i"}},
		"null":            {`{"file":null,"image":null}`, []string{"-", "-"}},
	} {
		for reading, body := range map[string]io.Reader{
			"whole": strings.NewReader(c.body), "by bytes": iotest.OneByteReader(strings.NewReader(c.body)),
		} {
			got, err := bindFiles(t, body, Files{})
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %s: %.60q, %v; want %.60q", name, reading, got, err, c.want)
			}
		}
	}
}

func TestBindRefusesBadFiles(t *testing.T) {
	for body, want := range map[string]string{
		`{"file":"!!!"}`:                           "file must be Base64, optionally with a data URI prefix.",
		`{"file":"a"}`:                             "file must be Base64, optionally with a data URI prefix.",
		`{"file":"data:text/plain,hello"}`:         "file must be Base64, optionally with a data URI prefix.",
		`{"files":[{"file":"aQ=="},{"file":"{"}]}`: "files[1].file must be Base64, optionally with a data URI prefix.",
		`{"file":7}`:                               "file must be a string; got 7.",
		`{"file":"aQ==","file":"aQ=="}`:            "file is given more than once.",
		`{"file":"aQ==`:                            "The request body is incomplete: the JSON is cut off.",
		`{"file":"aQ=\q"}`:                         "file is not valid JSON in UTF-8 (at byte 12).",
	} {
		_, err := bindFiles(t, strings.NewReader(body), Files{})
		var faults FieldErrors
		if !errors.As(err, &faults) || faults.Error() != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestBindRefusesAFileOverTheLimit(t *testing.T) {
	files := Files{Open: func() Sink { return new(memory) }, Limit: 5}
	if _, err := bindFiles(t, strings.NewReader(`{"file":"aGVsbG8="}`), files); err != nil {
		t.Errorf("5 bytes: %v", err)
	}
	_, err := bindFiles(t, strings.NewReader(`{"files":[{"file":"aGVsbG8h`+strings.Repeat("AAAA", 100_000)+`"}]}`), files)
	var size *SizeError
	if !errors.As(err, &size) || size.Field != "files[0].file" || size.Limit != 5 {
		t.Errorf("6 bytes and more: %v", err)
	}
}

// FuzzFiles checks that a file decodes like encoding/base64 does.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{`{"file":"aGVsbG8="}`, `{"a":"\\","file":"\/\u002b"}`, `[{"file":"x"}]`, `"file"`, `{"files":[{"file":"YQ"}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var input struct{ File *string }
		if strings.Contains(body, `"File"`) || json.Unmarshal([]byte(body), &input) != nil || input.File == nil {
			return
		}
		want, err := base64.StdEncoding.DecodeString(*input.File)
		if err != nil || len(want) == 0 {
			return
		}
		got, err := bindFiles(t, strings.NewReader(body), Files{})
		if err == nil && got[0] != string(want) {
			t.Errorf("%q decoded to %q, want %q", body, got[0], want)
		}
	})
}
