package office

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// namesFonts lists the formats whose text names its fonts. Others have those of LibreOffice.
var namesFonts = []Format{FormatOOXML, FormatODF, FormatCompound, FormatRTF}

// unavailable returns the lists of font names, with ; between the names, of which none is available. As for the
// browser, a substitute is: a font that has the widths of the other one, or that the configuration puts in its place.
func (r *instance) unavailable(ctx context.Context, w *engine.Work, lists []string) (missing []string, err error) {
	for _, list := range lists {
		found := false
		for name := range strings.SplitSeq(list, ";") {
			has, err := r.isAvailable(ctx, w, name)
			if err != nil {
				return nil, err
			}
			found = found || has
		}

		if !found {
			missing = append(missing, strings.ReplaceAll(list, ";", " or "))
		}
	}
	return missing, nil
}

// availableFonts returns the names that are known to be available.
func (r *instance) availableFonts() (names []string) {
	for name, has := range r.available {
		if has {
			names = append(names, name)
		}
	}
	return names
}

// maxKnownFonts bounds the names that a LibreOffice process remembers.
const maxKnownFonts = 1000

// isAvailable reports whether there is a font of a name, or a substitute.
func (r *instance) isAvailable(ctx context.Context, w *engine.Work, name string) (bool, error) {
	if has, known := r.available[name]; known {
		return has, nil
	}

	ask := func(program string, args ...string) (string, error) {
		out, err := w.Exec(ctx, engine.Program{
			Name: program,
			Args: append(args, escapePattern.Replace(name)),
			Env:  []string{"FONTCONFIG_FILE=" + w.Fonts()},
		})
		return string(out), err
	}
	found, err := ask("fc-match", "--format=%{family}")
	if err != nil {
		return false, err
	}
	pattern, err := ask("fc-pattern", "--config")
	if err != nil {
		return false, err
	}

	// Names that are not bound strongly are those of any font.
	has := slices.ContainsFunc(strongName.FindAllStringSubmatch(pattern, -1), func(match []string) bool {
		return slices.ContainsFunc(strings.Split(found, ","), func(family string) bool {
			return strings.EqualFold(family, match[1])
		})
	})

	if r.available == nil || len(r.available) >= maxKnownFonts {
		r.available = map[string]bool{}
	}
	r.available[name] = has
	return has, nil
}

var (
	// escapePattern writes a name as the patterns of fontconfig have it.
	escapePattern = strings.NewReplacer(`\`, `\\`, "-", `\-`, ":", `\:`, ",", `\,`, "\x00", "")
	// strongName matches a name of a pattern that fontconfig lists, such as "Arial"(s).
	strongName = regexp.MustCompile(`"([^"]*)"\(s\)`)
)
