package redact

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// locate walks over the drawn objects of pages with their positions: images, and painted outlines. What patterns
// and soft masks have is among them.
type drawnObjects struct {
	*pdffile.File

	// image gets the hashes of an image and of its masks, the rectangle around it, and how it is seen.
	image func(hashes []string, at job.Box, how sight)
	// path gets the rectangle around a painted outline, and whether the outline is just an upright rectangle.
	path   func(at job.Box, plain bool)
	hashes map[string][]string
	steps  int
	images int
	// bare are patterns without images.
	bare map[string]bool
	how  sight
	// within is the outline that the pattern fills which is walked over: its own positions say little.
	within *job.Box
}

// sight is how a page shows an object: itself, repeated in a pattern, or as a soft mask of something else.
type sight int

const (
	drawn sight = iota
	patterned
	masking
)

// maxSteps bounds how much is walked over: forms may draw forms many times.
const maxSteps = 20_000_000

// page walks over a page.
func (p *drawnObjects) page(page pdffile.Page) error {
	content, err := (&scrubber{File: p.File}).content(page.Entries["/Contents"])
	if err != nil {
		return err
	}
	return p.content(content, p.resources(page.Entries), job.Affine{1, 0, 0, 1, 0, 0}, 0)
}

// resources returns the resources of a page, including inherited ones.
func (p *drawnObjects) resources(node pdffile.Dict) pdffile.Dict {
	for depth := 0; node["/Resources"] == nil && node["/Parent"] != nil && depth < pdffile.MaxDepth; depth++ {
		node = p.Entry(node["/Parent"])
	}
	return p.Entry(node["/Resources"])
}

// pen is the current outline, with the transformation of coordinates to the page's, the clip, and the patterns that
// outlines are filled and stroked with.
type pen struct {
	matrix       job.Affine
	around       job.Box
	points       int
	upright      bool
	clips        bool // by the current outline
	clip         job.Box
	fill, stroke any
}

// everywhere is the clip of a page.
var everywhere = job.Box{-maxCoordinate, -maxCoordinate, maxCoordinate, maxCoordinate}

const maxCoordinate = 1e9

func (n *pen) to(x, y float64) {
	x, y = n.matrix.At(x, y)
	if n.points == 0 {
		n.around = job.Box{x, y, x, y}
	}
	n.around = job.Box{min(n.around[0], x), min(n.around[1], y), max(n.around[2], x), max(n.around[3], y)}
	n.points++
}

// content walks over content.
func (p *drawnObjects) content(content []byte, resources pdffile.Dict, matrix job.Affine, depth int) (err error) {
	n := pen{matrix: matrix, upright: true, clip: everywhere}
	saved := []pen{}
	objects := p.Entry(resources["/XObject"])

	pdffile.ReadContent(content, func(op pdffile.Operation) {
		if p.steps++; p.steps > maxSteps && err == nil {
			err = fmt.Errorf("more than %d operations", maxSteps)
		}
		if err != nil {
			return
		}
		v := job.NumbersOf(op.Operands)
		name := ""
		if len(op.Operands) > 0 {
			name, _ = op.Operands[len(op.Operands)-1].(string)
		}

		switch op.Operator {
		case "q":
			saved = append(saved, n)
		case "Q":
			if len(saved) > 0 {
				n, saved = saved[len(saved)-1], saved[:len(saved)-1]
			}
		case "cm":
			if len(v) == 6 {
				n.matrix = job.Affine(v).Then(n.matrix)
			}
		case "Do":
			err = p.object(objects[name], resources, n.matrix, depth)
		case "BI":
			p.draw([]string{hash(op.Image)}, n.matrix)
		case "gs":
			err = p.mask(p.Entry(p.Entry(resources["/ExtGState"])[name]), resources, n.matrix, depth)
		case "sh":
			p.shade(p.Entry(p.Entry(resources["/Shading"])[name]), n.clip)
		case "g", "rg", "k", "cs", "sc", "scn":
			n.fill = p.Entry(resources["/Pattern"])[name]
		case "G", "RG", "K", "CS", "SC", "SCN":
			n.stroke = p.Entry(resources["/Pattern"])[name]
		default:
			err = p.outline(&n, op.Operator, v, resources, matrix, depth)
		}
	})

	return err
}

