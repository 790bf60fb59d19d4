package pdfcheck

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

func (c *checker) flags(o object) int {
	n, _ := c.number(o.Dict, "/F")
	return int(n)
}

func (c *checker) subtype(o object) string { return c.name(o.Dict, "/Subtype") }

// hidden reports whether PDF/UA has no rules for an annotation, which nobody sees.
func (c *checker) hidden(o object) bool {
	if c.flags(o)&pdffile.FlagHidden != 0 {
		return true
	}
	page := c.pages[o.page-1].Dict
	box := c.rectangle(page["/CropBox"])
	if box == nil {
		box = c.rectangle(page["/MediaBox"])
	}
	r := c.rectangle(o.Dict["/Rect"])
	return r == nil || box == nil || r[0] >= box[2] || r[2] <= box[0] || r[1] >= box[3] || r[3] <= box[1]
}

// rectangle returns left, bottom, right and top; nil if a value is none.
func (c *checker) rectangle(v any) []float64 {
	list := c.list(v)
	if len(list) != 4 {
		return nil
	}

	r := make([]float64, len(list))
	for i, item := range list {
		n, ok := c.Target(item).(float64)
		if !ok {
			return nil
		}
		r[i] = n
	}

	return []float64{min(r[0], r[2]), min(r[1], r[3]), max(r[0], r[2]), max(r[1], r[3])}
}

