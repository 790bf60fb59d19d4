package pdf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dict is a PDF dictionary in the JSON of qpdf: names start with "/", strings
// with "u:" or "b:", and references read "4 0 R".
type dict = map[string]any

// structure is what qpdf says of a document: its pages, its outline, and the
// objects that were asked for.
type structure struct {
	Pages []struct {
		Object string `json:"object"`
	} `json:"pages"`
	Outlines []outlineItem `json:"outlines"`
	// Objects hold a header and then the objects.
	Objects []map[string]json.RawMessage `json:"qpdf"`
}

// outlineItem is one entry of a document's outline.
type outlineItem struct {
	Object string        `json:"object"`
	Title  string        `json:"title"`
	Dest   any           `json:"dest"`
	Page   *int          `json:"destpageposfrom1"`
	Open   bool          `json:"open"`
	Kids   []outlineItem `json:"kids"`
}

// structure reads the pages and the outline, and the document's trailer, for an
// update.
func (d *document) structure(ctx context.Context) (*structure, error) {
	if err := d.unpack(ctx); err != nil {
		return nil, err
	}
	return d.describe(ctx, []string{"pages", "outlines", "qpdf"}, []string{"trailer"})
}

// unpack takes a document's objects out of streams, where it has them there:
// qpdf forgets the update of an object when it reads another one of the same
// stream. The result of write has them in streams again.
func (d *document) unpack(ctx context.Context) error {
	content, err := os.ReadFile(d.work.Path(d.name))
	if err != nil || !bytes.Contains(content, []byte("/ObjStm")) {
		return err
	}
	name := strconv.Itoa(d.number) + "unpacked.pdf"
	if err := d.writeTo(ctx, name, qpdfJob{"objectStreams": "disable", "streamData": "preserve"}); err != nil {
		return err
	}
	d.name, d.packed = name, true
	return nil
}

// describeTime is far more than the largest of honest documents need. qpdf never
// gets to the end of an outline whose entries follow themselves.
const describeTime = 15 * time.Second

// describe reads parts of qpdf's description of the document, and of the
// objects those that are named; nil is all.
func (d *document) describe(ctx context.Context, keys, objects []string) (*structure, error) {
	job := qpdfJob{"inputFile": d.name, "password": d.password, "json": "2", "jsonKey": keys}
	if objects != nil {
		job["jsonObject"] = objects
	}
	bounded, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	out, err := qpdf(bounded, d.work, job)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return nil, d.fail(Exhausted, err)
	}
	if err != nil {
		return nil, d.damaged(err)
	}
	var s structure
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, d.fail(Damaged, fmt.Errorf("structure: %w", err))
	}
	return &s, nil
}

// value returns the value of an object, such as "trailer" or "4 0 R", as far
// as it was asked for and is a dictionary.
func (s *structure) value(object string) dict {
	if object != "trailer" {
		object = "obj:" + object
	}
	for _, objects := range s.Objects {
		var content struct {
			Value  dict `json:"value"`
			Stream struct {
				Dict dict `json:"dict"`
			} `json:"stream"`
		}
		// An object that is no dictionary is none that anybody looks for.
		if raw, ok := objects[object]; ok && json.Unmarshal(raw, &content) == nil {
			if content.Value != nil {
				return content.Value
			}
			return content.Stream.Dict
		}
	}
	return nil
}

// drop forgets an object.
func (s *structure) drop(object string) {
	for _, objects := range s.Objects {
		delete(objects, "obj:"+object)
	}
}

// header reads a fact from the header of the objects into what v points to.
func (s *structure) header(name string, v any) {
	for _, objects := range s.Objects {
		if raw, ok := objects[name]; ok && json.Unmarshal(raw, v) == nil {
			return
		}
	}
}

// root returns the reference of the document's catalog.
func (s *structure) root() string { return reference(s.value("trailer")["/Root"]) }

// reference returns v where it is a reference, and otherwise nothing.
func reference(v any) string {
	text, _ := v.(string)
	var number, generation int
	if n, err := fmt.Sscanf(text, "%d %d R", &number, &generation); n != 2 || err != nil {
		return ""
	}
	return text
}

// selector spells a reference as qpdf's option to choose objects does: "4,0".
func selector(reference string) string {
	return strings.Replace(strings.TrimSuffix(reference, " R"), " ", ",", 1)
}

// objects reads dictionaries by their references. What is missing or no
// dictionary is left out.
func (d *document) objects(ctx context.Context, references []string) (map[string]dict, error) {
	var selectors []string
	for _, r := range references {
		if reference(r) != "" {
			selectors = append(selectors, selector(r))
		}
	}
	if len(selectors) == 0 {
		return nil, nil
	}
	s, err := d.describe(ctx, []string{"qpdf"}, selectors)
	if err != nil {
		return nil, err
	}
	return s.values(references), nil
}

// values returns dictionaries by their references, as far as they were asked
// for.
func (s *structure) values(references []string) map[string]dict {
	found := map[string]dict{}
	for _, r := range references {
		if value := s.value(r); value != nil {
			found[r] = value
		}
	}
	return found
}

// update collects objects that are to be replaced or added.
type update struct {
	version string // of the document, which an update must repeat
	objects map[string]any
	next    int // the number of the next new object
}

func (s *structure) newUpdate() *update {
	var highest int
	s.header("maxobjectid", &highest)
	u := &update{objects: map[string]any{}, next: highest + 1}
	s.header("pdfversion", &u.version)
	return u
}

// reserve returns the reference of a new object.
func (u *update) reserve() string {
	u.next++
	return strconv.Itoa(u.next-1) + " 0 R"
}

// set gives an object its value.
func (u *update) set(reference string, value any) {
	u.objects["obj:"+reference] = map[string]any{"value": value}
}

// file writes the update where a qpdf job finds it, and returns its name.
func (u *update) file(d *document) (string, error) {
	name := strconv.Itoa(d.number) + "update.json"
	text, err := json.Marshal(map[string]any{"qpdf": []any{
		map[string]any{"jsonversion": 2, "pdfversion": u.version, "maxobjectid": u.next - 1}, u.objects,
	}})
	if err != nil {
		return "", err
	}
	return name, os.WriteFile(d.work.Path(name), text, 0o600)
}

// without returns a copy of a dictionary that lacks some keys.
func without(entries dict, keys ...string) dict {
	rest := maps.Clone(entries)
	maps.DeleteFunc(rest, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return rest
}
