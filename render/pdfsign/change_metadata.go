package pdfsign

import (
	"bytes"
	"regexp"
)

// dates is the change of metadata that programs make whenever they add something, such as validation data.
var dates = Change{ChangeMetadata, "the date and program of the last change"}

// information compares the document information.
func (d *differ) information() {
	a := d.old.Trailer("/Info")
	b := d.new.Trailer("/Info")
	if d.same(a, b, "/Info", 0) {
		return
	}

	was := d.old.Entry(a)
	is := d.new.Entry(b)
	changed := dates
	if was == nil && is == nil {
		changed.Text = metadata
	}
	for _, key := range keys(was, is) {
		if key != "/ModDate" && key != "/Producer" && !d.same(was[key], is[key], key, 0) {
			changed.Text = metadata
		}
	}

	d.add(changed.Kind, changed.Text)
}

// metadata is the text of other changes of metadata.
const metadata = "metadata"

var (
	lastChange = regexp.MustCompile(func() string {
		const names = `(?:xmp:ModifyDate|xmp:MetadataDate|xap:ModifyDate|xap:MetadataDate|pdf:Producer|xmpMM:InstanceID)`
		return `<` + names + `>[^<]*</` + names + `>|\s` + names + `\s*=\s*(?:"[^"<]*"|'[^'<]*')`
	}())
	spaces = regexp.MustCompile(`\s+`)
)

// xmp compares the metadata of the document.
func (d *differ) xmp(a, b any) {
	if d.same(a, b, "/Metadata", 0) {
		return
	}

	was, ok1 := plainStream(d.old, a)
	is, ok2 := plainStream(d.new, b)
	lasting := func(content []byte) []byte {
		return bytes.TrimSpace(spaces.ReplaceAll(lastChange.ReplaceAll(content, nil), []byte(" ")))
	}

	if ok1 && ok2 && bytes.Equal(lasting(was), lasting(is)) {
		d.add(dates.Kind, dates.Text)
		return
	}
	d.add(ChangeMetadata, metadata)
}