// pageRules are those about pages and annotations.
func pageRules() []*rule {
	const oldKinds = " Text Link FreeText Line Square Circle Highlight Underline Squiggly StrikeOut Stamp Ink " +
		"Popup Widget PrinterMark TrapNet "
	const kinds = oldKinds + "Polygon PolyLine Caret Watermark Redact FileAttachment "
	kindOf := func(kinds string) func(*checker, object) bool {
		return func(c *checker, o object) bool { return !strings.Contains(kinds, " "+c.subtype(o)+" ") }
	}
	seen := func(subtype string, f func(c *checker, o object) bool) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			return (subtype == "" || c.subtype(o) == subtype) && !c.hidden(o) && f(c, o)
		}
	}
	within := func(kind string) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.element == nil || o.element.kind != kind }
	}

	appearance := func(c *checker, o object) pdffile.Dict { return c.Entry(o.Dict["/AP"]) }
	button := func(c *checker, o object) bool {
		ft := c.name(o.Dict, "/FT")
		if parent := c.Entry(o.Dict["/Parent"]); ft == "" {
			ft = c.name(parent, "/FT")
		}
		return c.subtype(o) == "Widget" && ft == "Btn"
	}

	described := func(c *checker, o object) bool {
		return c.filled(o.Dict, "/Contents") || o.element != nil && c.filled(o.element.Dict, "/Alt")
	}
	const fixNote = "Set the flag Print, and clear Hidden, Invisible, NoView and ToggleNoView."
	const fixLook = "Give the annotation one appearance (AP with N only), for example with pdf.pdfa."

	return []*rule{
		{a1: "6.6.2-3", a2: "6.5.2-2", of: ofPage,
			message: "Events of a page start actions.", fix: fixRemove,
			violates: func(c *checker, o object) bool { return o.Dict["/AA"] != nil && c.src.File != nil }},
		{a2: "6.10-2", of: ofPage,
			message: "A page is a step of a presentation (PresSteps).", fix: fixRemove,
			violates: func(_ *checker, o object) bool { return o.Dict["/PresSteps"] != nil }},
		{a2: "6.1.13-11", of: ofPage,
			message: "A page is smaller than 3, or larger than 14,400 points.", fix: "Resize the page with pdf.resize.",
			violates: func(c *checker, o object) bool {
				const minSize, maxSize = 3, 14400
				boxes := []string{"/MediaBox", "/CropBox", "/BleedBox", "/TrimBox", "/ArtBox"}
				return slices.ContainsFunc(boxes, func(key string) bool {
					r := c.rectangle(o.Dict[key])
					return len(r) == 4 && (min(r[2]-r[0], r[3]-r[1]) < minSize || max(r[2]-r[0], r[3]-r[1]) > maxSize)
				})
			}},
		{ua: "7.18.3-1", of: ofPage,
			message: "The tab order of a page with annotations is not that of the structure.",
			fix:     "Set Tabs of the page to S.",
			violates: func(c *checker, o object) bool {
				return len(c.list(o.Dict["/Annots"])) > 0 && c.name(o.Dict, "/Tabs") != "S"
			}},
		{a1: "6.4-3", of: ofGroup,
			message: "A page or a form has transparency.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.name(o.Dict, "/S") == "Transparency" }},

		{a1: "6.5.2-1", of: ofAnnotation,
			message: "An annotation is of a kind that PDF/A-1 does not allow.", fix: fixRemove,
			violates: kindOf(oldKinds)},
		{a2: "6.3.1-1", of: ofAnnotation,
			message: "An annotation is of a kind that PDF/A does not allow.", fix: fixRemove, violates: kindOf(kinds)},
		{a1: "6.5.3-1", of: ofAnnotation,
			message: "An annotation is transparent.", fix: fixConvert,
			violates: func(c *checker, o object) bool {
				n, ok := c.number(o.Dict, "/CA")
				return ok && n != 1
			}},
		{a1: "6.5.3-2", of: ofAnnotation,
			message: "An annotation is hidden or not printed.", fix: fixNote,
			violates: func(c *checker, o object) bool {
				return c.flags(o)&(pdffile.FlagInvisible|pdffile.FlagHidden|pdffile.FlagNoView|pdffile.FlagPrint) != pdffile.FlagPrint
			}},
		{a2: "6.3.2-1", of: ofAnnotation,
			message: "An annotation has no flags.", fix: fixNote,
			violates: func(c *checker, o object) bool { return c.subtype(o) != "Popup" && o.Dict["/F"] == nil }},
		{a2: "6.3.2-2", of: ofAnnotation,
			message: "An annotation is hidden or not printed.", fix: fixNote,
			violates: func(c *checker, o object) bool {
				return o.Dict["/F"] != nil && c.flags(o)&(pdffile.FlagInvisible|pdffile.FlagHidden|pdffile.FlagNoView|
					pdffile.FlagToggleNoView|pdffile.FlagPrint) != pdffile.FlagPrint
			}},
		{a2: "6.3.3-1", of: ofAnnotation,
			message: "An annotation has no appearance.", fix: fixLook,
			violates: func(c *checker, o object) bool {
				r := c.rectangle(o.Dict["/Rect"])
				empty := len(r) == 4 && r[0] == r[2] && r[1] == r[3]
				return !empty && !slices.Contains([]string{"Popup", "Link"}, c.subtype(o)) && o.Dict["/AP"] == nil
			}},
		{a1: "6.9-2", of: ofAnnotation,
			message: "A form field has no appearance.", fix: fixLook,
			violates: func(c *checker, o object) bool { return c.subtype(o) == "Widget" && o.Dict["/AP"] == nil }},
		{a1: "6.5.3-4", a2: "6.3.3-2", of: ofAnnotation,
			message: "An annotation has other appearances than the normal one.", fix: fixLook,
			violates: func(c *checker, o object) bool {
				look := appearance(c, o)
				return look != nil && (len(look) != 1 || look["/N"] == nil)
			}},
		{a1: "6.5.3-5", a2: "6.3.3-3", of: ofAnnotation,
			message: "The appearance of a button is not one per state.", fix: fixLook,
			violates: func(c *checker, o object) bool {
				look := appearance(c, o)
				_, _, isStream := c.stream(look["/N"])
				return look["/N"] != nil && len(look) == 1 && button(c, o) && isStream
			}},
		{a1: "6.5.3-6", a2: "6.3.3-4", of: ofAnnotation,
			message: "The appearance of an annotation is not a stream.", fix: fixLook,
			violates: func(c *checker, o object) bool {
				look := appearance(c, o)
				_, body, err := c.Object(pdffile.Reference(look["/N"]))
				return look["/N"] != nil && len(look) == 1 && !button(c, o) && err == nil && body == 0
			}},
		{a1: "6.6.1-3", of: ofAnnotation,
			message: "A form field starts an action.", fix: fixRemove,
			violates: func(c *checker, o object) bool { return c.subtype(o) == "Widget" && o.Dict["/A"] != nil }},
		{a1: "6.6.2-1", of: ofAnnotation,
			message: "Events of a form field start actions.", fix: fixRemove,
			violates: func(c *checker, o object) bool { return c.subtype(o) == "Widget" && o.Dict["/AA"] != nil }},
		{a2: "6.4.1-1", of: ofAnnotation,
			message: "A form field starts an action.", fix: fixRemove,
			violates: func(c *checker, o object) bool {
				return c.subtype(o) == "Widget" && (o.Dict["/A"] != nil || o.Dict["/AA"] != nil)
			}},
		{ua: "7.2-24", of: ofAnnotation,
			message: "The language of the description of an annotation is unknown.", fix: fixLanguage,
			violates: func(c *checker, o object) bool {
				return c.filled(o.Dict, "/Contents") && c.catalog["/Lang"] == nil && !c.filled(o.Dict, "/Lang") &&
					(o.element == nil || !o.element.lang)
			}},
		{ua: "7.18.1-1", of: ofAnnotation,
			message: "An annotation is not in an Annot element of the structure.", fix: fixTag,
			violates: seen("", func(c *checker, o object) bool {
				return !slices.Contains([]string{"Widget", "PrinterMark", "Link"}, c.subtype(o)) && within("Annot")(c, o)
			})},
		{ua: "7.18.1-2", of: ofAnnotation,
			message: "An annotation has no description.", fix: "Set its Contents, or Alt of its element.",
			violates: seen("", func(c *checker, o object) bool {
				return c.subtype(o) != "Widget" && !described(c, o)
			})},
		{ua: "7.18.1-3", of: ofAnnotation,
			message: "A form field has no description.",
			fix:     "Set TU of the field: a label, title or aria-label in the HTML.",
			violates: seen("Widget", func(c *checker, o object) bool {
				field := o.Dict
				for range maxDepth {
					if c.filled(field, "/TU") {
						return false
					}
					if field = c.Entry(field["/Parent"]); field == nil {
						break
					}
				}
				return o.element == nil || !c.filled(o.element.Dict, "/Alt")
			})},
		{ua: "7.18.2-1", of: ofAnnotation,
			message: "An annotation is a trap network.", fix: fixRemove,
			violates: seen("TrapNet", func(*checker, object) bool { return true })},
		{ua: "7.18.4-1", of: ofAnnotation,
			message: "A form field is not in a Form element of the structure.", fix: fixTag,
			violates: seen("Widget", within("Form"))},
		{ua: "7.18.5-1", of: ofAnnotation,
			message: "A link is not in a Link element of the structure.", fix: fixTag,
			violates: seen("Link", within("Link"))},
		{ua: "7.18.5-2", of: ofAnnotation,
			message: "A link has no description (Contents).",
			fix:     "Create the file with options.standards, or set Contents of the link.",
			violates: seen("Link", func(c *checker, o object) bool {
				return !c.filled(o.Dict, "/Contents")
			})},
		{ua: "7.18.8-1", of: ofAnnotation,
			message: "A printer's mark is in the structure.", fix: "Remove its element.",
			violates: seen("PrinterMark", func(_ *checker, o object) bool { return o.element != nil })},
	}
}

