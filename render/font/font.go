// Package font lists the fonts that documents find on this machine, and makes the browser
// and the engines find the operator's own.
package font

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/spool"
)

// Family is a name under which documents find a font.
type Family struct {
	Name string
	// Styles lists the available styles, upright and light ones first.
	Styles []string
	// AliasOf is the family that replaces a missing one; empty for an installed one.
	AliasOf string
}

// standIns lists the families with substitutes. fontconfig itself substitutes known ones with fonts of matching
// metrics; the others are added to its configuration here.
var standIns = []struct {
	name, by string
	known    bool
}{
	{"Arial", "Liberation Sans", true},
	{"Arial Narrow", "Liberation Sans Narrow", false},
	{"Calibri", "Carlito", true},
	{"Cambria", "Caladea", true},
	{"Courier", "Liberation Mono", true},
	{"Courier New", "Liberation Mono", true},
	{"Georgia", "Gelasio", false},
	{"Helvetica", "Liberation Sans", true},
	{"Source Sans Pro", "Source Sans 3", false},
	{"Source Serif Pro", "Source Serif 4", false},
	{"Times", "Liberation Serif", true},
	{"Times New Roman", "Liberation Serif", true},
	{"Verdana", "DejaVu Sans", false},
}

// Fonts are the fonts of this machine and of the operator's folder, as of Open.
type Fonts struct {
	// File is fontconfig's configuration, for programs that see the system's
	// files, and Config its text, for those that do not.
	File, Config string
	// Folder is the operator's; empty means none.
	Folder string

	families []Family
	names    map[string]bool // in lower case; nil means unknown
	drawn    func() []uint64 // see Draws
	scratch  *spool.Folder
}

// Open reads which fonts are available. dir is the parent of a temporary folder, and folder
// holds the operator's own fonts, or is empty.
func Open(ctx context.Context, dir, folder string) (_ *Fonts, err error) {
	f := &Fonts{Folder: folder}
	f.drawn = sync.OnceValue(f.characters)
	if f.scratch, err = spool.OpenFolder(dir, "relaypdf-fonts-"); err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()

	f.File = filepath.Join(f.scratch.Path, "fonts.conf")
	// The available families decide which fonts must stand in for others.
	for range 2 {
		f.Config = f.configuration()
		if err := os.WriteFile(f.File, []byte(f.Config), 0o644); err != nil { //nolint:gosec // other users' programs read it
			return nil, fmt.Errorf("font: %w", err)
		}
		if err := os.Chmod(f.File, 0o644); err != nil { //nolint:gosec // whatever the umask
			return nil, fmt.Errorf("font: %w", err)
		}
		if f.families != nil {
			break
		}
		if f.families, err = f.list(ctx); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Named reports whether documents find a font under that name, or a substitute for it.
func (f *Fonts) Named(family string) bool { return f.names == nil || f.names[strings.ToLower(family)] }

// Draws reports whether one of the fonts has the character. The first call waits for a
// command that reads them all.
func (f *Fonts) Draws(r rune) bool {
	set := f.drawn()
	if len(set) == 0 {
		return true
	}
	return r >= 0 && int(r/word) < len(set) && set[r/word]&(1<<(r%word)) != 0
}

// word is the number of characters per element of a character set.
const word = 64

// characters returns the characters of all fonts, one bit for each; nil means unknown.
func (f *Fonts) characters() []uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	text, err := f.ask(ctx, `%{charset}\n`)
	if err != nil {
		return nil // documents are made without being warned of
	}

	set := make([]uint64, (unicode.MaxRune+word)/word)
	for span := range strings.FieldsSeq(string(text)) {
		first, last, long := strings.Cut(span, "-")
		if !long {
			last = first
		}

		from, err1 := strconv.ParseInt(first, 16, 32)
		to, err2 := strconv.ParseInt(last, 16, 32)
		if err1 != nil || err2 != nil || to > unicode.MaxRune {
			continue
		}
		for r := from; r <= to; r++ {
			set[r/word] |= 1 << (r % word)
		}
	}
	return set
}

// ask has fontconfig list its information about every face.
func (f *Fonts) ask(ctx context.Context, format string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "fc-list", "--format", format)
	cmd.Env = []string{
		"FONTCONFIG_FILE=" + f.File,
		"HOME=" + f.scratch.Path,
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8",
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr

	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("font: fc-list: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return text, nil
}

// Close removes the files of Open.
func (f *Fonts) Close() error { return f.scratch.Close() }

// Families are all names that documents may ask for, in the order of the
// alphabet.
func (f *Fonts) Families() []Family { return f.families }

// configuration is the text of File.
func (f *Fonts) configuration() string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig>\n" +
		"<include ignore_missing=\"yes\">/etc/fonts/fonts.conf</include>\n")
	if f.Folder != "" {
		fmt.Fprintf(&b, "<dir>%s</dir>\n<dir>%s</dir>\n", html.EscapeString(f.Folder), engine.OwnFonts)
	}

	for _, s := range standIns {
		used := slices.ContainsFunc(f.families, func(own Family) bool { return own.Name == s.name && own.AliasOf == s.by })
		if s.known || !used {
			continue
		}
		// Browsers use only the first match.
		fmt.Fprintf(&b, "<match target=\"pattern\"><test qual=\"any\" name=\"family\"><string>%s</string></test>"+
			"<edit name=\"family\" mode=\"assign\" binding=\"same\"><string>%s</string></edit></match>\n", s.name, s.by)
	}

	b.WriteString("</fontconfig>\n")
	return b.String()
}

