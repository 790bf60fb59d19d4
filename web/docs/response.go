package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/views"
)

// formTabs are the names of the forms of JSON that many operations have. A form of one operation is called JSON.
var formTabs = map[string]string{"FileUrlResponse": "URL", "JobStatusResponse": "Job", "Error": "Error"}

// responses are examples of the responses of an operation, without their HTML: the file first, then JSON, then an
// error.
func (d *openAPI) responses(o views.Operation, e endpoint) []views.Sample {
	var list []views.Sample
	failed := false
	for _, status := range slices.Sorted(maps.Keys(e.Responses)) {
		response := d.response(e.Responses[status])
		if status >= "400" && failed {
			continue
		}

		if text, name := d.fileResponse(o, status, response, cmp.Or(e.Charge, e.Price)); text != "" {
			list = append(list, views.Sample{Name: status + " " + name, Language: "http", Text: text})
		}

		examples := maps.Clone(response.Content["application/json"].Examples)
		own := slices.DeleteFunc(
			slices.Collect(maps.Keys(examples)), func(form string) bool { return formTabs[form] != "" },
		)
		for _, form := range own {
			if len(own) > 1 { // Their operations show them.
				delete(examples, form)
			}
		}

		byTab := func(a, b string) int { return cmp.Compare(formTabs[a], formTabs[b]) }
		for _, form := range slices.SortedFunc(maps.Keys(examples), byTab) {
			var body bytes.Buffer
			if json.Indent(&body, d.Components.Examples[schemaName(examples[form].Ref)].Value, "", "  ") == nil {
				list = append(list, views.Sample{
					Name:     status + " " + cmp.Or(formTabs[form], "JSON"),
					Language: "json",
					Text:     body.String(),
				})
				failed = failed || status >= "400"
			}
		}
	}
	return list
}

// fileResponse returns the head of a response that is a file, and the name of the file's format.
func (d *openAPI) fileResponse(o views.Operation, status string, r response, charge *int64) (head, format string) {
	extension := path.Ext(o.ResultFile)
	for media := range r.Content {
		ending, known := endings[media]
		if code, err := strconv.Atoi(status); err == nil && code == http.StatusOK && known && ending == extension {
			head = fmt.Sprintf("HTTP/1.1 %d %s\nContent-Type: %s\n", code, http.StatusText(code), media)
		}
	}
	if head == "" {
		return "", ""
	}

	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		value := d.Components.Headers[schemaName(r.Headers[name].Ref)].Example
		switch {
		case name == "Content-Disposition":
			value = fmt.Sprintf("attachment; filename=%q; filename*=UTF-8''%s", o.ResultFile, o.ResultFile)
		case strings.HasSuffix(name, "-charged-microdollars") && charge != nil:
			value = *charge
		}
		if value != nil {
			head += fmt.Sprintf("%s: %v\n", name, value)
		}
	}

	return head + "\n(the file)", cmp.Or(strings.ToUpper(strings.TrimPrefix(extension, ".")), "File")
}