var blendModes = regexp.MustCompile(`^(|Normal|Compatible|Multiply|Screen|Overlay|Darken|Lighten|ColorDodge|ColorBurn|` +
	`HardLight|SoftLight|Difference|Exclusion|Hue|Saturation|Color|Luminosity)$`)

// contentRules are those about what is drawn.
func contentRules() []*rule {
	has := func(keys ...string) func(*checker, object) bool {
		return func(_ *checker, o object) bool {
			return slices.ContainsFunc(keys, func(key string) bool { return o.Dict[key] != nil })
		}
	}

	blend := func(c *checker, o object) string {
		if list := c.list(o.Dict["/BM"]); len(list) > 0 {
			name, _ := c.Target(list[0]).(string)
			return strings.TrimPrefix(name, "/")
		}
		return c.name(o.Dict, "/BM")
	}

	faint := func(key string) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			n, ok := c.number(o.Dict, key)
			return ok && math.Abs(n-1) > 1e-6
		}
	}
	bits := func(allowed ...float64) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			n, ok := c.number(o.Dict, "/BitsPerComponent")
			return ok && !slices.Contains(allowed, n)
		}
	}
	unlike := func(spaces ...string) func(*checker, object) bool {
		return func(c *checker, _ object) bool {
			return c.outputColors != "unknown" && !slices.Contains(spaces, c.outputColors)
		}
	}
	mask := func(c *checker, o object) bool { return c.get(o.Dict, "/ImageMask") == true }
	intent := func(key string) func(*checker, object) bool {
		return func(c *checker, o object) bool { return o.Dict[key] != nil && !knownIntent(c.get(o.Dict, key)) }
	}
	// ownSpace returns a rule about the colors of images to which the document gives no space.
	ownSpace := func(wrong func(j jpeg2000) bool) func(*checker, object) bool {
		return func(_ *checker, o object) bool { return o.Dict["/ColorSpace"] == nil && wrong(o.jpx) }
	}

	return []*rule{
		{a1: "6.2.10-1", a2: "6.2.2-1", of: ofUnknownOperator,
			message: "The content of a page has an operator that PDF does not define.", fix: fixConvert},
		{a2: "6.2.2-2", of: ofInherited, message: "Content uses resources that it inherits.", fix: fixConvert},
		{a1: "6.1.12-8", a2: "6.1.13-8", of: ofDeepState,
			message: "Graphics states are nested deeper than 28.", fix: fixConvert},
		{a1: "6.2.9-1", a2: "6.2.6-1", of: ofUnknownIntent, message: "A rendering intent is unknown.", fix: fixConvert},
		{a1: "6.2.3.3-1", a2: "6.2.4.3-2", of: ofRGB,
			message: "RGB colors are used without an RGB output intent.", fix: fixProfile, violates: unlike("RGB ")},
		{a1: "6.2.3.3-2", a2: "6.2.4.3-3", of: ofCMYK,
			message: "CMYK colors are used without a CMYK output intent.", fix: fixProfile, violates: unlike("CMYK")},
		{a1: "6.2.3.3-3", a2: "6.2.4.3-4", of: ofGray,
			message: "Gray colors are used without an output intent.", fix: fixProfile,
			violates: unlike("RGB ", "CMYK", "GRAY")},
		{a1: "6.2.8-1", a2: "6.2.5-1", of: ofState,
			message: "A graphics state has a transfer function (TR).", fix: fixConvert, violates: has("/TR")},
		{a1: "6.2.8-2", a2: "6.2.5-2", of: ofState,
			message: "A graphics state has a transfer function (TR2).", fix: fixConvert,
			violates: func(c *checker, o object) bool { return o.Dict["/TR2"] != nil && c.name(o.Dict, "/TR2") != "Default" }},
		{a2: "6.2.5-3", of: ofState,
			message: "A graphics state has a halftone origin (HTP).", fix: fixConvert, violates: has("/HTP")},
		{a1: "6.4-1", of: ofState,
			message: "A graphics state has a soft mask.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return o.Dict["/SMask"] != nil && c.name(o.Dict, "/SMask") != "None" }},
		{a1: "6.4-4", of: ofState,
			message: "A graphics state blends colors.", fix: fixConvert,
			violates: func(c *checker, o object) bool {
				return o.Dict["/BM"] != nil && !slices.Contains([]string{"Normal", "Compatible"}, blend(c, o))
			}},
		{a2: "6.2.10-1", of: ofState,
			message: "A blend mode is unknown.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return !blendModes.MatchString(blend(c, o)) }},
		{a1: "6.4-5", of: ofState, message: "Lines are transparent (CA).", fix: fixConvert, violates: faint("/CA")},
		{a1: "6.4-6", of: ofState, message: "Areas are transparent (ca).", fix: fixConvert, violates: faint("/ca")},
		{a1: "6.4-2", of: ofImage, message: "An image is transparent (SMask).", fix: fixConvert, violates: has("/SMask")},
		{a1: "6.2.4-1", a2: "6.2.8-1", of: ofImage,
			message: "An image has alternatives.", fix: fixConvert, violates: has("/Alternates")},
		{a1: "6.2.4-2", a2: "6.2.8-2", of: ofImage,
			message: "An image refers to an image for prepress (OPI).", fix: fixConvert, violates: has("/OPI")},
		{a1: "6.2.4-3", a2: "6.2.8-3", of: ofImage,
			message: "An image is to be interpolated.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.get(o.Dict, "/Interpolate") == true }},
		{a1: "6.2.4-3", a2: "6.2.8-3", of: ofInterpolated,
			message: "An image in the page content is to be interpolated.", fix: fixConvert},
		{a1: "6.2.4-4", of: ofImage,
			message: "An image has 16 bits, or another number of bits, per color.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return !mask(c, o) && bits(1, 2, 4, 8)(c, o) }},
		{a2: "6.2.8-4", of: ofImage,
			message: "An image has an unusual number of bits per color.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return !mask(c, o) && bits(1, 2, 4, 8, 16)(c, o) }},
		{a1: "6.2.4-5", a2: "6.2.8-5", of: ofImage,
			message: "A mask has more than one bit.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return mask(c, o) && bits(1)(c, o) }},
		{a1: "6.2.9-1", a2: "6.2.6-1", of: ofImage,
			message: "The rendering intent of an image is unknown.", fix: fixConvert, violates: intent("/Intent")},
		{a1: "6.2.9-1", a2: "6.2.6-1", of: ofState,
			message: "The rendering intent of a graphics state is unknown.", fix: fixConvert, violates: intent("/RI")},
		{a1: "6.2.3.2-1", of: ofProfile,
			message: "The profile of an ICC-based color space is not one of ICC version 2 for a device.", fix: fixConvert,
			violates: wrongSpace(3)},
		{a2: "6.2.4.2-1", of: ofProfile,
			message:  "The profile of an ICC-based color space is not one of ICC version 4 or lower for a device.",
			fix:      fixConvert,
			violates: wrongSpace(5)},
		{a1: "6.2.3.2-2", a2: "6.2.4.2-1", of: ofProfile,
			message: "An ICC-based color space has another number of components (N) than its profile.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.get(o.Dict, "/N") != o.icc.channels() }},
		{a2: "6.2.4.2-2", of: ofOverprint,
			message: "CMYK colors of an ICC profile are printed with the overprint mode 1.", fix: fixConvert},
		{a2: "6.2.8.3-1", of: ofJPEG2000,
			message: "An image in JPEG 2000 has no header, or not 1, 3 or 4 color channels.", fix: fixConvert,
			violates: func(_ *checker, o object) bool { return !slices.Contains([]int{1, 3, 4}, o.jpx.channels) }},
		{a2: "6.2.8.3-2", of: ofJPEG2000,
			message: "An image in JPEG 2000 has several color spaces, of which not one is marked as exact.", fix: fixConvert,
			violates: ownSpace(func(j jpeg2000) bool { return j.spaces != 1 && j.preferred != 1 })},
		{a2: "6.2.8.3-3", of: ofJPEG2000,
			message: "The color space of an image in JPEG 2000 is described in an unknown way.", fix: fixConvert,
			violates: ownSpace(func(j jpeg2000) bool { return j.method < 1 || j.method > 3 })},
		{a2: "6.2.8.3-4", of: ofJPEG2000,
			message: "The color space of an image in JPEG 2000 is CIEJab.", fix: fixConvert,
			violates: ownSpace(func(j jpeg2000) bool { return j.space == 19 })},
		{a2: "6.2.8.3-5", of: ofJPEG2000,
			message: "The channels of an image in JPEG 2000 do not have the same number of bits, from 1 to 38.", fix: fixConvert,
			violates: func(_ *checker, o object) bool { return o.jpx.bits < 1 || o.jpx.bits > 38 }},
		{a1: "6.2.5-1", of: ofForm,
			message: "A form has PostScript.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return o.Dict["/PS"] != nil || c.name(o.Dict, "/Subtype2") == "PS" }},
		{a1: "6.2.4-2", of: ofForm,
			message: "A form refers to content for prepress (OPI).", fix: fixConvert, violates: has("/OPI")},
		{a2: "6.2.9-1", of: ofForm,
			message: "A form has PostScript, or refers to content for prepress (OPI).", fix: fixConvert,
			violates: func(c *checker, o object) bool {
				return o.Dict["/PS"] != nil || o.Dict["/OPI"] != nil || c.name(o.Dict, "/Subtype2") == "PS"
			}},
		{ua: "7.20-1", a1: "6.2.6-1", a2: "6.2.9-2", of: ofForm,
			message: "A form refers to a page of another file.", fix: fixConvert, violates: has("/Ref")},
		{a1: "6.2.7-1", a2: "6.2.9-3", of: ofForm,
			message: "The content draws with PostScript.", fix: fixConvert,
			violates: func(c *checker, o object) bool { return c.subtype(o) == "PS" }},
		{ua: "7.1-1", of: ofArtifactInTag, message: "An artifact is in tagged content.", fix: fixTag},
		{ua: "7.1-2", of: ofTagInArtifact, message: "Tagged content is in an artifact.", fix: fixTag},
		{ua: "7.1-3", of: ofUnmarked, message: "Content is neither tagged nor an artifact.", fix: fixTag},
	}
}

// fontRules are those about fonts, without their programs.
func fontRules() []*rule {
	descriptor := func(c *checker, o object) pdffile.Dict { return c.Entry(o.Dict["/FontDescriptor"]) }
	embedded := func(c *checker, o object) bool {
		d := descriptor(c, o)
		return slices.ContainsFunc([]string{"/FontFile", "/FontFile2", "/FontFile3"}, func(key string) bool {
			_, _, ok := c.stream(d[key])
			return ok
		})
	}
	is := func(c *checker, o object, kinds ...string) bool { return slices.Contains(kinds, c.subtype(o)) }
	symbolic := func(c *checker, o object) (symbolic, known bool) {
		n, ok := c.number(descriptor(c, o), "/Flags")
		return int(n)&(1<<2) != 0, ok
	}
	encoding := func(c *checker, o object) string {
		if e := c.Entry(o.Dict["/Encoding"]); e != nil {
			return c.name(e, "/BaseEncoding")
		}
		return c.name(o.Dict, "/Encoding")
	}

	fontFile := func(allowed ...string) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			file := c.Entry(descriptor(c, o)["/FontFile3"])
			return file != nil && !slices.Contains(allowed, c.name(file, "/Subtype"))
		}
	}
	standard14 := regexp.MustCompile(
		`^(Times-(Roman|Bold|Italic|BoldItalic)|(Helvetica|Courier)(-(Bold|Oblique|BoldOblique))?|Symbol|ZapfDingbats)$`)
	widths := func(
		wrong func(c *checker, o object, first, last float64, hasFirst, hasLast bool) bool,
	) func(*checker, object) bool {
		return func(c *checker, o object) bool {
			if !is(c, o, "Type1", "MMType1", "TrueType", "Type3") ||
				!embedded(c, o) && standard14.MatchString(c.name(o.Dict, "/BaseFont")) {
				return false
			}
			first, hasFirst := c.number(o.Dict, "/FirstChar")
			last, hasLast := c.number(o.Dict, "/LastChar")
			return wrong(c, o, first, last, hasFirst, hasLast)
		}
	}

	subset := regexp.MustCompile(`^[A-Z]{6}\+`)
	part := func(c *checker, o object) bool { return subset.MatchString(c.name(o.Dict, "/BaseFont")) }
	const fixFont = "Use another font, or convert the file with pdf.pdfa."

	return []*rule{
		{a1: "6.3.2-1", a2: "6.2.11.2-1", of: ofFont,
			message: "A font has no type.", fix: fixFont,
			violates: func(c *checker, o object) bool { return c.name(o.Dict, "/Type") != "Font" }},
		{a1: "6.3.2-2", a2: "6.2.11.2-2", of: ofFont, message: "A font is of an unknown type.", fix: fixFont,
			violates: func(c *checker, o object) bool {
				return !is(c, o, "Type1", "MMType1", "TrueType", "Type3", "Type0", "CIDFontType0", "CIDFontType2")
			}},
		{a1: "6.3.2-3", a2: "6.2.11.2-3", of: ofFont,
			message: "A font has no name.", fix: fixFont,
			violates: func(c *checker, o object) bool { return !is(c, o, "Type3") && c.name(o.Dict, "/BaseFont") == "" }},
		{a1: "6.3.2-4", a2: "6.2.11.2-4", of: ofFont, message: "A font has no first character.", fix: fixFont,
			violates: widths(func(_ *checker, _ object, _, _ float64, has, _ bool) bool { return !has })},
		{a1: "6.3.2-5", a2: "6.2.11.2-5", of: ofFont, message: "A font has no last character.", fix: fixFont,
			violates: widths(func(_ *checker, _ object, _, _ float64, _, has bool) bool { return !has })},
		{a1: "6.3.2-6", a2: "6.2.11.2-6", of: ofFont,
			message: "A font does not have a width for each character.", fix: fixFont,
			violates: widths(func(c *checker, o object, first, last float64, hasFirst, hasLast bool) bool {
				return !hasFirst || !hasLast || float64(len(c.list(o.Dict["/Widths"]))) != last-first+1
			})},
		{a1: "6.3.2-7", of: ofFont,
			message: "The file of a font is of an unknown type.", fix: fixFont,
			violates: fontFile("Type1C", "CIDFontType0C")},
		{a2: "6.2.11.2-7", of: ofFont,
			message: "The file of a font is of an unknown type.", fix: fixFont,
			violates: fontFile("Type1C", "CIDFontType0C", "OpenType")},
		{ua: "7.21.4.1-1", a1: "6.3.4-1", a2: "6.2.11.4.1-1", of: ofFont,
			message: "A font is not embedded.", fix: fixEmbed,
			violates: func(c *checker, o object) bool {
				if is(c, o, "Type0") {
					return o.shown && len(c.list(o.Dict["/DescendantFonts"])) == 0
				}
				return o.shown && !is(c, o, "Type3") && !embedded(c, o)
			}},
		{a1: "6.3.3.2-1", of: ofFont,
			message: "A font does not map its characters to glyphs (CIDToGIDMap).", fix: fixFont,
			violates: func(c *checker, o object) bool {
				return o.shown && is(c, o, "CIDFontType2") && o.Dict["/CIDToGIDMap"] == nil
			}},
		{ua: "7.21.3.2-1", a2: "6.2.11.3.2-1", of: ofFont,
			message: "A font does not map its characters to glyphs (CIDToGIDMap).", fix: fixFont,
			violates: func(c *checker, o object) bool {
				return is(c, o, "CIDFontType2") && embedded(c, o) && o.Dict["/CIDToGIDMap"] == nil
			}},
		{a1: "6.3.3.3-1", of: ofFont,
			message: "The character map of a font is not embedded.", fix: fixFont,
			violates: func(c *checker, o object) bool {
				name := c.name(o.Dict, "/Encoding")
				return is(c, o, "Type0") && name != "" && name != "Identity-H" && name != "Identity-V"
			}},
		{a1: "6.3.5-2", of: ofFont, message: "A subset of a font does not list its glyphs (CharSet).", fix: fixFont,
			violates: func(c *checker, o object) bool {
				return is(c, o, "Type1") && part(c, o) && embedded(c, o) && descriptor(c, o)["/CharSet"] == nil
			}},
		{a1: "6.3.5-3", of: ofFont,
			message: "A subset of a font does not list its characters (CIDSet).", fix: fixFont,
			violates: func(c *checker, o object) bool {
				return is(c, o, "CIDFontType0", "CIDFontType2") && part(c, o) && embedded(c, o) && descriptor(c, o)["/CIDSet"] == nil
			}},
		{ua: "7.21.6-2", a1: "6.3.7-1", a2: "6.2.11.6-2", of: ofFont,
			message: "A font of letters has another encoding than MacRomanEncoding or WinAnsiEncoding.", fix: fixFont,
			violates: func(c *checker, o object) bool {
				s, ok := symbolic(c, o)
				return is(c, o, "TrueType") && ok && !s &&
					!slices.Contains([]string{"MacRomanEncoding", "WinAnsiEncoding"}, encoding(c, o))
			}},
		{ua: "7.21.6-3", a1: "6.3.7-2", a2: "6.2.11.6-3", of: ofFont,
			message: "A font of symbols has an encoding.", fix: fixFont,
			violates: func(c *checker, o object) bool {
				s, _ := symbolic(c, o)
				return is(c, o, "TrueType") && s && o.Dict["/Encoding"] != nil
			}},
		{ua: "7.21.7-1", a2: "6.2.11.7.2-1", only: "au", of: ofFont,
			message: "A font does not map its characters to Unicode (ToUnicode).",
			fix:     "Use a font with Unicode values, or create the file with options.standards.",
			violates: func(c *checker, o object) bool {
				if !is(c, o, "Type0") || o.Dict["/ToUnicode"] != nil || !strings.HasPrefix(c.name(o.Dict, "/Encoding"), "Identity") {
					return false
				}
				for _, item := range c.list(o.Dict["/DescendantFonts"]) {
					info := c.Entry(c.Entry(item)["/CIDSystemInfo"])
					if pdffile.Text(c.get(info, "/Registry")) == "Adobe" && pdffile.Text(c.get(info, "/Ordering")) != "Identity" {
						return false
					}
				}
				return true
			}},
	}
}