// mask walks over the soft mask that a graphics state sets.
func (p *drawnObjects) mask(state, resources pdffile.Dict, matrix job.Affine, depth int) error {
	group := p.Entry(state["/SMask"])["/G"]
	if group == nil {
		return nil
	}
	how := p.how
	defer func() { p.how = how }()
	p.how = masking
	return p.object(group, resources, matrix, depth+1)
}

// shade reports a shading that may be a picture: one of a function of both coordinates, or of a mesh.
func (p *drawnObjects) shade(shading pdffile.Dict, at job.Box) {
	const axial, radial = 2, 3
	if kind := p.Target(shading["/ShadingType"]); kind != float64(axial) && kind != float64(radial) && p.path != nil {
		p.path(p.at(at), false)
	}
}

// at returns where something is seen.
func (p *drawnObjects) at(own job.Box) job.Box {
	if p.within != nil {
		return *p.within
	}
	return own
}

// pattern walks over a pattern that an outline is painted with.
func (p *drawnObjects) pattern(v any, around job.Box, resources pdffile.Dict, matrix job.Affine, depth int) error {
	ref := pdffile.Reference(v)
	entries := p.Entry(v)
	const tiling = 1

	switch {
	case entries == nil:
		return nil
	case p.Target(entries["/PatternType"]) != float64(tiling):
		p.shade(p.Entry(entries["/Shading"]), around)
		return nil
	}

	if p.path != nil {
		p.path(p.at(around), false)
	}

	if p.bare[ref] {
		return nil // a page may be filled with it many times
	}

	within, how, images := p.within, p.how, p.images
	defer func() { p.within, p.how = within, how }()
	if within == nil {
		p.within = &around
	}
	if how == drawn {
		p.how = patterned
	}

	err := p.object(ref, resources, matrix, depth+1)
	if p.images == images && err == nil {
		if p.bare == nil {
			p.bare = map[string]bool{}
		}
		p.bare[ref] = true
	}
	return err
}

// outline walks over the operators of outlines.
func (p *drawnObjects) outline(
	n *pen, operator string, v []float64, resources pdffile.Dict, matrix job.Affine, depth int,
) (err error) {
	switch operator {
	case "W", "W*":
		n.clips = true
		return nil
	case "m", "l", "c", "v", "y":
		for i := 0; i+1 < len(v); i += 2 {
			n.to(v[i], v[i+1])
		}
		n.upright = false
	case "re":
		if len(v) == 4 {
			n.to(v[0], v[1])
			n.to(v[0]+v[2], v[1])
			n.to(v[0], v[1]+v[3])
			n.to(v[0]+v[2], v[1]+v[3])
			n.upright = n.upright && n.points == 4 && (n.matrix[1] == 0 && n.matrix[2] == 0 || n.matrix[0] == 0 && n.matrix[3] == 0)
		}
	case "S", "s", "f", "F", "f*", "B", "B*", "b", "b*", "n":
		if n.points > 0 && operator != "n" {
			if p.path != nil {
				p.path(p.at(n.around), n.upright && p.how == drawn)
			}
			if strings.ContainsAny(operator, "fFBb") {
				err = p.pattern(n.fill, n.around, resources, matrix, depth)
			}
			if strings.ContainsAny(operator, "sSBb") {
				err = errors.Join(err, p.pattern(n.stroke, n.around, resources, matrix, depth))
			}
		}
		if n.clips && n.points > 0 {
			n.clip, _ = n.clip.And(n.around)
		}
		n.points = 0
		n.upright = true
		n.clips = false
	}

	return err
}

func (p *drawnObjects) draw(hashes []string, matrix job.Affine) {
	p.images++
	if p.image != nil {
		p.image(hashes, p.at(matrix.Around(0, 0, 1, 1)), p.how)
	}
}

