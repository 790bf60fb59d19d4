package pdf

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// A document can leave it to its readers to draw its fields and comments. Programs that make them part of their pages
// would lose them. So they get their appearances first: comments from MuPDF; whatever shows text, which may be of any
// script, from pdftk, like the values that are filled in.

//go:embed appearances.js
var appearancesScript string

// withAppearances returns a document that opens without a password, with an appearance of each visible field and
// comment, and the names of those with letters that no installed font has. If nothing lacks one, it is the document
// itself.
func withAppearances(ctx context.Context, d *document) (drawn *document, incomplete []string, err error) {
	s, err := d.readStructure(ctx)
	if err != nil {
		return nil, nil, err
	}
	comments, fields := missingAppearances(s)
	if !comments && len(fields) == 0 {
		return d, nil, nil
	}

	copied := *d
	drawn = &copied
	drawn.name = strconv.Itoa(d.number) + "drawn-" + d.name

	if comments {
		if s, err = drawComments(ctx, drawn, d); err != nil {
			return nil, nil, err
		}
		_, fields = missingAppearances(s)
	} else if err := copyFrom(drawn, d); err != nil {
		return nil, nil, err
	}

	incomplete, err = drawTexts(ctx, drawn, s, fields)
	return drawn, incomplete, err
}

// drawComments makes the document a copy of another one in which MuPDF has drawn the comments, and reads it.
func drawComments(ctx context.Context, d, other *document) (*structure, error) {
	const script = "appearances.js"
	_, err := runScript[bool](ctx, other, script, []byte(drawScript+appearancesScript), openInput{
		Input: other.name, Output: d.name,
	})
	if err != nil {
		return nil, err
	}
	return d.readStructure(ctx)
}

// copyFrom makes the document's file a copy of another's.
func copyFrom(d, other *document) error {
	content, err := other.content()
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.work.Path(d.name), content, 0o600); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// missingAppearances reports whether visible comments have no appearance, and returns the stand-ins of what shows text.
func missingAppearances(s *structure) (comments bool, texts []standIn) {
	form := s.Entry(s.Catalog()["/AcroForm"])

	for _, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for i, item := range list {
			a := &annotation{structure: s, form: form, page: page.Object, index: i, entries: s.Entry(item)}
			if flags, _ := s.Target(a.entries["/F"]).(float64); int(flags)&pdffile.FlagHidden != 0 {
				continue
			}

			if stand, ok := a.standIn(); ok {
				texts = append(texts, stand)
			}

			kind := s.Target(a.entries["/Subtype"])
			isComment := a.entries != nil && kind != "/Widget" && kind != "/Link" && kind != "/Popup"
			comments = comments || isComment && !a.drawn()
		}
	}

	return comments, texts
}

// annotation is a field's widget, or a comment.
type annotation struct {
	*structure

	form    pdffile.Dict // of the document
	page    string
	index   int // on the page
	entries pdffile.Dict
}

// drawn reports whether the annotation has an appearance.
func (a *annotation) drawn() bool { return a.Target(a.Entry(a.entries["/AP"])["/N"]) != nil }

// entry returns an entry of the annotation, or of the closest field above it that has it, as it is there.
func (a *annotation) entry(key string) any {
	return inherit(a.structure, lineageOf(a.structure, a.entries), key)
}

// found returns what entry does, or what it refers to.
func (a *annotation) found(key string) any { return a.Target(a.entry(key)) }

// text returns the text of an entry, which may be one of the closest field above that has it.
func (a *annotation) text(key string) string { return fieldText(a.structure, a.entry(key)) }

// fieldName returns the full name of a field.
func (a *annotation) fieldName() string {
	name := ""
	for _, node := range lineageOf(a.structure, a.entries) {
		if part := pdffile.Text(a.Target(node["/T"])); part != "" {
			name = strings.TrimSuffix(part+"."+name, ".")
		}
	}
	return name
}

// standIn is a text field or a list that pdftk draws in place of an annotation, in a document of its own.
type standIn struct {
	*annotation

	field pdffile.Dict
	text  entry
	// state is that of a checkbox or radio button, with its slash.
	state string
}

