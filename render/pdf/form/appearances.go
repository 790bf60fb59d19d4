package form

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

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// A document can leave it to its readers to draw its fields and comments. Programs that make them part of their pages
// would lose them. So they get their appearances first: comments from MuPDF; whatever shows text, which may be of any
// script, from pdftk, like the values that are filled in.

//go:embed appearances.js
var appearancesScript string

// WithAppearances returns a document that opens without a password, with an appearance of each visible field and
// comment, and the names of those with letters that no installed font has. If nothing lacks one, it is the document
// itself.
func WithAppearances(ctx context.Context, d *job.Document) (drawn *job.Document, incomplete []string, err error) {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return nil, nil, err
	}
	comments, fields := missingAppearances(s)
	if !comments && len(fields) == 0 {
		return d, nil, nil
	}

	copied := *d
	drawn = &copied
	drawn.Name = strconv.Itoa(d.Number) + "drawn-" + d.Name

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
func drawComments(ctx context.Context, d, other *job.Document) (*job.Structure, error) {
	const script = "appearances.js"
	_, err := job.RunScript[bool](ctx, other, script, []byte(job.DrawScript+appearancesScript), job.OpenInput{
		Input: other.Name, Output: d.Name,
	})
	if err != nil {
		return nil, err
	}
	return d.ReadStructure(ctx)
}

// copyFrom makes the document's file a copy of another's.
func copyFrom(d, other *job.Document) error {
	content, err := other.Content()
	if err != nil {
		return err
	}
	if err := os.WriteFile(d.Work.Path(d.Name), content, 0o600); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}

// missingAppearances reports whether visible comments have no appearance, and returns the stand-ins of what shows text.
func missingAppearances(s *job.Structure) (comments bool, texts []standIn) {
	form := s.Entry(s.Catalog()["/AcroForm"])

	for _, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for i, item := range list {
			a := &Annotation{Structure: s, form: form, Page: page.Object, Index: i, Entries: s.Entry(item)}
			if flags, _ := s.Target(a.Entries["/F"]).(float64); int(flags)&pdffile.FlagHidden != 0 {
				continue
			}

			if stand, ok := a.standIn(); ok {
				texts = append(texts, stand)
			}

			kind := s.Target(a.Entries["/Subtype"])
			isComment := a.Entries != nil && kind != "/Widget" && kind != "/Link" && kind != "/Popup"
			comments = comments || isComment && !a.HasAppearance()
		}
	}

	return comments, texts
}

// Annotation is a field's widget, or a comment.
type Annotation struct {
	*job.Structure

	form    pdffile.Dict // of the document
	Page    string
	Index   int // on the page
	Entries pdffile.Dict
}

// HasAppearance reports whether the annotation has an appearance.
func (a *Annotation) HasAppearance() bool { return a.Target(a.Entry(a.Entries["/AP"])["/N"]) != nil }

// entry returns an entry of the annotation, or of the closest field above it that has it, as it is there.
func (a *Annotation) entry(key string) any {
	return inherit(a.Structure, lineageOf(a.Structure, a.Entries), key)
}

// found returns what entry does, or what it refers to.
func (a *Annotation) found(key string) any { return a.Target(a.entry(key)) }

// text returns the text of an entry, which may be one of the closest field above that has it.
func (a *Annotation) text(key string) string { return fieldText(a.Structure, a.entry(key)) }

// fieldName returns the full name of a field.
func (a *Annotation) fieldName() string {
	name := ""
	for _, node := range lineageOf(a.Structure, a.Entries) {
		if part := pdffile.Text(a.Target(node["/T"])); part != "" {
			name = strings.TrimSuffix(part+"."+name, ".")
		}
	}
	return name
}

// standIn is a text field or a list that pdftk draws in place of an annotation, in a document of its own.
type standIn struct {
	*Annotation

	field pdffile.Dict
	text  entry
	// state is that of a checkbox or radio button, with its slash.
	state string
}

// standIn returns what pdftk is to draw for an annotation that shows text; false if there is nothing to draw.
func (a *Annotation) standIn() (stand standIn, ok bool) {
	kind := a.Target(a.Entries["/Subtype"])
	redraw := a.Target(a.form["/NeedAppearances"]) == true
	if a.Entries == nil || kind != "/Widget" && kind != "/FreeText" || a.HasAppearance() && !redraw {
		return stand, false
	}

	rect, sized := a.Box(a.Entries["/Rect"])
	if !sized {
		return stand, false
	}

	flags, _ := a.found("/Ff").(float64)
	stand = standIn{Annotation: a, text: entry{name: a.fieldName()}}
	stand.field = pdffile.Dict{
		"/FT": "/Tx", "/Ff": int(flags) & (flagMultiline | flagPassword | flagComb),
		"/Rect": []any{0, 0, rect[2] - rect[0], rect[3] - rect[1]},
	}

	switch field := a.found("/FT"); {
	case kind == "/FreeText":
		ok = !a.HasAppearance() && stand.setComment()
	case field == "/Tx":
		stand.setText(a.text("/V"))
		ok = true
	case field == "/Ch":
		stand.setChoice(int(flags))
		ok = true
	case field == "/Btn" && !a.HasAppearance():
		stand.setButton(int(flags))
		ok = true
	}
	if !ok {
		return stand, false
	}

	stand.setStyle(kind == "/FreeText")
	framed := stand.field["/MK"] != nil
	return stand, a.HasAppearance() || framed || stand.text.appearanceText != ""
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
	text := pdffile.Text(s.Target(s.Entries["/Contents"]))
	if text == "" {
		text = markupTags.ReplaceAllString(s.Annotation.text("/RC"), "")
	}
	s.field["/Ff"] = flagMultiline
	s.setText(text)
	return text != ""
}

