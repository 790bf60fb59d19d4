package pdf

import (
	"bytes"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// fontSize matches the size of a font in the default appearance of a field.
var fontSize = regexp.MustCompile(`([0-9]*\.?[0-9]+)(\s+Tf)`)

// font scales the text size of a field, or of a comment on the page: readers draw it again
// when it changes. Fields inherit from their parents; size 0 fills the available space.
func (r *resizer) font(entries pdffile.Dict, scale float64) {
	subtype := entries["/Subtype"]
	if subtype != "/Widget" && subtype != "/FreeText" {
		return
	}
	digits, ok := strings.CutPrefix(r.appearance(entries), "b:")
	text, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return
	}
	scaled := fontSize.ReplaceAllFunc(text, func(found []byte) []byte {
		part := fontSize.FindSubmatch(found)
		size, err := strconv.ParseFloat(string(part[1]), 64)
		if err != nil || size == 0 {
			return found
		}
		return append(strconv.AppendFloat(nil, rounded(size*scale), 'f', -1, 64), part[2]...)
	})
	if !bytes.Equal(scaled, text) {
		entries["/DA"] = "b:" + hex.EncodeToString(scaled)
	}
}

// appearance returns the default appearance of a field's text, its own or an inherited one.
func (r *resizer) appearance(entries pdffile.Dict) string {
	for node, depth := entries, 0; node != nil && depth < pdffile.MaxDepth; node, depth = r.Entry(node["/Parent"]), depth+1 {
		if text, ok := r.Target(node["/DA"]).(string); ok {
			return text
		}
	}
	if entries["/Subtype"] != "/Widget" {
		return ""
	}
	text, _ := r.Target(r.Entry(r.Catalog()["/AcroForm"])["/DA"]).(string)
	return text
}
