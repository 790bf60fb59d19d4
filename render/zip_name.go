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
	// maxZipPart is the maximum length of a folder's or file's name in bytes. File systems allow 255; the rest is
	// for a number.
	maxZipPart = 200
	// zipNameless replaces a name without any usable character.
	zipNameless = "file"
)

// zipNames returns the names of entries in an archive. They are relative, valid on any file system, and unique
// without regard to case. The second "a.txt" is "a (2).txt".
func zipNames(entries []ZipEntry) []string {
	names := make([]string, len(entries))
	files := map[string]bool{}
	folders := map[string]bool{}

	free := func(name string) bool {
		key := strings.ToLower(name)
		return !files[key] && !folders[key]
	}

	for i, entry := range entries {
		name := zipName(entry.Name)
		for _, folder := range above(name) {
			if files[folder] {
				// A file already has the name of this entry's folder.
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

// drive matches the drive letter of a path on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// zipName cleans a name. It retains folders only of relative paths that do not climb; of other paths, it retains
// the last part.
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

// portable replaces characters that Windows does not allow in a name, and removes control characters and characters
// that change the direction of text.
func portable(r rune) rune {
	switch {
	case strings.ContainsRune(`<>:"|?*`, r):
		return '_'
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == utf8.RuneError:
		return -1
	}
	return r
}

// devices matches the reserved names of Windows, with any extension.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// trimPart makes one part of a path valid on every file system. The result is empty if no character remains, such
// as for dots.
func trimPart(part string) string {
	part = strings.TrimRight(strings.TrimLeft(part, " "), " .")
	if devices.MatchString(part) {
		part = "_" + part
	}

	stem, extension := cutExtension(part)
	if len(extension) > maxZipPart/2 {
		stem = part
		extension = ""
	}

	for len(stem)+len(extension) > maxZipPart {
		_, last := utf8.DecodeLastRuneInString(stem)
		stem = strings.TrimRight(stem[:len(stem)-last], " .")
	}
	return stem + extension
}

// cutExtension splits a name before its extension. A name whose only dot is the first character has none.
func cutExtension(name string) (stem, extension string) {
	extension = path.Ext(name)
	stem = strings.TrimSuffix(name, extension)
	if path.Base(name) == extension {
		return name, ""
	}
	return stem, extension
}
