// Takes text and pixels off pages that redact_open.js has opened, and closes them again.
// It stands behind draw.js; see applyInput for the arguments.

var root = doc.getTrailer().get("Root");
var textOnly = 0, textAndPixels = 2;

// original is a page as it was before it was opened, as far as boxes go.
function original(page) {
	var was = copy(page), keys = ["Rotate", "UserUnit", "MediaBox", "CropBox"];
	for (var i = 0; i < keys.length; i++) {
		if (was.get(keys[i])) was.delete(keys[i]);
		var kept = was.get("Kept" + keys[i]);
		if (kept && !kept.isNull()) was.put(keys[i], kept);
		if (kept) was.delete("Kept" + keys[i]);
	}
	return was;
}

// corners are those of an area of a page as it is shown, in the page's coordinates.
function corners(a, size) {
	var out = [], x = [a[0], a[0] + a[2]], y = [size.h - a[1], size.h - a[1] - a[3]], m = size.m;
	for (var j = 0; j < 2; j++) for (var i = 0; i < 2; i++)
		out.push(m[0] * x[i] + m[2] * y[j] + m[4], m[1] * x[i] + m[3] * y[j] + m[5]);
	return out;
}

// flipped takes corners from a page's coordinates to MuPDF's, or back.
function flipped(quad, b) {
	var out = [];
	for (var i = 0; i < 8; i += 2) out.push(quad[i] - b[0], b[3] - quad[i + 1]);
	return out;
}

function unflipped(quad, b) {
	var out = [];
	for (var i = 0; i < 8; i += 2) out.push(quad[i] + b[0], b[3] - quad[i + 1]);
	return out;
}

// around is the rectangle around corners.
function around(q) {
	return [Math.min(q[0], q[2], q[4], q[6]), Math.min(q[1], q[3], q[5], q[7]), Math.max(q[0], q[2], q[4], q[6]), Math.max(q[1], q[3], q[5], q[7])];
}

function union(a, b) { return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]; }

function touch(a, b) { return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]; }

// pictures are the places of the images on a page.
function pictures(page) {
	var found = [];
	page.toStructuredText("preserve-images").walk({ onImageBlock: function (bounds) { found.push(bounds); } });
	return found;
}

// take takes what is at places off a page.
function take(page, quads, how) {
	if (!quads.length) return;
	var mark = page.createAnnotation("Redact"), all = around(quads[0]);
	for (var i = 1; i < quads.length; i++) all = union(all, around(quads[i]));
	mark.setRect(all);
	mark.setQuadPoints(quads);
	page.applyRedactions(false, how);
}

// redact takes letters and areas off a page, and returns where in its coordinates.
function redact(p) {
	var object = doc.findPage(p.page - 1), open = shown(object), size = upright(original(object)), page = doc.loadPage(p.page - 1);
	var pixels = [], covered = [], images = pictures(page), i, k;
	for (i = 0; images.length && i < p.letters.length; i++)
		for (k = 0; k < images.length; k++) if (touch(images[k], around(p.letters[i]))) { pixels.push(p.letters[i]); break; }
	for (i = 0; i < p.covers.length; i++) covered.push(unflipped(p.covers[i], open));
	for (i = 0; i < p.areas.length; i++) {
		var area = corners(p.areas[i], size);
		pixels.push(flipped(area, open));
		covered.push(area);
	}
	take(page, p.cores, textOnly);
	take(page, pixels, textAndPixels);
	return covered;
}

// anchored gives each block of text a matrix of its own to begin with: MuPDF moves what
// follows a block that it has emptied, where that has none. It returns nothing where
// there are no such blocks.
function anchored(b) {
	var out = new Buffer(), from = 0, any = false;
	function upTo(end) { for (; from < end; from++) out.writeByte(b[from]); }
	eachWord(b, function (word, start, end) {
		if (word !== "BT") return;
		upTo(end);
		out.write(" 1 0 0 1 0 0 Tm");
		any = true;
	});
	upTo(b.length);
	return any ? out : null;
}

