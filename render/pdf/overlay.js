// Draws pages of a PDF on pages of another, as forms. It stands behind draw.js; see overlayScript for the arguments.
var other = new PDFDocument(args.overlay), map = doc.newGraftMap(), forms = {};

// untag returns content whose marked content is not part of a structure: the names /MCID in it get another spelling.
function untag(data) {
	var from = [];
	eachWord(data, function (word, start) { if (word === "/MCID") from.push(start); });
	for (var i = 0; i < from.length; i++) data[from[i] + 1] = 88; // X
	return data;
}

// The overlay is an artifact, without parts of a structure.
for (var n = 1; n < other.countObjects(); n++) {
	var object = other.newIndirect(n, 0), held = object.resolve();
	if (!held || !held.isDictionary()) continue;
	drop(held, ["StructParents", "StructParent", "MCID"]);
	if (args.tagged && object.isStream() && String(held.get("Subtype")) === "Form") object.writeStream(untag(object.readStream()));
}

// standing returns the matrix from a page's own coordinates to points from its bottom left, as displayed.
function standing(page) {
	var m = upright(page).m, d = m[0] * m[3] - m[1] * m[2];
	return [m[3] / d, -m[1] / d, -m[2] / d, m[0] / d, (m[2] * m[5] - m[3] * m[4]) / d, (m[1] * m[4] - m[0] * m[5]) / d];
}

// overlay returns a page of the overlay, from 1, as a form with its size.
function overlay(number) {
	if (forms[number]) return forms[number];
	var page = other.findPage(number - 1), size = upright(page), entries = doc.newDictionary(), m = standing(page), matrix = doc.newArray();
	for (var i = 0; i < 6; i++) matrix.push(doc.newReal(m[i]));
	entries.put("Type", doc.newName("XObject"));
	entries.put("Subtype", doc.newName("Form"));
	entries.put("BBox", rectangle(shown(page)));
	entries.put("Matrix", matrix);
	var resources = attribute(page, "Resources"), group = has(page, "Group");
	entries.put("Resources", resources ? map.graftObject(resources) : doc.newDictionary());
	if (group) entries.put("Group", map.graftObject(group));
	var data = content(page);
	return forms[number] = { form: doc.addStream(args.tagged ? untag(data) : data, entries), w: size.w, h: size.h };
}

// corner returns the bottom left of a form on a page as displayed, with its size: in the centre, or in a place at the edge.
function corner(size, form, place) {
	var scale = Math.min(1, size.w / form.w, size.h / form.h), w = form.w * scale, h = form.h * scale;
	function at(room, near, far) {
		var edge = Math.min(args.edge, room);
		return place && place.indexOf(near) >= 0 ? edge : place && place.indexOf(far) >= 0 ? room - edge : room / 2;
	}
	return { x: at(size.w - w, "left", "right"), y: at(size.h - h, "bottom", "top"), w: w, h: h, scale: scale };
}

var covering = []; // pages of which no place is free

// place returns the matrix that puts a form on a page, from 0.
function place(number, size, form) {
	var corners = args.places ? args.places.map(function (name) { return corner(size, form, name); }) : [corner(size, form)];
	if (args.places) {
		doc.loadPage(number).toStructuredText("preserve-whitespace").walk({
			onChar: function (c, origin, font, points, q) {
				if (!c.trim()) return;
				var left = Math.min(q[0], q[4]), right = Math.max(q[2], q[6]), top = size.h - Math.min(q[1], q[3]), bottom = size.h - Math.max(q[5], q[7]);
				for (var i = 0; i < corners.length; i++) {
					var to = corners[i];
					if (left < to.x + to.w && right > to.x && bottom < to.y + to.h && top > to.y) to.taken = true;
				}
			}
		});
	}
	var free = corners.filter(function (to) { return !to.taken; });
	if (!free.length) covering.push(number + 1);
	var to = free[0] || corners[0];
	return times([to.scale, 0, 0, to.scale, to.x, to.y], size.m);
}

var opening = doc.addStream("q\n", doc.newDictionary());

for (var i = 0; i < args.pages.length; i++) {
	var page = doc.findPage(args.pages[i].to - 1), form = overlay(args.pages[i].from);
	var resources = copy(attribute(page, "Resources")), objects = copy(resources.get("XObject")), name = "Overlay";
	for (var k = 1; has(objects, name); k++) name = "Overlay" + k;
	objects.put(name, form.form);
	resources.put("XObject", objects);
	page.put("Resources", resources);
	var call = doc.addStream((args.under ? "" : "\nQ\n") + "/Artifact BMC\nq " + numbers(place(args.pages[i].to - 1, upright(page), form)) + " cm /" + name + " Do Q\nEMC\n", doc.newDictionary());
	var old = page.get("Contents"), streams = doc.newArray();
	streams.push(args.under ? call : opening);
	if (old && old.isArray()) for (var j = 0; j < old.length; j++) streams.push(old.get(j));
	else if (old && old.isStream()) streams.push(old);
	if (!args.under) streams.push(call);
	page.put("Contents", streams);
}
// The layers of the overlay, for those of the result.
var layers = has(other.getTrailer().get("Root"), "OCProperties");
if (layers) doc.getTrailer().get("Root").put(args.layers, map.graftObject(layers));
doc.save(args.output, "");
print(JSON.stringify(covering));
