// Draws the first pages of PDFs on pages of another, as forms. It stands behind
// draw.js; see stampScript for the arguments.

// tiles returns the centres of stamps all over a page, every other row moved by
// half a step. Small ones are given more room, so that there are not too many.
function tiles(size, halfWidth, halfHeight) {
	var across = Math.max(2 * (halfWidth + args.edge), size.w / 40), down = Math.max(2 * (halfHeight + args.edge), size.h / 60);
	var rows = Math.ceil((size.h / 2 + halfHeight) / down), columns = Math.ceil((size.w / 2 + halfWidth) / across) + 1, centres = [];
	for (var r = -rows; r <= rows; r++) for (var c = -columns; c <= columns; c++) {
		var x = size.w / 2 + (c + (r % 2 ? 0.5 : 0)) * across, y = size.h / 2 + r * down;
		if (x > -halfWidth && x < size.w + halfWidth && y > -halfHeight && y < size.h + halfHeight) centres.push([x, y]);
	}
	return centres;
}

// place returns the matrices that put a stamp on a page.
function place(s, size, stamp) {
	var w = stamp[2] - stamp[0], h = stamp[3] - stamp[1];
	var angle = s.rotate * Math.PI / 180, cos = Math.cos(angle), sin = Math.sin(angle);
	var turnedWidth = Math.abs(w * cos) + Math.abs(h * sin), turnedHeight = Math.abs(w * sin) + Math.abs(h * cos);
	var scale = s.scale, p = s.position, room = s.shrink ? 0 : args.edge;
	// What is larger than the page would be cut.
	if (s.shrink) scale *= Math.min(1, size.w / turnedWidth, size.h / turnedHeight);
	else if (p !== null && !s.tiled && size.w > 4 * room && size.h > 4 * room)
		scale = Math.min(scale, (size.w - 2 * room) / turnedWidth, (size.h - 2 * room) / turnedHeight);
	var halfWidth = scale * turnedWidth / 2, halfHeight = scale * turnedHeight / 2;
	var x = size.w / 2, y = size.h / 2;
	if (p === null) {
		x = s.x + halfWidth;
		y = size.h - s.y - halfHeight;
	} else {
		if (p.indexOf("left") >= 0) x = args.edge + halfWidth;
		if (p.indexOf("right") >= 0) x = size.w - args.edge - halfWidth;
		if (p.indexOf("top") >= 0) y = size.h - args.edge - halfHeight;
		if (p.indexOf("bottom") >= 0) y = args.edge + halfHeight;
	}
	var centres = s.tiled ? tiles(size, halfWidth, halfHeight) : [[x, y]], matrices = [];
	for (var i = 0; i < centres.length; i++) {
		var m = [1, 0, 0, 1, -(stamp[0] + stamp[2]) / 2, -(stamp[1] + stamp[3]) / 2];
		m = times(m, [scale * cos, scale * sin, -scale * sin, scale * cos, centres[i][0], centres[i][1]]);
		matrices.push(times(m, size.m));
	}
	return matrices;
}

// make makes the stamp. The page's drawing is a group of its own within it,
// so that its parts do not show through one another.
function make(page, bounds, opacity) {
	var resources = attribute(page, "Resources");
	resources = resources ? doc.graftObject(resources) : doc.newDictionary();
	var inner = form(bounds, resources, content(page));
	var state = doc.newDictionary(), states = doc.newDictionary(), objects = doc.newDictionary(), outer = doc.newDictionary();
	state.put("Type", doc.newName("ExtGState"));
	state.put("ca", doc.newReal(opacity));
	state.put("CA", doc.newReal(opacity));
	states.put("G", state);
	objects.put("F", inner);
	outer.put("ExtGState", states);
	outer.put("XObject", objects);
	return form(bounds, outer, "/G gs /F Do\n");
}

var opening = doc.addStream("q\n", doc.newDictionary());

// draw draws a stamp on a page.
function draw(s, page, stamp, bounds) {
	var resources = copy(attribute(page, "Resources")), objects = copy(resources.get("XObject")), name = "Stamp";
	for (var i = 1; objects.get(name) && !objects.get(name).isNull(); i++) name = "Stamp" + i;
	objects.put(name, stamp);
	resources.put("XObject", objects);
	page.put("Resources", resources);
	var matrices = place(s, upright(page), bounds), call = "/Artifact BMC\n";
	for (var k = 0; k < matrices.length; k++) call += "q " + numbers(matrices[k]) + " cm /" + name + " Do Q\n";
	call += "EMC\n";
	var old = page.get("Contents"), streams = doc.newArray();
	if (s.below) streams.push(doc.addStream(call, doc.newDictionary()));
	else streams.push(opening);
	if (old && old.isArray()) for (var j = 0; j < old.length; j++) streams.push(old.get(j));
	else if (old && old.isStream()) streams.push(old);
	if (!s.below) streams.push(doc.addStream("\nQ\n" + call, doc.newDictionary()));
	page.put("Contents", streams);
}
for (var i = 0; i < args.stamps.length; i++) {
	var s = args.stamps[i], first = new PDFDocument(s.stamp).findPage(0), bounds = shown(first), stamp = make(first, bounds, s.opacity);
	for (var j = 0; j < s.pages.length; j++) draw(s, doc.findPage(s.pages[j] - 1), stamp, bounds);
}
doc.save(args.output, "");
print("true");