// standIn returns what pdftk is to draw for an annotation that shows text; false if there is nothing to draw.
func (a *annotation) standIn() (stand standIn, ok bool) {
	kind := a.Target(a.entries["/Subtype"])
	redraw := a.Target(a.form["/NeedAppearances"]) == true
	if a.entries == nil || kind != "/Widget" && kind != "/FreeText" || a.drawn() && !redraw {
		return stand, false
	}

	rect, sized := a.box(a.entries["/Rect"])
	if !sized {
		return stand, false
	}

	flags, _ := a.found("/Ff").(float64)
	stand = standIn{annotation: a, text: entry{name: a.fieldName()}}
	stand.field = pdffile.Dict{
		"/FT": "/Tx", "/Ff": int(flags) & (flagMultiline | flagPassword | flagComb),
		"/Rect": []any{0, 0, rect[2] - rect[0], rect[3] - rect[1]},
	}

	switch field := a.found("/FT"); {
	case kind == "/FreeText":
		ok = !a.drawn() && stand.setComment()
	case field == "/Tx":
		stand.setText(a.text("/V"))
		ok = true
	case field == "/Ch":
		stand.setChoice(int(flags))
		ok = true
	case field == "/Btn" && !a.drawn():
		stand.setButton(int(flags))
		ok = true
	}
	if !ok {
		return stand, false
	}

	stand.setStyle(kind == "/FreeText")
	framed := stand.field["/MK"] != nil
	return stand, a.drawn() || framed || stand.text.appearanceText != ""
}

// Flags of text fields.
const (
	flagPassword = 1 << 13
	flagComb     = 1 << 24
)

func (s *standIn) setText(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, text)

	s.text.values = []string{text}
	s.text.appearanceText = text
	if longest, ok := s.found("/MaxLen").(float64); ok {
		s.field["/MaxLen"] = int(longest)
	}

	s.field["/Q"] = s.found("/Q")
	if s.field["/Q"] == nil {
		s.field["/Q"] = s.Target(s.form["/Q"])
	}
}

// markupTags matches the tags of a comment's formatted text.
var markupTags = regexp.MustCompile(`<[^>]*>`)

// setComment sets the text of a comment on the page. It returns false if there is none.
func (s *standIn) setComment() bool {
	text := pdffile.Text(s.Target(s.entries["/Contents"]))
	if text == "" {
		text = markupTags.ReplaceAllString(s.annotation.text("/RC"), "")
	}
	s.field["/Ff"] = flagMultiline
	s.setText(text)
	return text != ""
}

// setChoice sets what a choice or a list shows: labels, not values.
func (s *standIn) setChoice(flags int) {
	var values, labels []string
	for _, option := range fieldOptions(s.annotation.structure, s.entry("/Opt")) {
		values = append(values, option[0])
		labels = append(labels, option[1])
	}

	shown := []string{}
	for _, text := range fieldTexts(s.annotation.structure, s.entry("/V")) {
		if i := slices.Index(values, text); i >= 0 {
			text = labels[i]
		}
		shown = append(shown, text)
	}

	if flags&flagCombo != 0 {
		s.setText(strings.Join(shown, ", "))
		return
	}

	all := []any{}
	for _, label := range labels {
		all = append(all, "u:"+label)
	}

	s.field["/FT"] = "/Ch"
	s.field["/Opt"] = all
	s.field["/Ff"] = flags & flagMultiSelect
	if first, ok := s.found("/TI").(float64); ok {
		s.field["/TI"] = int(first)
	}
	s.text.values = shown
	s.text.appearanceText = strings.Join(labels, " ")
}

// buttonMarks are the letters of ZapfDingbats that readers mark buttons with.
var buttonMarks = map[string]string{"4": "✔", "l": "●", "8": "✘", "5": "✕", "6": "✖", "u": "◆", "n": "■", "H": "★"}

