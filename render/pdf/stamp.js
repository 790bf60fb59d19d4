// Draws the first pages of PDFs on pages of another, as forms. Run by
// "mutool run" in the job's folder; see stampScript for the arguments.
var args = JSON.parse(read("args.json"));
var doc = new PDFDocument(args.input);

// attribute returns an attribute of a page, or of what it is in.
function attribute(page, key) {
	for (var node = page, depth = 0; node && node.isDictionary() && depth < 64; node = node.get("Parent"), depth++) {
		var value = node.get(key);
		if (value && !value.isNull()) return value;
	}
	return null;
}

// box reads a rectangle, its corners in order.
function box(o) {
	if (!o || !o.isArray() || o.length !== 4) return null;
	var n = [];
	for (var i = 0; i < 4; i++) n.push(o.get(i).asNumber());
	n = [Math.min(n[0], n[2]), Math.min(n[1], n[3]), Math.max(n[0], n[2]), Math.max(n[1], n[3])];
	return n[2] > n[0] && n[3] > n[1] ? n : null;
}

// shown returns the part of a page that is shown, in its own coordinates.
function shown(page) {
	var media = box(attribute(page, "MediaBox")) || [0, 0, 612, 792];
	var crop = box(attribute(page, "CropBox")) || media;
	var both = [Math.max(crop[0], media[0]), Math.max(crop[1], media[1]), Math.min(crop[2], media[2]), Math.min(crop[3], media[3])];
	return both[2] > both[0] && both[3] > both[1] ? both : media;
}

// upright returns the matrix from a page as it is shown, in points from its
// bottom left, to its own coordinates, and its size as it is shown.
function upright(page) {
	var b = shown(page), w = b[2] - b[0], h = b[3] - b[1];
	var turn = attribute(page, "Rotate"), unit = page.get("UserUnit");
	turn = turn && turn.isNumber() ? ((turn.asNumber() % 360) + 360) % 360 : 0;
	unit = unit && unit.isNumber() && unit.asNumber() > 0 ? unit.asNumber() : 1;
	var u = 1 / unit;
	switch (turn) {
	case 90: return { m: [0, u, -u, 0, b[2], b[1]], w: h * unit, h: w * unit };
	case 180: return { m: [-u, 0, 0, -u, b[2], b[3]], w: w * unit, h: h * unit };
	case 270: return { m: [0, -u, u, 0, b[0], b[3]], w: h * unit, h: w * unit };
	}
	return { m: [u, 0, 0, u, b[0], b[1]], w: w * unit, h: h * unit };
}

// times returns the matrix that does a and then b.
function times(a, b) {
	return [a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
		a[4] * b[0] + a[5] * b[2] + b[4], a[4] * b[1] + a[5] * b[3] + b[5]];
}

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

// numbers writes a matrix as PDF takes it.
function numbers(m) {
	var out = [];
	for (var i = 0; i < m.length; i++) out.push(m[i].toFixed(5));
	return out.join(" ");
}

// content returns the streams of a page's content in one.
function content(page) {
	var c = page.get("Contents"), out = new Buffer();
	if (c && c.isArray()) {
		for (var i = 0; i < c.length; i++) {
			if (c.get(i).isStream()) out.writeBuffer(c.get(i).readStream());
			out.writeLine("");
		}
	} else if (c && c.isStream()) out.writeBuffer(c.readStream());
	return out;
}

// rectangle makes an array of a box.
function rectangle(b) {
	var a = doc.newArray();
	for (var i = 0; i < 4; i++) a.push(doc.newReal(b[i]));
	return a;
}

// form makes a form of content.
function form(bounds, resources, data) {
	var d = doc.newDictionary(), group = doc.newDictionary();
	group.put("S", doc.newName("Transparency"));
	d.put("Type", doc.newName("XObject"));
	d.put("Subtype", doc.newName("Form"));
	d.put("BBox", rectangle(bounds));
	d.put("Group", group);
	d.put("Resources", resources);
	return doc.addStream(data, d);
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

// copy returns a dictionary with the entries of another, or an empty one.
function copy(o) {
	var d = doc.newDictionary();
	if (o && o.isDictionary()) o.forEach(function (a, b) {
		var key = typeof a === "string" ? a : b; // their order differs between versions
		d.put(key, o.get(key));
	});
	return d;
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