// listTime bounds the reading of all fonts. fontconfig caches the system's.
const listTime = time.Minute

// face is a line of fontconfig's list.
type face struct {
	family, style string
	slant, weight int
}

// list asks fontconfig for all families, and adds those with substitutes.
func (f *Fonts) list(ctx context.Context) ([]Family, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	text, err := f.ask(ctx, `%{family[0]}\t%{style[0]}\t%{slant}\t%{weight}\t%{family}\n`)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		// Documents find fonts without it; only the list is empty.
		return []Family{}, nil
	case err != nil:
		return nil, err
	}

	faces, names := readList(string(text))
	families := familiesOf(faces)
	for _, s := range standIns {
		i := slices.IndexFunc(families, func(f Family) bool { return f.Name == s.by })
		if i >= 0 && !names[s.name] {
			families = append(families, Family{Name: s.name, Styles: families[i].Styles, AliasOf: s.by})
		}
	}

	f.names = map[string]bool{}
	for name := range names {
		f.names[strings.ToLower(name)] = true
	}
	for _, family := range families {
		f.names[strings.ToLower(family.Name)] = true
	}

	slices.SortFunc(families, func(a, b Family) int {
		return cmp.Or(
			strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)),
			strings.Compare(a.Name, b.Name),
		)
	})
	return families, nil
}

// readList reads the faces, and every name that a family has in any language.
func readList(text string) (faces []face, names map[string]bool) {
	names = map[string]bool{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		const columns = 5
		if len(fields) != columns || fields[0] == "" {
			continue
		}

		for name := range strings.SplitSeq(fields[4], ",") {
			names[name] = true
		}
		faces = append(faces, face{
			family: fields[0],
			style:  cmp.Or(fields[1], "Regular"),
			slant:  number(fields[2]),
			weight: number(fields[3]),
		})
	}
	return faces, names
}

// number reads the number at the beginning of fontconfig's output, which is "[100 900]" for
// a variable font.
func number(text string) int {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "["), " ")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0 // it only orders the styles
	}
	return int(n)
}

func familiesOf(faces []face) []Family {
	slices.SortStableFunc(faces, func(a, b face) int {
		return cmp.Or(
			strings.Compare(a.family, b.family),
			cmp.Compare(a.slant, b.slant),
			cmp.Compare(a.weight, b.weight),
			strings.Compare(a.style, b.style),
		)
	})

	families := []Family{}
	for _, face := range faces {
		last := len(families) - 1
		if last < 0 || families[last].Name != face.family {
			families = append(families, Family{Name: face.family, Styles: []string{face.style}})
		} else if !slices.Contains(families[last].Styles, face.style) {
			families[last].Styles = append(families[last].Styles, face.style)
		}
	}
	return families
}