// setButton sets the caption of a button, or the mark of one that is on.
func (s *standIn) setButton(flags int) {
	caption := fieldText(s.annotation.structure, s.Entry(s.entries["/MK"])["/CA"])
	if flags&flagPushButton == 0 {
		mark := buttonMarks[caption]
		usual := "4"
		if flags&flagRadio != 0 {
			usual = "l"
		}
		if caption == "" {
			mark = buttonMarks[usual]
		}
		if mark == "" {
			mark = caption
		}

		s.state = "/Off"
		caption = ""
		state, _ := s.Target(s.entries["/AS"]).(string)
		if state == "" && flags&flagRadio == 0 {
			state, _ = s.found("/V").(string)
		}
		if strings.HasPrefix(state, "/") && state != "/Off" {
			s.state = state
			caption = mark
		}
	}

	s.setText(caption)
	s.field["/Q"] = 1
}

// setStyle sets the colours, the size of letters and the border.
func (s *standIn) setStyle(comment bool) {
	style, _ := s.found("/DA").(string)
	if style == "" {
		style, _ = s.Target(s.form["/DA"]).(string)
	}

	size, colour := fontStyle(style)
	if comment && size == 0 {
		const usual = 12
		size = usual
	}
	s.field["/DA"] = defaultAppearance(size, colour)

	look := pdffile.Dict{}
	of := s.Entry(s.entries["/MK"])
	for key, v := range map[string]any{"/BG": of["/BG"], "/BC": of["/BC"]} {
		if parts, ok := s.plain(s.Target(v)).([]any); ok && len(parts) > 0 {
			look[key] = parts
		}
	}

	if comment {
		look["/BC"] = colour
		if parts, ok := s.plain(s.Target(s.entries["/C"])).([]any); ok && len(parts) > 0 {
			look["/BG"] = parts
		}
	}
	if turn, ok := s.Target(of["/R"]).(float64); ok {
		look["/R"] = int(turn)
	}

	border := pdffile.Dict{}
	for key, v := range s.Entry(s.entries["/BS"]) {
		border[key] = s.Target(v)
	}
	if border["/W"] == 0.0 {
		delete(look, "/BC")
	}

	if len(border) > 0 {
		s.field["/BS"] = border
	}
	if look["/BC"] != nil || look["/BG"] != nil {
		s.field["/MK"] = look
	}
}

// fontStyle reads the size and the colour of text from a default appearance. A size of 0 is what fits.
func fontStyle(appearance string) (size float64, colour []any) {
	colour = []any{0.0}
	raw, err := hex.DecodeString(strings.TrimPrefix(appearance, "b:"))
	if err != nil {
		return 0, colour
	}

	pdffile.ReadContent(raw, func(op pdffile.Operation) {
		numbers := numbersOf(op.Operands)
		switch {
		case op.Operator == "Tf" && len(numbers) == 1:
			size = max(0, numbers[0])
		case len(numbers) == colourParts[op.Operator]:
			colour = nil
			for _, n := range numbers {
				colour = append(colour, n)
			}
		}
	})

	return size, colour
}

// colourParts are the operators of colours with the numbers that they take: a gray, red, green and blue, or four inks.
var colourParts = map[string]int{"g": 1, "rg": 3, "k": 4}

// defaultAppearance writes the size and the colour of text.
func defaultAppearance(size float64, colour []any) string {
	text := "/Helv " + number5(size) + " Tf"
	for _, part := range floats(colour) {
		text += " " + number5(part)
	}
	for operator, parts := range colourParts {
		if parts == len(colour) {
			text += " " + operator
		}
	}
	return "b:" + hex.EncodeToString([]byte(text))
}

// drawTexts has pdftk draw the stand-ins of what lacks an appearance, and gives their appearances to it.
func drawTexts(ctx context.Context, d *document, s *structure, stands []standIn) (incomplete []string, err error) {
	if len(stands) == 0 {
		return nil, nil
	}

	entries := make([]entry, len(stands))
	for i := range stands {
		entries[i] = stands[i].text
		entries[i].name = strconv.Itoa(i)
	}
	missing, err := makeFont(ctx, d.work, entries)
	if err != nil {
		return nil, err
	}

	for i := range stands {
		if _, lacks := missing[strconv.Itoa(i)]; lacks {
			incomplete = append(incomplete, stands[i].text.name)
		}
	}

	sheet := &document{work: d.work, name: "stand-ins.pdf"}
	if err := os.WriteFile(d.work.Path(sheet.name), standInSheet(stands), 0o600); err != nil {
		return nil, fmt.Errorf("stand-ins: %w", err)
	}
	if sheet.name, err = fillFields(ctx, sheet, entries, false); err != nil {
		return nil, err
	}

	f, err := sheet.soundFile(ctx)
	if err != nil {
		return nil, err
	}
	return incomplete, d.change(withDrawn(s, stands, f))
}