// anchor gives the blocks of text of pages, and of forms, which pages share, theirs.
function anchor(pages) {
	for (var i = 0; i < pages.length; i++) {
		var page = doc.findPage(pages[i].page - 1), better = anchored(content(page));
		if (better) page.put("Contents", doc.addStream(better, doc.newDictionary()));
	}
	for (i = 1; pages.length && i < doc.countObjects(); i++) {
		var form = doc.newIndirect(i, 0), body = form.resolve();
		if (!body || !form.isStream() || String(body.get("Subtype")) !== "/Form") continue;
		better = anchored(form.readStream());
		if (better) form.writeStream(better);
	}
}

// close gives a page its boxes and its turn back.
function close(page) {
	var keys = ["Rotate", "UserUnit", "MediaBox", "CropBox"];
	for (var i = 0; i < keys.length; i++) {
		var kept = page.get("Kept" + keys[i]);
		if (page.get(keys[i])) page.delete(keys[i]);
		if (!kept || kept.isNull()) continue;
		page.put(keys[i], kept);
		page.delete("Kept" + keys[i]);
	}
}

// cover draws over places of a page.
function cover(page, quads) {
	var call = "\nQ\nq " + args.color.join(" ") + " rg\n", old = page.get("Contents"), streams = doc.newArray();
	for (var i = 0; i < quads.length; i++) {
		var q = quads[i];
		call += numbers([q[0], q[1]]) + " m " + numbers([q[2], q[3]]) + " l " + numbers([q[6], q[7]]) + " l " + numbers([q[4], q[5]]) + " l f\n";
	}
	streams.push(doc.addStream("q\n", doc.newDictionary()));
	if (old && old.isArray()) for (var j = 0; j < old.length; j++) streams.push(old.get(j));
	else if (old && old.isStream()) streams.push(old);
	streams.push(doc.addStream(call + "Q\n", doc.newDictionary()));
	page.put("Contents", streams);
}

// told is what a table says of a text: that all objects have a constructor is no entry.
function told(table, text) { return Object.prototype.hasOwnProperty.call(table, text) ? table[text] : undefined; }

// clean replaces texts of an object, and not of those that it refers to.
function clean(o, depth) {
	if (!o || depth > 100) return;
	if (o.isArray()) {
		if (o.length && String(o.get(0)) === "/Indexed") return;
		for (var i = 0; i < o.length; i++) cleanMember(o, i, depth);
	} else if (o.isDictionary()) {
		each(o, function (key) { cleanMember(o, key, depth); });
	}
}

function cleanMember(o, key, depth) {
	var value = o.get(key);
	if (!value || value.isIndirect()) return;
	if (value.isName()) {
		var place = key === "Dest" || key === "D" ? told(renamed, value.asName()) : undefined;
		if (place !== undefined) o.put(key, doc.newName(place));
		return;
	}
	if (!value.isString()) return clean(value, depth + 1);
	var better = told(args.texts, value.asString());
	if (better !== undefined) o.put(key, doc.newString(better));
}

// rename gives places new names where the old ones say what is to go.
function rename(places) {
	if (!places || !places.isDictionary()) return;
	each(places, function (key) {
		var name = told(args.texts, key), place = places.get(key);
		if (name === undefined) return;
		while (has(places, name)) name += "\u2588";
		renamed[key] = name;
		places.delete(key);
		places.put(name, place);
	});
}

var covers = [], renamed = {}, i;
rename(root.get("Dests"));
anchor(args.pages);
for (i = 0; i < args.pages.length; i++) covers.push(redact(args.pages[i]));
for (i = 1; i < doc.countObjects(); i++) {
	var object = doc.newIndirect(i, 0), held = object.resolve();
	var better = held && held.isString() ? told(args.texts, held.asString()) : undefined;
	if (better !== undefined) object.writeObject(doc.newString(better));
	else clean(held, 0);
}
clean(doc.getTrailer().get("Info"), 0);
for (i = 0; i < doc.countPages(); i++) close(doc.findPage(i));
var layers = root.get("KeptOCProperties");
if (layers && !layers.isNull()) {
	root.put("OCProperties", layers);
	root.delete("KeptOCProperties");
}
if (args.bare) doc.save(args.bare, "garbage=compact");
for (i = 0; i < args.pages.length; i++) cover(doc.findPage(args.pages[i].page - 1), covers[i]);
doc.save(args.output, "garbage=deduplicate,compress");
print("true");