// object walks over a drawn image or form.
func (p *drawnObjects) object(v any, above pdffile.Dict, matrix job.Affine, depth int) error {
	ref := pdffile.Reference(v)
	entries := p.Entry(v)
	switch {
	case ref == "" || entries == nil || depth > pdffile.MaxDepth:
		return nil
	case entries["/Subtype"] == "/Image":
		p.draw(p.imageHashes(ref), matrix)
		return nil
	}

	content, err := (&scrubber{File: p.File}).content(ref)
	if err != nil {
		return err
	}
	if m := job.Floats(p.Target(entries["/Matrix"])); len(m) == 6 {
		matrix = job.Affine(m).Then(matrix)
	}

	resources := p.Entry(entries["/Resources"])
	if resources == nil {
		resources = above
	}
	return p.content(content, resources, matrix, depth+1)
}

// imageHashes returns the hashes of the data of an image and of its masks.
func (p *drawnObjects) imageHashes(ref string) []string {
	if known, ok := p.hashes[ref]; ok {
		return known
	}

	var all []string
	if stream, ok := p.Stream(ref); ok {
		plain, _, err := PlainStream(p.File, stream)
		if err != nil {
			plain = stream.Content
		}
		all = append(all, hash(plain))
		for _, key := range []string{"/SMask", "/Mask"} {
			if mask := pdffile.Reference(stream.Entries[key]); mask != "" && mask != ref && p.Entry(mask)["/Subtype"] == "/Image" {
				if stream, ok := p.Stream(mask); ok {
					if plain, _, err := PlainStream(p.File, stream); err == nil {
						all = append(all, hash(plain))
					}
				}
			}
		}
	}

	if p.hashes == nil {
		p.hashes = map[string][]string{}
	}
	p.hashes[ref] = all
	return all
}