// setChoice sets what a choice or a list shows: labels, not values.
func (s *standIn) setChoice(flags int) {
	var values, labels []string
	for _, option := range fieldOptions(s.Structure, s.entry("/Opt")) {
		values = append(values, option[0])
		labels = append(labels, option[1])
	}

	shown := []string{}
	for _, text := range fieldTexts(s.Structure, s.entry("/V")) {
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
	caption := fieldText(s.Structure, s.Entry(s.Entries["/MK"])["/CA"])
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
		state, _ := s.Target(s.Entries["/AS"]).(string)
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
	of := s.Entry(s.Entries["/MK"])
	for key, v := range map[string]any{"/BG": of["/BG"], "/BC": of["/BC"]} {
		if parts, ok := s.Resolved(s.Target(v)).([]any); ok && len(parts) > 0 {
			look[key] = parts
		}
	}

	if comment {
		look["/BC"] = colour
		if parts, ok := s.Resolved(s.Target(s.Entries["/C"])).([]any); ok && len(parts) > 0 {
			look["/BG"] = parts
		}
	}
	if turn, ok := s.Target(of["/R"]).(float64); ok {
		look["/R"] = int(turn)
	}

	border := pdffile.Dict{}
	for key, v := range s.Entry(s.Entries["/BS"]) {
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
		numbers := job.NumbersOf(op.Operands)
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
	text := "/Helv " + job.FormatNumber(size) + " Tf"
	for _, part := range job.Floats(colour) {
		text += " " + job.FormatNumber(part)
	}
	for operator, parts := range colourParts {
		if parts == len(colour) {
			text += " " + operator
		}
	}
	return "b:" + hex.EncodeToString([]byte(text))
}

// drawTexts has pdftk draw the stand-ins of what lacks an appearance, and gives their appearances to it.
func drawTexts(ctx context.Context, d *job.Document, s *job.Structure, stands []standIn) (incomplete []string, err error) {
	if len(stands) == 0 {
		return nil, nil
	}

	entries := make([]entry, len(stands))
	for i := range stands {
		entries[i] = stands[i].text
		entries[i].name = strconv.Itoa(i)
	}
	missing, err := makeFont(ctx, d.Work, entries)
	if err != nil {
		return nil, err
	}

	for i := range stands {
		if _, lacks := missing[strconv.Itoa(i)]; lacks {
			incomplete = append(incomplete, stands[i].text.name)
		}
	}

	sheet := &job.Document{Work: d.Work, Name: "stand-ins.pdf"}
	if err := os.WriteFile(d.Work.Path(sheet.Name), standInSheet(stands), 0o600); err != nil {
		return nil, fmt.Errorf("stand-ins: %w", err)
	}
	if sheet.Name, err = fillFields(ctx, sheet, entries, false); err != nil {
		return nil, err
	}

	f, err := sheet.SoundFile(ctx)
	if err != nil {
		return nil, err
	}
	return incomplete, d.Change(withDrawn(s, stands, f))
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
func withDrawn(s *job.Structure, stands []standIn, sheet *pdffile.File) *pdffile.Update {
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

		entries := pdffile.Without(stand.Entries)
		if stand.state != "" {
			entries["/AS"] = stand.state
			look = pdffile.Dict{stand.state: look}
		}
		entries["/AP"] = pdffile.Dict{"/N": look}
		stand.Set(changes, entries)
	}

	catalog := pdffile.Without(s.Catalog())
	if form := s.Entry(catalog["/AcroForm"]); form["/NeedAppearances"] != nil {
		catalog["/AcroForm"] = pdffile.Without(form, "/NeedAppearances")
		changes.Set(s.Root(), catalog)
	}
	return changes
}

// Set gives the annotation its entries. One that is not an object of its own is in the list of its page.
func (a *Annotation) Set(changes *pdffile.Update, entries pdffile.Dict) {
	page, _ := changes.Value(a.Page).(pdffile.Dict)
	list, _ := a.Target(page["/Annots"]).([]any)
	if ref := pdffile.Reference(list[a.Index]); ref != "" {
		changes.Set(ref, entries)
		return
	}
	page = pdffile.Without(page)
	list = slices.Clone(list)
	list[a.Index] = entries
	page["/Annots"] = list
	changes.Set(a.Page, page)
}

// FlattenComments writes a document in which comments and fields are part of their pages: those shown on screen, or
// all. It returns the names of fields that lose letters. qpdf drops links in doing so: callers that need them set them
// aside before (see draw.js), or read them in the document.
func FlattenComments(ctx context.Context, d *job.Document, to, which string) (poorer []string, err error) {
	drawn, poorer, err := WithAppearances(ctx, d)
	if err != nil {
		return nil, err
	}
	return poorer, drawn.WriteFlat(ctx, to, which)
}
