package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/views"
)

// form returns the fields as the page shows them: the tabs of the sources, then the common fields, then the rest,
// folded: groups of several fields one by one. A field is common if its operation says so, if the example uses it, or
// if it is required. A field that is filled in or wrong is with the common ones.
func (in *playInput) form(example json.RawMessage) views.PlayForm {
	form := views.PlayForm{Source: cmp.Or(in.source, slices.Concat(in.tabs, []string{""})[0])}
	for _, tab := range in.tabs {
		form.Tabs = append(form.Tabs, views.PlayTab{Name: tab, Title: tabTitle(tab)})
	}

	rest := views.PlayFold{Title: "More fields"}
	for _, f := range in.shownFields(in.fields, "", example) {
		tab := slices.Index(in.tabs, tabOf(f.InputField))
		switch {
		case tab >= 0 && f.Kind == views.InputFile:
			form.Tabs[tab].Fields = slices.Insert(form.Tabs[tab].Fields, 0, f)
		case tab >= 0:
			form.Tabs[tab].Fields = append(form.Tabs[tab].Fields, f)
		case f.Kind == views.InputGroup && len(f.Fields) > 1:
			fold := views.PlayFold{
				Title: "More " + f.Name,
				About: f.Description,
				Path:  f.Path,
				Wrong: f.Wrong,
				Open:  f.Wrong != "",
			}
			spread(&form, &fold, f.Fields)
			form.Folds = append(form.Folds, fold)
		default:
			spread(&form, &rest, []views.PlayField{f})
		}
	}

	if len(rest.Fields) > 0 {
		form.Folds = append(form.Folds, rest)
	}
	return form
}

// spread puts fields, those in groups too, among the common ones or into a fold.
func spread(form *views.PlayForm, fold *views.PlayFold, fields []views.PlayField) {
	for _, f := range fields {
		switch {
		case f.Kind == views.InputGroup:
			if f.Wrong != "" {
				fold.Wrong = strings.TrimSpace(fold.Wrong + " " + f.Wrong)
				fold.Open = true
			}
			spread(form, fold, f.Fields)
		case !f.Open:
			fold.Fields = append(fold.Fields, f)
		case f.Kind == views.InputCheck:
			form.Flags = append(form.Flags, f)
		default:
			form.Fields = append(form.Fields, f)
		}
	}
}

// tabTitle is the title of a source: HTML for html, Template for template.
func tabTitle(tab string) string {
	if tab == "html" || tab == "url" {
		return strings.ToUpper(tab)
	}
	return strings.ToUpper(tab[:1]) + tab[1:]
}

func (in *playInput) shownFields(fields []views.InputField, at string, example json.RawMessage) []views.PlayField {
	var used map[string]json.RawMessage
	_ = json.Unmarshal(example, &used) // an example that is not an object uses no fields

	var list []views.PlayField
	for _, f := range fields {
		path := at + f.Name
		p := views.PlayField{
			InputField: f,
			Path:       path,
			Value:      in.values[path],
			Wrong:      in.wrong[path],
			Upload:     in.uploads[path],
		}
		_, p.Open = used[f.Name]
		p.Open = p.Open || f.Common || f.Required || p.Touched()

		switch f.Kind {
		case views.InputGroup:
			p.Fields = in.shownFields(f.Fields, path+".", used[f.Name])
		case views.InputList:
			p.Open = f.Required || in.counts[path] > 1 || in.list(f, path) != nil || p.Wrong != ""
			for i := range max(in.counts[path], 1) {
				p.Items = append(p.Items, in.shownItem(f, itemPath(path, i)))
			}
		case views.InputFile:
			p.Upload = in.uploads[path+idSuffix]
		}

		list = append(list, p)
	}
	return list
}

// shownItem returns an item of a list: its file in a line, with the fields that it needs. The rest is folded.
func (in *playInput) shownItem(list views.InputField, path string) views.PlayItem {
	item := views.PlayItem{Path: path, Wrong: in.wrong[path], Title: in.fileName(path)}

	for _, f := range in.shownFields(list.Fields, path+".", nil) {
		switch {
		case f.Kind == views.InputFile && (f.Upload != "" || f.Value != ""):
			item.File = &f
			item.Size = f.Size()
			item.Title = cmp.Or(item.Title, f.Name)
		case f.Kind == views.InputFile:
			item.Fields = slices.Insert(item.Fields, 0, f)
		case f.Wrong != "" || f.Required && f.Kind != views.InputCheck:
			item.Fields = append(item.Fields, f)
		default:
			item.More = append(item.More, f)
		}
	}

	item.Title = cmp.Or(item.Title, in.values[path+".url"])
	return item
}