// hash identifies the data of an image. Images of a few bytes have no identity.
func hash(data []byte) string {
	const fewest = 16
	if len(data) < fewest {
		return ""
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// redactedPlaces are the rectangles that go, by page: those of letters, and behind them the areas.
type redactedPlaces map[int][]job.Box

// locate returns the redacted places on the pages of an opened document.
func (r *redaction) locate(f *pdffile.File, pages []pdffile.Page, found searchResult) redactedPlaces {
	all := redactedPlaces{}
	for number, here := range found.pages {
		room := job.Floats(f.Target(pages[number-1].Entries["/MediaBox"]))
		if len(room) != 4 {
			continue
		}
		for _, q := range here.letters {
			b := job.Box{q[0], q[1], q[0], q[1]}
			for i := 2; i < cornerNumbers; i += 2 {
				b = job.Box{min(b[0], q[i]), min(b[1], q[i+1]), max(b[2], q[i]), max(b[3], q[i+1])}
			}
			all[number] = append(all[number], job.Box{b[0] + room[0], room[3] - b[3], b[2] + room[0], room[3] - b[1]})
		}
	}

	for _, number := range r.emptied() {
		all[number] = append(all[number], r.areasOf(number)...)
	}

	return all
}

// areasOf returns the areas of a page in its coordinates.
func (r *redaction) areasOf(number int) (boxes []job.Box) {
	for _, a := range r.args.Areas {
		if a.Page == number {
			boxes = append(boxes, r.areaBox(a, 0))
		}
	}
	return boxes
}

// areaBox returns an area in the coordinates of its page, reduced by an edge in points.
func (r *redaction) areaBox(a Area, edge float64) job.Box {
	p := r.papers[a.Page]
	w := (p.Box[2] - p.Box[0]) * p.Unit
	h := (p.Box[3] - p.Box[1]) * p.Unit
	if p.Turn%180 != 0 {
		w, h = h, w
	}
	return job.Box(p.Square().Around((a.X+edge)/w, 1-(a.Y+a.Height-edge)/h, (a.X+a.Width-edge)/w, 1-(a.Y+edge)/h))
}

// readPages reads a file of the job's folder and its pages.
func (r *redaction) readPages(name string) (*pdffile.File, []pdffile.Page, error) {
	f, err := (&job.Document{Work: r.Work, Name: name}).ReadSelf()
	if err != nil {
		return nil, nil, r.Fail(job.Damaged, err)
	}
	pages, err := f.Pages(job.MaxPages)
	if err == nil && len(pages) != r.Pages {
		err = fmt.Errorf("%d of %d pages can be read", len(pages), r.Pages)
	}
	if err != nil {
		return nil, nil, r.Fail(job.Damaged, err)
	}
	return f, pages, nil
}

// touchedImages returns the images of an opened document that contain redacted areas, and all redacted places.
func (r *redaction) touchedImages(open string, found searchResult) (touched map[string]bool, gone redactedPlaces, err error) {
	f, pages, err := r.readPages(open)
	if err != nil {
		return nil, nil, err
	}

	gone = r.locate(f, pages, found)
	touched = map[string]bool{}
	p := &drawnObjects{File: f}

	for number, boxes := range gone {
		areas := r.areasOf(number)
		p.image = func(hashes []string, at job.Box, how sight) {
			for i, b := range boxes {
				// Words are not thought to be in the shadows that soft masks make around them.
				if !b.Touches(at) || how == masking && i < len(boxes)-len(areas) {
					continue
				}
				for _, h := range hashes {
					if h != "" {
						touched[h] = true
					}
				}
			}
		}

		if err := p.page(pages[number-1]); err != nil {
			return nil, nil, r.Fail(job.Damaged, err)
		}
	}

	return touched, gone, nil
}

// leftImages returns the pages of the result that still contain an image with redacted areas, or an invisible one.
func (r *redaction) leftImages() (left []int, err error) {
	if len(r.touched) == 0 {
		return nil, nil
	}

	f, pages, err := r.readPages(r.Name)
	if err != nil {
		return nil, err
	}

	s := &job.Structure{File: f}
	p := &drawnObjects{File: f}

	for i, page := range pages {
		shown := s.Paper(page.Entries).Box
		p.image = func(hashes []string, at job.Box, how sight) {
			const minimum = 2 // points
			seen, ok := shown.And(at)
			ok = ok && seen[2]-seen[0] > minimum && seen[3]-seen[1] > minimum

			for _, b := range r.gone[i+1] {
				ok = ok && (!b.Touches(at) || how == masking && len(r.areasOf(i+1)) == 0)
			}
			for _, h := range hashes {
				if r.touched[h] && !ok {
					left = append(left, i+1)
				}
			}
		}

		if err := p.page(page); err != nil {
			return nil, r.Fail(job.Damaged, err)
		}
	}

	return job.Unique(left), nil
}

// outlined returns the pages on which outlines are painted in an area, seen or not: in a
// layer that is hidden, or white on white.
func (r *redaction) outlined(bare string) (left []int, err error) {
	numbers := r.emptied()
	if len(numbers) == 0 {
		return nil, nil
	}

	f, pages, err := r.readPages(bare)
	if err != nil {
		return nil, err
	}

	const edge, maxPlainPixels = 1, 16
	p := &drawnObjects{File: f}

	for _, number := range numbers {
		drawn := 0
		plain := 0
		p.path = func(at job.Box, isPlain bool) {
			for _, a := range r.args.Areas {
				if a.Page != number || a.Width <= 2*edge || a.Height <= 2*edge {
					continue
				}
				b := r.areaBox(a, edge)
				covers := at[0] <= b[0] && at[1] <= b[1] && at[2] >= b[2] && at[3] >= b[3]
				switch {
				case !grown(at).Touches(b) || isPlain && covers:
				case isPlain:
					plain++
				default:
					drawn++
				}
			}
		}

		if err := p.page(pages[number-1]); err != nil {
			return nil, r.Fail(job.Damaged, err)
		}
		if drawn > 0 || plain > maxPlainPixels {
			left = append(left, number)
		}
	}

	return left, nil
}

// grown returns a rectangle that is not empty for a line.
func grown(b job.Box) job.Box {
	const hair = 0.01
	return job.Box{b[0] - hair, b[1] - hair, b[2] + hair, b[3] + hair}
}
