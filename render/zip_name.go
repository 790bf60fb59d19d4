package render

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxZipPart bounds a folder's or file's name in bytes. File systems take
	// 255; the rest is for a number.
	maxZipPart = 200
	// zipNameless is what a file is called whose name has nothing to keep.
	zipNameless = "file"
)

// zipNames returns the names of entries in an archive: relative, fit for any
// file system, and no two of them the same where case does not count. The
// second "a.txt" is "a (2).txt".
func zipNames(entries []ZipEntry) []string {
	names := make([]string, len(entries))
	files, folders := map[string]bool{}, map[string]bool{}
	free := func(name string) bool {
		key := strings.ToLower(name)
		return !files[key] && !folders[key]
	}
	for i, entry := range entries {
		name := zipName(entry.Name)
		for _, folder := range above(name) {
			if files[folder] {
				// A file has the name that its folder would have.
				name = path.Base(name)
				break
			}
		}
		stem, extension := cutExtension(name)
		for n := 2; !free(name); n++ {
			name = fmt.Sprintf("%s (%d)%s", stem, n, extension)
		}
		files[strings.ToLower(name)] = true
		for _, folder := range above(name) {
			folders[folder] = true
		}
		names[i] = name
	}
	return names
}

// above returns the folders that a name is in, in lower case.
func above(name string) []string {
	var folders []string
	for dir := path.Dir(strings.ToLower(name)); dir != "."; dir = path.Dir(dir) {
		folders = append(folders, dir)
	}
	return folders
}

// drive is how a path on Windows may begin.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// zipName cleans a name. Folders are kept where they lead downwards only; of a
// path that is absolute or climbs, the last part is left.
func zipName(requested string) string {
	name := strings.ReplaceAll(requested, `\`, "/")
	plain := !strings.HasPrefix(name, "/") && !drive.MatchString(name)
	name = drive.ReplaceAllString(name, "")
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		part = strings.Map(portable, part)
		if strings.TrimSpace(part) == ".." {
			plain = false
		}
		if part = trimPart(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || strings.HasSuffix(name, "/") {
		parts = append(parts, zipNameless)
	}
	if !plain {
		parts = parts[len(parts)-1:]
	}
	return strings.Join(parts, "/")
}

// portable replaces what Windows does not allow in a name and removes what
// hides in one: control characters and those that turn the direction of text.
func portable(r rune) rune {
	switch {
	case strings.ContainsRune(`<>:"|?*`, r):
		return '_'
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
		return -1
	}
	return r
}

// devices are names that Windows keeps for itself, with any extension.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// trimPart makes one part of a path a name that every file system takes. The
// result is empty where nothing of it is left, as of dots.
func trimPart(part string) string {
	part = strings.TrimRight(strings.TrimLeft(part, " "), " .")
	if devices.MatchString(part) {
		part = "_" + part
	}
	stem, extension := cutExtension(part)
	if len(extension) > maxZipPart/2 {
		stem, extension = part, ""
	}
	for len(stem)+len(extension) > maxZipPart {
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = strings.TrimRight(stem[:len(stem)-last], " .")
	}
	return stem + extension
}

// cutExtension splits a name before its extension. A name that only begins
// with a dot has none.
func cutExtension(name string) (stem, extension string) {
	extension = path.Ext(name)
	stem = strings.TrimSuffix(name, extension)
	if path.Base(name) == extension {
		return name, ""
	}
	return stem, extension
}
