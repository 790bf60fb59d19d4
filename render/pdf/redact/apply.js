// Takes pixels off images of pages that open.js has opened, covers them, and closes them again.
// It stands behind draw.js; see applyInput for the arguments.

var root = doc.getTrailer().get("Root");

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

// unflipped takes corners from MuPDF's coordinates to a page's.
function unflipped(quad, b) {
	var out = [];
	for (var i = 0; i < 8; i += 2) out.push(quad[i] + b[0], b[3] - quad[i + 1]);
	return out;
}

// covered returns the covers of a page in its coordinates.
function covered(p) {
	var object = doc.findPage(p.page - 1), open = shown(object), size = upright(original(object)), quads = [], i;
	for (i = 0; i < p.covers.length; i++) quads.push(unflipped(p.covers[i], open));
	for (i = 0; i < p.areas.length; i++) quads.push(corners(p.areas[i], size));
	return quads;
}

// blank makes the new version of an image: one without pixels at some places. It is drawn on a page of its own, off
// which MuPDF takes them. An image that is wholly in a place goes.
function blank(image) {
	var objects = doc.newDictionary(), resources = doc.newDictionary(), mark = doc.newDictionary(), marks = doc.newArray(), quads = doc.newArray();
	var last = doc.countPages(), bounds = [-1e5, -1e5, 1e5, 1e5], i, k;
	objects.put("I", doc.newIndirect(image.image, 0));
	resources.put("XObject", objects);
	for (i = 0; i < image.places.length; i++) {
		var p = image.places[i], q = [p[0], p[3], p[2], p[3], p[0], p[1], p[2], p[1]];
		for (k = 0; k < 8; k++) quads.push(doc.newReal(q[k]));
	}
	mark.put("Type", doc.newName("Annot"));
	mark.put("Subtype", doc.newName("Redact"));
	mark.put("Rect", rectangle(bounds));
	mark.put("QuadPoints", quads);
	marks.push(doc.addObject(mark));
	var page = doc.addPage(bounds, 0, resources, "q " + numbers(image.matrix) + " cm /I Do Q");
	page.put("Annots", marks);
	doc.insertPage(-1, page);
	var textAndPixels = 2;
	doc.loadPage(last).applyRedactions(false, textAndPixels);
	var left = has(page, "Resources"), drawn = left ? has(left, "XObject") : null;
	if (drawn && drawn.isDictionary()) each(drawn, function (key) { doc.newIndirect(image.holder, 0).resolve().put(image.name, drawn.get(key)); });
	doc.deletePage(last);
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
for (i = 0; i < args.pages.length; i++) covers.push(covered(args.pages[i]));
for (i = 0; args.images && i < args.images.length; i++) blank(args.images[i]);
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