// standInSheet writes a form of one page that has the stand-ins as its fields, named by their numbers.
func standInSheet(stands []standIn) []byte {
	u, root := pdffile.NewDocument()
	tree := u.Reserve()
	page := u.Reserve()

	fields := []any{}
	for i, stand := range stands {
		field := u.Reserve()
		fields = append(fields, field)
		stand.field["/Type"] = "/Annot"
		stand.field["/Subtype"] = "/Widget"
		stand.field["/F"] = pdffile.FlagPrint
		stand.field["/T"] = "u:" + strconv.Itoa(i)
		stand.field["/P"] = page
		u.Set(field, stand.field)
	}

	const side = 14400
	u.Set(page, pdffile.Dict{
		"/Type": "/Page", "/Parent": tree, "/MediaBox": []any{0, 0, side, side},
		"/Resources": pdffile.Dict{}, "/Annots": fields,
	})
	u.Set(tree, pdffile.Dict{"/Type": "/Pages", "/Kids": []any{page}, "/Count": 1})
	font := pdffile.Dict{
		"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica", "/Encoding": "/WinAnsiEncoding",
	}
	form := pdffile.Dict{
		"/Fields": fields, "/DA": defaultAppearance(0, []any{0.0}),
		"/DR": pdffile.Dict{"/Font": pdffile.Dict{"/Helv": font}},
	}

	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/Pages": tree, "/AcroForm": form})
	return u.Document(root)
}

// withDrawn returns the update that gives annotations the appearances of their stand-ins in a file.
func withDrawn(s *structure, stands []standIn, sheet *pdffile.File) *pdffile.Update {
	looks := map[string]any{}
	fields, _ := sheet.Target(sheet.Entry(sheet.Catalog()["/AcroForm"])["/Fields"]).([]any)
	for _, field := range fields {
		entries := sheet.Entry(field)
		looks[pdffile.Text(sheet.Target(entries["/T"]))] = sheet.Entry(entries["/AP"])["/N"]
	}

	changes := s.NewUpdate()
	graft := changes.NewGraft(sheet)
	for i, stand := range stands {
		look := graft.Copy(looks[strconv.Itoa(i)])
		if look == nil {
			continue
		}

		entries := pdffile.Without(stand.entries)
		if stand.state != "" {
			entries["/AS"] = stand.state
			look = pdffile.Dict{stand.state: look}
		}
		entries["/AP"] = pdffile.Dict{"/N": look}
		stand.set(changes, entries)
	}

	catalog := pdffile.Without(s.Catalog())
	if form := s.Entry(catalog["/AcroForm"]); form["/NeedAppearances"] != nil {
		catalog["/AcroForm"] = pdffile.Without(form, "/NeedAppearances")
		changes.Set(s.Root(), catalog)
	}
	return changes
}

// set gives the annotation its entries. One that is not an object of its own is in the list of its page.
func (a *annotation) set(changes *pdffile.Update, entries pdffile.Dict) {
	page, _ := changes.Value(a.page).(pdffile.Dict)
	list, _ := a.Target(page["/Annots"]).([]any)
	if ref := pdffile.Reference(list[a.index]); ref != "" {
		changes.Set(ref, entries)
		return
	}
	page = pdffile.Without(page)
	list = slices.Clone(list)
	list[a.index] = entries
	page["/Annots"] = list
	changes.Set(a.page, page)
}

// flattenComments writes a document in which comments and fields are part of their pages: those shown on screen, or
// all. It returns the names of fields that lose letters. qpdf drops links in doing so: callers that need them set them
// aside before (see draw.js), or read them in the document.
func flattenComments(ctx context.Context, d *document, to, which string) (poorer []string, err error) {
	drawn, poorer, err := withAppearances(ctx, d)
	if err != nil {
		return nil, err
	}
	return poorer, drawn.writeFlat(ctx, to, which)
}
