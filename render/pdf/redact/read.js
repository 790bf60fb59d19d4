// Writes down the glyphs that a document's pages show, in the order of their content, a file for each
// page, and, with the first of them, the texts that its objects hold. See readInput for the arguments.
var doc = new PDFDocument(args.input), pages = doc.countPages();

function write(name, value) {
	var out = new Buffer();
	out.write(JSON.stringify(value));
	out.save(name);
}

function number(n) { return Number.isFinite && !Number.isFinite(n) || n !== n || Math.abs(n) > 1e12 ? "0" : n.toFixed(4); }

// sheet is an image of the glyphs whose ink may reach into an area, each in a cell of its own:
// see glyphs.go for the sizes.
function newSheet() {
	var em = args.em, cell = 4 * em, columns = 16, cells = [], places = {};

	function place(font, gid, wmode, advance) {
		var name = font.getName(), key = name + " " + gid + " " + advance;
		if (name !== "Type3" && places[key] !== undefined) return places[key];
		if (cells.length >= 2000) return -1;
		cells.push({ font: font, gid: gid, wmode: wmode });
		return places[key] = cells.length - 1;
	}

	function save(name) {
		if (!cells.length) return;
		var rows = Math.ceil(cells.length / columns);
		var pixmap = new Pixmap(DeviceGray, [0, 0, columns * cell, rows * cell], false);
		pixmap.clear(255);
		var device = new DrawDevice(Identity, pixmap);
		for (var i = 0; i < cells.length; i++) {
			var text = new Text(), x = i % columns * cell, y = Math.floor(i / columns) * cell;
			text.showGlyph(cells[i].font, [em, 0, 0, -em, x + em, y + 2.5 * em], cells[i].gid, 0, cells[i].wmode);
			var frame = new Path();
			frame.rect(x, y, x + cell, y + cell);
			device.clipPath(frame, false, Identity);
			device.fillText(text, Identity, DeviceGray, [0], 1);
			device.popClip();
		}
		device.close();
		pixmap.saveAsPNG(name);
	}
	return { place: place, save: save };
}

// near reports whether a glyph may have ink in one of some areas.
function near(areas, m, advance) {
	var reach = 2.5 * (Math.abs(m[0]) + Math.abs(m[1]) + Math.abs(m[2]) + Math.abs(m[3]) + advance);
	for (var i = 0; i < areas.length; i++) {
		var a = areas[i];
		if (m[4] > a[0] - reach && m[4] < a[2] + reach && m[5] > a[1] - reach && m[5] < a[3] + reach) return true;
	}
	return false;
}

// glyphs are those of a page, a line for each: its character, 1 if it is the first of its code, its origin, its
// advance, and its cell in the sheet or -1. Lines with a letter come before those that they are true of: M has the
// matrix of the glyphs and their direction, R the number of the operation that shows them. B has the bounds of the page.
function glyphs(number_) {
	var out = [], last = "", areas = args.areas && args.areas[String(number_)] || [], sheet = areas.length ? newSheet() : null;

	function show(text, ctm) {
		text.walk({ showGlyph: function (font, trm, gid, unicode, wmode) {
			if (unicode === -1) return;
			var m = [trm[0] * ctm[0] + trm[1] * ctm[2], trm[0] * ctm[1] + trm[1] * ctm[3], trm[2] * ctm[0] + trm[3] * ctm[2], trm[2] * ctm[1] + trm[3] * ctm[3],
				trm[4] * ctm[0] + trm[5] * ctm[2] + ctm[4], trm[4] * ctm[1] + trm[5] * ctm[3] + ctm[5]];
			var key = "M " + number(m[0]) + " " + number(m[1]) + " " + number(m[2]) + " " + number(m[3]) + " " + (wmode ? 1 : 0);
			if (key !== last) out.push(last = key);
			var advance = gid < 0 ? 0 : font.advanceGlyph(gid, wmode), cell = -1;
			if (sheet && gid >= 0 && near(areas, m, Math.abs(advance) * (Math.abs(m[0]) + Math.abs(m[1])))) cell = sheet.place(font, gid, wmode, advance);
			out.push(unicode + " " + (gid < 0 ? 0 : 1) + " " + number(m[4]) + " " + number(m[5]) + " " + number(advance) + " " + cell);
		} });
	}

	var page = doc.loadPage(number_), bounds = page.bound();
	out.push("B " + number(bounds[0]) + " " + number(bounds[1]) + " " + number(bounds[2]) + " " + number(bounds[3]));
	var marks = { moveTo: function (x, y) { if (y === args.markY) out.push("R " + x); } };
	page.run({
		fillPath: function (path, evenOdd, ctm, space, color) {
			if (color && color.length === 1 && Math.abs(color[0] - args.markGray) < 1e-6) path.walk(marks);
		},
		fillText: show, strokeText: function (text, stroke, ctm) { show(text, ctm); }, clipText: show,
		clipStrokeText: function (text, stroke, ctm) { show(text, ctm); }, ignoreText: show
	}, Identity);
	if (sheet) sheet.save(args.output + number_ + ".png");
	return out.join("\n");
}

var texts = {};

// collect finds the texts of an object, and not of those that it refers to.
function collect(o, depth) {
	if (!o || depth > 100) return;
	if (o.isString()) texts[o.asString()] = true;
	else if (o.isArray()) {
		if (o.length && String(o.get(0)) === "/Indexed") return; // colours
		for (var i = 0; i < o.length; i++) member(o.get(i), depth);
	}
	else if (o.isDictionary()) o.forEach(function (a, b) { member(o.get(typeof a === "string" ? a : b), depth); });
}

function member(o, depth) { if (o && !o.isIndirect()) collect(o, depth + 1); }

function collectAll() {
	for (var n = 1; n < doc.countObjects(); n++) collect(doc.newIndirect(n, 0).resolve(), 0);
	collect(doc.getTrailer().get("Info"), 0);
	var places = doc.getTrailer().get("Root").get("Dests"); // whose names are keys
	if (places && places.isDictionary()) places.forEach(function (a, b) { texts[typeof a === "string" ? a : b] = true; });
	write(args.texts, Object.keys(texts));
}

for (var i = args.first; i < args.end && i < pages; i++) write(args.output + i + ".json", glyphs(i));
if (args.first === 0 && args.texts) collectAll();
print(pages);
